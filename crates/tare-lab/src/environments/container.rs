//! Container: namespaces created by tare itself, with no tool in between.

#![allow(unsafe_code, reason = "a container without a runtime: unshare and fork")]

use std::ffi::CStr;
use std::fs;
use std::io;
use std::os::unix::process::CommandExt;

use rustix::mount::{
    MountFlags, MountPropagationFlags, UnmountFlags, mount, mount_bind_recursive, mount_change, unmount,
};
use rustix::process::{Pid, Signal, WaitOptions, WaitStatus, set_parent_process_death_signal, waitpid};
use rustix::thread::{UnshareFlags, unshare_unsafe};
use serde::{Deserialize, Serialize};

use crate::containers::devices::{self, Devices};
use crate::containers::root::Root;
use crate::containers::seccomp::Seccomp;
use crate::containers::speculation::Speculation;
use crate::containers::steps::Failed;
use crate::containers::user_namespaces;
use crate::error::add_error_context;
use crate::host::control_groups::{LIMITED, OwnGroups, Purpose, list_largest_limits};
use crate::host::network_device;
use crate::network::container::{Net, Way};
use crate::owned::MARK;
use crate::provider::footprint::OWN_MOUNTS;
use crate::provider::prelude::*;

/// First argument under which the program makes the namespaces and becomes the agent in them.
pub const ENTER: &str = "enter-container";

/// Exit code when the namespaces could not be made, as shells and runtimes use it for "cannot be invoked".
const NOT_MADE: i32 = 126;

pub static PROVIDER: fn() -> Provider = provider! {
    name: "container",
    instance: None,
    parse: |specification| {
        Ok(Box::new(Container {
            net: Net::from_specification(specification)?,
            namespaces: Made::from_specification(specification)?,
            user: User::from_specification(specification)?,
            limits: Limits::from_specification(specification)?,
            seccomp: Seccomp::from_specification(specification)?,
            speculation: Speculation::from_specification(specification)?,
        }))
    },
    summary: "namespaces made by tare itself: mounts, processes, network, host name, IPC",
    short_description: "Linux namespaces, made by tare",
    stands_for: "the kernel's own price of a container's namespaces. Engines add a system call filter, \
                 control groups and a bridge, which are options here and together the preset docker-like, and an overlay \
                 of image layers, which is here with root=host.",
    options: &[Net::OPTION, Made::OPTION, User::OPTION, Limits::OPTION, Seccomp::OPTION, Speculation::OPTION],
    descends: true,
    kernel: KernelFacts::MACHINE,
    roots: Roots::Any,
    by_default: ByDefault {
        tried: &["container", "docker-like"],
        ranked: &[(1, "container"), (7, "docker-like")],
        stays: true,
    },
    footprint: Footprint {
        mounts: OWN_MOUNTS,
        writes: Some("with limits=yes, a control group"),
        ..Footprint::from_starts("the agent, in namespaces that tare makes")
    },
};

choice! {
    #[derive(Serialize, Deserialize)]
    enum Made: "namespaces",
        "which ones, besides the network's. all: mounts, processes, IPC and host name; processes: mounts and processes; \
         mounts: mounts alone"
    {
        All = "all",
        Processes = "processes",
        Mounts = "mounts",
    }
}

choice! {
    #[derive(Serialize, Deserialize)]
    enum User: "user", "a user namespace. needed: where tare is not root; yes: also where it is" {
        Needed = "needed",
        Yes = "yes",
    }
}

choice! {
    enum Limits: "limits",
        "control groups. none; yes: a separate one, with limits of processor time, memory and processes that it does not reach"
    {
        None = "none",
        Yes = "yes",
    }
}

#[derive(Clone, Copy)]
struct Container {
    net: Net,
    namespaces: Made,
    user: User,
    limits: Limits,
    seccomp: Seccomp,
    speculation: Speculation,
}

impl Environment for Container {
    fn proof(&self) -> Proof {
        let user = Kinds::USERS.only_if(rootless() || self.user == User::Yes);
        let own = self.namespaces.kinds_seen() | user | self.net.kinds_made();
        Proof::Namespaces(Namespaces { own, either: Kinds::NONE })
    }

