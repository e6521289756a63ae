//! systemd-nspawn: a container run by systemd.

use std::fs;

use crate::containers::private_mounts;
use crate::containers::root::Root;
use crate::containers::user_namespaces;
use crate::host::control_groups::{self, Purpose};
use crate::network::container::{Net, Way};
use crate::owned::MARK;
use crate::provider::footprint::OWN_MOUNTS;
use crate::provider::prelude::*;

/// Group to which systemd-nspawn gives terminals, whatever the host's is.
const TERMINALS: u32 = 5;
const PROGRAM: &str = "systemd-nspawn";

choice! {
    enum Seccomp: "seccomp", "on: systemd's filter of system calls, which costs some tens of nanoseconds a call; off: none" {
        On = "on",
        Off = "off",
    }
}

pub static PROVIDER: fn() -> Provider = provider! {
    name: "nspawn",
    instance: None,
    parse: |specification| {
        Ok(Box::new(Nspawn {
            net: Net::from_specification(specification)?,
            seccomp: Seccomp::from_specification(specification)?,
        }))
    },
    summary: "a container by systemd-nspawn, with its filter of system calls",
    short_description: "container by systemd-nspawn",
    stands_for: "containers of whole systems, as machinectl starts them; here without an init inside and without \
                 registration, so that nothing of it outlives the session.",
    options: &[Net::OPTION, Seccomp::OPTION],
    descends: true,
    kernel: KernelFacts::MACHINE,
    roots: Roots::Any,
    by_default: ByDefault::NEVER,
    footprint: Footprint {
        programs: vec!["systemd-nspawn".into()],
        mounts: OWN_MOUNTS,
        writes: Some("a control group"),
        ..Footprint::from_starts("the agent, by systemd-nspawn, which is asked for its version before")
    },
};

struct Nspawn {
    net: Net,
    seccomp: Seccomp,
}

impl Environment for Nspawn {
    fn proof(&self) -> Proof {
        let own = Kinds::CONTAINER | self.net.kinds_made();
        Proof::Namespaces(Namespaces { own, either: Kinds::CONTROL_GROUPS })
    }

    fn check_ready(&self, programs: &Programs) -> Result<Ready, NotReady> {
        let (program, mut facts) = require_runtime(programs, PROGRAM, "apt-get install systemd-container")?;
        if !private_mounts::can_make_mount_namespace() {
            return Err(NotReady::from_reason("systemd-nspawn needs root"));
        }
        user_namespaces::check_container_namespaces()?;
        if !user_namespaces::maps_group(TERMINALS) {
            let reason = "systemd-nspawn needs the group of terminals (5), which this user namespace lacks";
            return Err(NotReady::from_reason(reason));
        }
        let way = self.net.check_ready(programs)?;
        self.seccomp.note_choice(&mut facts);
        facts.add_fact("cgroup.version", control_groups::find_versions());
        let seccomp = self.seccomp;
        Ok(Ready::new(facts, move |workspace| enter(&program, seccomp, &way, workspace)))
    }
}

fn enter(
    program: &Found,
    seccomp: Seccomp,
    way: &Way,
    workspace: &mut dyn Workspace,
) -> Result<Entrance, LabError> {
    let mut outside = Facts::default();
    let network = way.prepare_network(workspace, &mut outside)?;
    let root = Root::build(workspace)?;
    if !root.is_view() {
        // It refuses a root folder that does not look like a system's.
        let release = root.host_path("/etc/os-release");
        let written = fs::create_dir(root.host_path("/usr")).and_then(|()| fs::write(&release, "ID=tare\n"));
        written.map_err(LabError::storage_error("write", &release))?;
    }
    let mut command = programs::command(program);
    command.args(["--quiet", "--pipe", "--register=no", "--keep-unit", "--link-journal=no"]);
    command.args(["--resolv-conf=off", "--timezone=off", "--as-pid2"]);
    command.arg("-D").arg(root.path()).arg(format!("--machine={}", workspace.name()));
    command.arg(format!("--setenv={MARK}={}", workspace.mark()));
    if network.is_own {
        command.arg("--private-network");
    }
    network.inherit_network(&mut command)?;
    match seccomp {
        Seccomp::On => {}
        Seccomp::Off => drop(command.env("SYSTEMD_SECCOMP", "0")),
    }
    // A colon separates the two, and is escaped by a backslash, as a backslash is.
    let bind = |path: &Path, inside: &str| {
        let path = path.to_string_lossy().replace('\\', "\\\\").replace(':', "\\:");
        format!("--bind={path}:{inside}")
    };
    if root.is_view() {
        // It mounts an empty /run, and an empty /tmp unless it is told not to.
        let (base, inside) = root.base();
        command.env("SYSTEMD_NSPAWN_TMPFS_TMP", "0").arg(bind(base, inside));
    }
    root.mount_for(&mut command, workspace)?;
    for (path, inside) in &root.shares {
        command.arg(bind(path, inside));
    }
    command.args(workspace.words_inside(&root.agent));
    // It makes groups below its own, and leaves them.
    let group = workspace.own_groups().below_own(&format!("{:05}", workspace.number()), Purpose::Below)?;
    group.join(&mut command)?;
    // It keeps files below /run, and leaves them.
    private_mounts::apply_with_fresh(&mut command, c"/run");
    root.note_places(&mut outside);
    Ok(Entrance { command, host: network.host, places: root.places, outside })
}
