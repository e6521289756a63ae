//! A guest: what tare does as the first process of a kernel of its own, and the plan that it follows.

#![allow(unsafe_code, reason = "the first process of a kernel sets its terminal by itself")]

use std::collections::BTreeMap;
use std::ffi::{CStr, CString};
use std::fs::{self, File, OpenOptions};
use std::io;
use std::os::fd::AsRawFd;
use std::os::unix::fs::OpenOptionsExt;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::Child;
use std::time::Duration;

use rustix::io::Errno;
use rustix::mount::{MountFlags, UnmountFlags, mount, unmount};
use rustix::process::{Pid, WaitOptions, wait as wait_for_any};
use rustix::system::{RebootCommand, finit_module, reboot};
use serde::{Deserialize, Serialize};

use crate::containers::devices::{self, Devices};
use crate::containers::root::AGENT;
use crate::containers::steps::{Failed, Steps};
use crate::containers::view::BASE;
use crate::error::add_error_context;
use crate::host::network_device;
use crate::host::programs::{self, Found};
use crate::host::waiting::until_found;
use crate::network::guest::Inside;

/// First argument under which the program is the first process of a guest.
pub const INIT: &str = "guest-init";
/// File beside the agent where a guest's first process finds out what to do.
pub const PLAN: &str = "guest.json";

/// Time in which a device must appear: an emulated bus is scanned in some 100 ms.
const DEVICE_WAIT: Duration = Duration::from_secs(10);
/// Pause between two looks at whether it has.
const LOOK_AGAIN: Duration = Duration::from_millis(1);
/// Folder with the names of network devices.
const DEVICES: &str = "/sys/class/net";
/// Folder with the names of a virtio console's ports.
const PORTS: &str = "/sys/class/virtio-ports";

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Guest {
    /// Kernel modules to load, in this order.
    pub modules: Vec<PathBuf>,
    pub mounts: Vec<GuestMount>,
    pub devices: Devices,
    /// Files of another machine that are to be the root.
    pub layered: Option<Layered>,
    /// The agent's path.
    pub agent: String,
    /// User and group that run it, if not root.
    pub user: Option<(u32, u32)>,
    /// Its network, if it has one but loopback.
    pub network: Option<Inside>,
    pub stream: Stream,
    pub environment: BTreeMap<String, String>,
    pub ending: Ending,
}

/// File system to mount. A source below /dev is waited for.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct GuestMount {
    pub kind: String,
    pub source: String,
    pub target: String,
    pub options: String,
}

impl GuestMount {
    pub fn new(kind: &str, source: &str, target: &str, options: &str) -> Self {
        let [kind, source, target, options] = [kind, source, target, options].map(str::to_owned);
        GuestMount { kind, source, target, options }
    }
}

/// A root of another machine's files with a layer over them.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Layered {
    /// Mounts the other machine's files.
    pub lower: GuestMount,
    /// Mounts the disk of the layer, which also has the place `own`.
    pub disk: GuestMount,
}

/// Connection of the agent's standard streams.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Stream {
    /// A serial line: its path.
    Serial(PathBuf),
    /// A port of a virtio console: its name.
    Port(String),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Ending {
    PowerOff,
    /// For machines that cannot switch themselves off, and have an option not to start again.
    Restart,
}

/// Is the first process: prepares, runs the agent, and ends the machine. Does not come back where it is one.
pub fn init_main() -> i32 {
    if !rustix::process::getpid().is_init() {
        eprintln!("guest: this is for the first process of a guest alone");
        return 1;
    }
    let mut ending = Ending::PowerOff;
    let done = read_plan().and_then(|json| Ok(serde_json::from_slice::<Guest>(&json)?)).and_then(|guest| {
        ending = guest.ending;
        live(&guest)
    });
    if let Err(e) = done {
        eprintln!("guest: {e}");
    }
    rustix::fs::sync();
    let command = match ending {
        Ending::PowerOff => RebootCommand::PowerOff,
        Ending::Restart => RebootCommand::Restart,
    };
    let _ = reboot(command);
    1
}