    fn check_ready(&self, programs: &Programs) -> Result<Ready, NotReady> {
        let way = self.net.check_ready(programs)?;
        let mut facts = Facts::default();
        let rootless = rootless();
        if rootless {
            user_namespaces::check_user_namespaces()?;
        }
        user_namespaces::try_namespaces(with_user(self.namespaces, self.user))?;
        facts.add_fact("container.rootless", if rootless { "yes" } else { "no" });
        if self.limits == Limits::Yes && rootless {
            return Err(NotReady::from_reason("limits=yes: only root may make control groups"));
        }
        let refusal = OwnGroups::find("").explain_refusal(&LIMITED).filter(|_| self.limits == Limits::Yes);
        if let Some(reason) = refusal {
            return Err(NotReady::from_reason(format!("limits=yes: {reason}")));
        }
        self.speculation.check_ready()?;
        self.namespaces.note_choice(&mut facts);
        self.limits.note_choice(&mut facts);
        self.seccomp.note_choice(&mut facts);
        self.speculation.note_choice(&mut facts);
        let container = *self;
        Ok(Ready::new(facts, move |workspace| enter(&way, container, workspace)))
    }
}

fn enter(way: &Way, container: Container, workspace: &mut dyn Workspace) -> Result<Entrance, LabError> {
    let mut outside = Facts::default();
    let network = way.prepare_network(workspace, &mut outside)?;
    let root = Root::build(workspace)?;
    let plan = Plan {
        root: root.path().to_owned(),
        words: workspace.words_inside(&root.agent),
        devices: if root.is_view() { Devices::All } else { Devices::Few },
        binds: root.shares.clone(),
        own_network: network.is_own,
        namespaces: container.namespaces,
        user: container.user,
        seccomp: container.seccomp,
        speculation: container.speculation,
        mark: workspace.mark().to_owned(),
    };
    let json = serde_json::to_string(&plan)
        .map_err(|e| LabError::new(ErrorKind::Environment, "cannot describe the container").with_cause(e))?;
    let mut command = programs::command(&Found::own(workspace.agent()));
    command.args([ENTER, &json]).env_clear();
    network.inherit_network(&mut command)?;
    if container.limits == Limits::Yes {
        let limits = Purpose::Limits(&LIMITED, &list_largest_limits());
        let group = workspace.own_groups().below_own(&format!("{:05}", workspace.number()), limits)?;
        group.join(&mut command)?;
    }
    root.mount_for(&mut command, workspace)?;
    root.note_places(&mut outside);
    Ok(Entrance { command, host: network.host, places: root.places, outside })
}

impl Made {
    /// Lists the kinds by which the environment is recognised.
    fn kinds_seen(self) -> Kinds {
        match self {
            Made::All => Kinds::CONTAINER,
            Made::Processes => Kinds::MOUNTS | Kinds::PROCESSES,
            Made::Mounts => Kinds::MOUNTS,
        }
    }

    fn kinds(self) -> UnshareFlags {
        match self {
            Made::All => Made::Processes.kinds() | UnshareFlags::NEWIPC | UnshareFlags::NEWUTS,
            Made::Processes => UnshareFlags::NEWNS | UnshareFlags::NEWPID,
            Made::Mounts => UnshareFlags::NEWNS,
        }
    }
}

/// Adds the user namespace, if there is one, to the kinds of namespaces.
fn with_user(namespaces: Made, user: User) -> UnshareFlags {
    let mut kinds = namespaces.kinds();
    kinds.set(UnshareFlags::NEWUSER, rootless() || user == User::Yes);
    kinds
}

fn rootless() -> bool {
    !rustix::process::geteuid().is_root()
}

#[derive(Debug, Serialize, Deserialize)]
struct Plan {
    root: PathBuf,
    /// The agent and its arguments, or the command of a call.
    words: Vec<String>,
    devices: Devices,
    /// Host folders and their paths inside.
    binds: Vec<(PathBuf, String)>,
    own_network: bool,
    namespaces: Made,
    user: User,
    seccomp: Seccomp,
    speculation: Speculation,
    /// Value of the mark that processes inside carry.
    mark: String,
}

/// Makes the namespaces, starts the agent in them, and ends with its exit code. For the hidden verb
/// [`ENTER`] alone: the process must have no other thread.
pub fn enter_main(json: &str) -> i32 {
    match serde_json::from_str(json).map_err(io::Error::from).and_then(|plan| make(&plan)) {
        Ok(code) => code,
        Err(e) => {
            eprintln!("container: {e}");
            NOT_MADE
        }
    }
}

fn make(plan: &Plan) -> io::Result<i32> {
    let (user, group) = (rustix::process::geteuid().as_raw(), rustix::process::getegid().as_raw());
    let mut kinds = with_user(plan.namespaces, plan.user);
    kinds.set(UnshareFlags::NEWNET, plan.own_network);
    // SAFETY: this process has one thread, and shares nothing with another.
    unsafe { unshare_unsafe(kinds) }.map_err(|e| add_error_context("making the namespaces", e))?;
    if kinds.contains(UnshareFlags::NEWUSER) {
        // Without this the kernel lets no unprivileged user map a group.
        fs::write("/proc/self/setgroups", "deny").map_err(|e| add_error_context("mapping the user", e))?;
        fs::write("/proc/self/uid_map", format!("0 {user} 1"))
            .map_err(|e| add_error_context("mapping the user", e))?;
        fs::write("/proc/self/gid_map", format!("0 {group} 1"))
            .map_err(|e| add_error_context("mapping the group", e))?;
        // A change of credentials takes back that this process dies with its parent.
        set_parent_process_death_signal(Some(Signal::KILL))?;
    }
    // SAFETY: with one thread, the child of a fork may do whatever its parent may.
    match unsafe { libc::fork() } {
        -1 => Err(add_error_context("making the first process", io::Error::last_os_error())),
        0 => {
            let failed = inhabit(plan);
            eprintln!("container: {failed}");
            std::process::exit(NOT_MADE)
        }
        child => wait(child),
    }
}

/// Waits for the first process inside. When this one is killed, the kernel kills that one, and with it all
/// of the namespace.
fn wait(child: i32) -> io::Result<i32> {
    // Standard streams are the child's alone: its end must be seen as their end.
    for stream in 0..2 {
        // SAFETY: nothing in this process uses the descriptor any more.
        unsafe { libc::close(stream) };
    }
    loop {
        match waitpid(Pid::from_raw(child), WaitOptions::empty()) {
            Ok(Some((_, status))) => return Ok(exit_code(status)),
            Ok(None) | Err(rustix::io::Errno::INTR) => {}
            Err(e) => return Err(e.into()),
        }
    }
}

fn exit_code(status: WaitStatus) -> i32 {
    // As shells do: 128 and the number of the signal.
    status.exit_status().unwrap_or_else(|| 128 + status.terminating_signal().unwrap_or(0))
}

/// Turns this process into the agent inside. Returns only if that failed.
fn inhabit(plan: &Plan) -> io::Error {
    let prepared = furnish(plan).and_then(|()| {
        plan.speculation.switch_off().map_err(|e| add_error_context("switching off speculation", e))?;
        plan.seccomp.install().map_err(|e| add_error_context("installing the system call filter", e))
    });
    if let Err(e) = prepared {
        return e;
    }
    let mut command = programs::command(&Found::called_here(&plan.words[0]));
    command.args(&plan.words[1..]).env_clear().env(MARK, &plan.mark).exec()
}

fn furnish(plan: &Plan) -> io::Result<()> {
    set_parent_process_death_signal(Some(Signal::KILL))?;
    // Without a separate namespace this would set the host's name.
    if plan.namespaces.kinds().contains(UnshareFlags::NEWUTS) {
        rustix::system::sethostname(b"tare").map_err(|e| add_error_context("setting the host name", e))?;
    }
    if plan.own_network {
        network_device::bring_up_device("lo")
            .map_err(|e| add_error_context("raising the loopback device", e))?;
    }
    let private = MountPropagationFlags::REC | MountPropagationFlags::PRIVATE;
    mount_change(c"/", private).map_err(|e| add_error_context("making mounts private", e))?;
    // A root must be a mount point.
    mount_bind_recursive(&plan.root, &plan.root)
        .map_err(|e| add_error_context("binding the root folder", e))?;
    for (path, inside) in &plan.binds {
        let target = plan.root.join(inside.trim_start_matches('/'));
        mount_bind_recursive(path, &target)
            .map_err(|e| add_error_context(&format!("binding {}", path.display()), e))?;
    }
    let devices = devices::make_device_steps(&plan.root, plan.devices)?;
    devices
        .run_steps()
        .map_err(|Failed { what, errno }| add_error_context(&what.to_string_lossy(), errno))?;
    let no_programs = MountFlags::NOSUID | MountFlags::NODEV | MountFlags::NOEXEC;
    optional(&plan.root, "proc", c"proc", no_programs);
    optional(&plan.root, "sys", c"sysfs", no_programs | MountFlags::RDONLY);
    std::env::set_current_dir(&plan.root)?;
    // The old root is now mounted on top of the new one, and is unmounted from there.
    rustix::process::pivot_root(c".", c".").map_err(|e| add_error_context("changing the root", e))?;
    unmount(c".", UnmountFlags::DETACH).map_err(|e| add_error_context("leaving the old root", e))?;
    std::env::set_current_dir("/")
}

/// Mounts a file system that a user namespace may be refused when the host hides part of it. The environment
/// then lacks it.
fn optional(root: &Path, name: &str, kind: &CStr, flags: MountFlags) {
    if let Err(e) = mount(kind, root.join(name), kind, flags, None::<&CStr>) {
        eprintln!("container: there is no /{name}: {e}");
    }
}