/// Reads the plan, which a view keeps elsewhere than an empty root.
fn read_plan() -> io::Result<Vec<u8>> {
    fs::read(Path::new(BASE).join(PLAN)).or_else(|_| fs::read(Path::new("/").join(PLAN)))
}

fn live(guest: &Guest) -> io::Result<()> {
    mount_kernel_files()?;
    for module in &guest.modules {
        load(module).map_err(|e| add_error_context(&format!("loading {}", module.display()), e))?;
    }
    rustix::system::sethostname(b"tare").map_err(|e| add_error_context("setting the host name", e))?;
    network_device::bring_up_device("lo").map_err(|e| add_error_context("raising the loopback device", e))?;
    if let Some(layered) = &guest.layered {
        change_root(layered, &guest.agent)?;
    }
    if guest.devices == Devices::All {
        run(&devices::beside_nodes(Path::new("/"))?)?;
    }
    if let Some(network) = &guest.network {
        appears(&Path::new(DEVICES).join(&network.device))?;
        network.set_up_device().map_err(|e| add_error_context("settling the network", e))?;
    }
    for entry in &guest.mounts {
        attach(entry).map_err(|e| add_error_context(&format!("mounting {}", entry.target), e))?;
    }
    let stream = open(&guest.stream).map_err(|e| add_error_context("opening the stream", e))?;
    let mut agent = programs::command(&Found::own(Path::new(&guest.agent)));
    if let Some((user, group)) = guest.user {
        agent.uid(user).gid(group);
        std::os::unix::fs::chown(Path::new(BASE).join("own"), Some(user), Some(group))?;
    }
    let agent = agent
        .arg(tare_probes::agent::AGENT)
        .env_clear()
        .envs(&guest.environment)
        .stdin(stream.try_clone()?)
        .stdout(stream)
        .spawn()
        .map_err(|e| add_error_context("starting the agent", e))?;
    wait(&agent);
    for entry in guest.mounts.iter().rev() {
        let _ = unmount(entry.target.as_str(), UnmountFlags::empty());
    }
    Ok(())
}

fn mount_kernel_files() -> io::Result<()> {
    for (kind, target) in [(c"proc", "/proc"), (c"sysfs", "/sys"), (c"devtmpfs", "/dev")] {
        match mount(kind, target, kind, MountFlags::empty(), None::<&CStr>) {
            // Many kernels mount devtmpfs by themselves.
            Ok(()) | Err(Errno::BUSY) => {}
            Err(e) => return Err(add_error_context(&format!("mounting {target}"), e)),
        }
    }
    Ok(())
}

/// Puts a layer over another machine's files and makes them the root, with the agent and the place `own` in it.
fn change_root(layered: &Layered, agent: &str) -> io::Result<()> {
    for entry in [&layered.lower, &layered.disk] {
        attach(entry).map_err(|e| add_error_context(&format!("mounting {}", entry.target), e))?;
    }
    let (root, disk) = (Path::new("/view"), Path::new(&layered.disk.target));
    let mut steps = Steps::default();
    for folder in [root, &disk.join("upper"), &disk.join("work"), &disk.join("own")] {
        steps.add_folder(folder, 0o755, None)?;
    }
    let options = format!(
        "lowerdir={},upperdir={1}/upper,workdir={1}/work,redirect_dir=on",
        layered.lower.target,
        disk.display()
    );
    steps.add_mount("overlay", root, MountFlags::empty(), &options)?;
    let base = root.join(BASE.trim_start_matches('/'));
    for folder in [&root.join("run"), &base, &base.join("own")] {
        steps.add_folder(folder, 0o755, None)?;
    }
    steps.add_bind_mount(&disk.join("own"), &base.join("own"))?;
    let inside = root.join(agent.trim_start_matches('/'));
    steps.add_file(&inside)?;
    steps.add_bind_mount(Path::new(AGENT), &inside)?;
    run(&steps)?;
    // The first root of a kernel cannot be left by pivot_root(2).
    rustix::process::chdir(root)?;
    rustix::process::chroot(".")?;
    mount_kernel_files()
}

fn run(steps: &Steps) -> io::Result<()> {
    steps.run_steps().map_err(|Failed { what, errno }| add_error_context(&what.to_string_lossy(), errno))
}

fn load(module: &Path) -> io::Result<()> {
    match finit_module(File::open(module)?, c"", 0) {
        // Built in, or loaded with another.
        Ok(()) | Err(Errno::EXIST) => Ok(()),
        Err(e) => Err(e.into()),
    }
}

fn attach(entry: &GuestMount) -> io::Result<()> {
    if entry.source.starts_with("/dev/") {
        appears(Path::new(&entry.source))?;
    }
    fs::create_dir_all(&entry.target)?;
    let options = CString::new(entry.options.as_str())?;
    let (source, target, kind) = (entry.source.as_str(), entry.target.as_str(), entry.kind.as_str());
    Ok(mount(source, target, kind, MountFlags::empty(), Some(options.as_c_str()))?)
}

fn appears(path: &Path) -> io::Result<()> {
    let found = until_found(DEVICE_WAIT, LOOK_AGAIN, || path.exists().then_some(()));
    found.ok_or_else(|| missing(&path.display().to_string()))
}

fn missing(device: &str) -> io::Error {
    io::Error::new(io::ErrorKind::TimedOut, format!("there is no {device}"))
}

fn open(stream: &Stream) -> io::Result<File> {
    let both =
        |path: &Path| OpenOptions::new().read(true).write(true).custom_flags(libc::O_NOCTTY).open(path);
    match stream {
        Stream::Serial(path) => {
            let line = both(path)?;
            make_raw(&line)?;
            Ok(line)
        }
        Stream::Port(name) => {
            let device = port(name)?;
            appears(&device)?;
            both(&device)
        }
    }
}

/// Finds the device of a named port.
fn port(name: &str) -> io::Result<PathBuf> {
    let named = |entry: &fs::DirEntry| {
        fs::read_to_string(entry.path().join("name")).is_ok_and(|found| found.trim() == name)
    };
    let look = || fs::read_dir(PORTS).into_iter().flatten().flatten().find(named);
    let found =
        until_found(DEVICE_WAIT, LOOK_AGAIN, look).ok_or_else(|| missing(&format!("port '{name}'")))?;
    Ok(Path::new("/dev").join(found.file_name()))
}

/// Switches off everything that a line discipline does to bytes.
fn make_raw(line: &File) -> io::Result<()> {
    // SAFETY: the structure is plain data, filled by the first call and read by the others, and the
    // descriptor is open throughout.
    unsafe {
        let mut settings: libc::termios = std::mem::zeroed();
        if libc::tcgetattr(line.as_raw_fd(), &mut settings) != 0 {
            return Err(io::Error::last_os_error());
        }
        libc::cfmakeraw(&mut settings);
        match libc::tcsetattr(line.as_raw_fd(), libc::TCSANOW, &settings) {
            0 => Ok(()),
            _ => Err(io::Error::last_os_error()),
        }
    }
}

/// Waits for the agent, and reaps other processes, as a first process must.
fn wait(agent: &Child) {
    let agent = Pid::from_raw(agent.id() as i32);
    loop {
        match wait_for_any(WaitOptions::empty()) {
            Ok(Some((pid, _))) if Some(pid) == agent => return,
            Ok(_) | Err(Errno::INTR) => {}
            Err(_) => return,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_process_that_is_not_the_first_ends_no_machine() {
        assert_eq!(init_main(), 1);
    }
}
