//! Share servers: programs that give a guest the host's folders, by virtiofs or by 9P over TCP.

use std::fs;
use std::net::{IpAddr, SocketAddr, TcpStream};
use std::time::Duration;

use crate::containers::private_mounts;
use crate::containers::root::Root;
use crate::guests::init::GuestMount;
use crate::host::network_namespace as namespaces;
use crate::host::waiting::until_found;
use crate::network::guest::GuestNetwork;
use crate::provider::prelude::*;

/// The server of virtiofs, where packages put it: Rust's, and QEMU's before version 8.
const VIRTIOFSD: [&str; 3] = ["virtiofsd", "/usr/libexec/virtiofsd", "/usr/lib/qemu/virtiofsd"];
const INSTALL_VIRTIOFSD: &str = "apt-get install virtiofsd || apt-get install qemu-system-common";
/// The server of 9P over TCP.
const DIOD: &str = "diod";
const INSTALL_DIOD: &str = "apt-get install diod";
/// Its port, as its manual has it.
const DIOD_PORT: u16 = 5640;
/// Largest message of 9P over TCP that its server takes.
const MESSAGE_BYTES: u32 = 65536;
/// Time in which a server must be there: some ms.
const READY_WAIT: Duration = Duration::from_secs(10);
/// Pause between two looks at whether it is.
const LOOK_AGAIN: Duration = Duration::from_millis(2);

/// Modules that a guest needs for 9P over TCP, and for virtiofs.
pub const DIOD_MODULES: [&str; 2] = ["9p", "9pnet_fd"];
pub const VIRTIOFS_MODULES: [&str; 2] = ["fuse", "virtiofs"];

choice! {
    /// Caching of the host's folders in a guest.
    pub enum Cache: "cache",
        "caching of shares in the guest: none: it asks the host every time; loose, mmap (9P only): it trusts its copy"
    {
        None = "none",
        Loose = "loose",
        Mmap = "mmap",
    }
}

/// Finds the server of virtiofs.
pub fn find_virtiofsd(programs: &Programs) -> Result<Found, NotReady> {
    let found = VIRTIOFSD.iter().find_map(|name| programs.find(name));
    let found = found.ok_or_else(|| NotReady::missing_program("virtiofsd", INSTALL_VIRTIOFSD))?;
    root_only("virtiofs").map(|()| found)
}

/// Finds the server of 9P over TCP.
pub fn find_diod(programs: &Programs) -> Result<Found, NotReady> {
    root_only("diod")?;
    require_program(programs, DIOD, INSTALL_DIOD)
}

fn root_only(share: &str) -> Result<(), NotReady> {
    match private_mounts::can_make_mount_namespace() {
        true => Ok(()),
        false => {
            Err(NotReady::from_reason(format!("share={share} needs root: its server answers for every user")))
        }
    }
}

/// Explains that share=diod needs a network.
pub fn needs_tap(provider: &str) -> LabError {
    LabError::usage_error(format!("{provider}: share=diod goes by the network")).with_hint("add net=tap")
}

/// Starts a server of virtiofs for a folder. Returns its socket as a name in the start's folder, since a
/// whole path may be too long for a socket.
pub fn serve_virtiofs(
    program: &Found,
    workspace: &mut dyn Workspace,
    number: usize,
    folder: &Path,
    cache: Cache,
) -> Result<String, LabError> {
    let socket = format!("virtiofs{number}.socket");
    let folder = folder.to_str().filter(|path| !path.contains(',')).ok_or_else(|| {
        failed("virtiofsd", format!("{} cannot be written as its option", folder.display()))
    })?;
    let mut command = programs::command(program);
    command.env_clear().current_dir(workspace.folder());
    command.arg("-f").arg(format!("--socket-path={socket}"));
    // Words that both implementations take. Its own sandbox would need a user namespace.
    command.arg("-o").arg(format!("source={folder}")).args(["-o", "sandbox=chroot"]);
    let mode = match cache {
        Cache::Loose => "always",
        // A specification with virtiofs and mmap is refused.
        Cache::None | Cache::Mmap => "none",
    };
    command.arg("-o").arg(format!("cache={mode}"));
    // It keeps a file below /run, and leaves it.
    private_mounts::apply_with_fresh(&mut command, c"/run");
    let log = workspace.start_companion(&format!("virtiofsd{number}"), command)?;
    let path = workspace.folder().join(&socket);
    if comes(|| path.exists()) { Ok(socket) } else { Err(failed("virtiofsd", last_line(&log))) }
}

/// Starts a server of 9P for all shares on the lab's end of a guest's network. Returns the mounts for the
/// guest.
pub fn serve_9p(
    program: &Found,
    workspace: &mut dyn Workspace,
    root: &Root,
    network: &GuestNetwork,
    cache: Cache,
) -> Result<Vec<GuestMount>, LabError> {
    let cache = cache.name();
    let wire = network.inside.wire;
    // It turns away whom it cannot find a name for.
    let hosts = workspace.folder().join("hosts");
    fs::write(&hosts, format!("127.0.0.1 localhost\n{} lab\n{} guest\n", wire.near, wire.far))
        .map_err(|e| failed(DIOD, e))?;
    let mut command = programs::command(program);
    command.args(["--foreground", "--no-auth", "--no-userdb", "--squashuser=root", "--logdest=stderr"]);
    command.arg(format!("--listen={}:{DIOD_PORT}", wire.near));
    for (path, _) in &root.shares {
        command.arg("--export").arg(path);
    }
    network.inherit_network(&mut command)?;
    private_mounts::apply_with_file(&mut command, &hosts, c"/etc/hosts").map_err(|e| failed(DIOD, e))?;
    let log = workspace.start_companion(DIOD, command)?;
    let address = SocketAddr::new(IpAddr::from(wire.near), DIOD_PORT);
    let listens = namespaces::run_in_namespace(&network.namespace, || {
        Ok(comes(|| TcpStream::connect_timeout(&address, READY_WAIT).is_ok()))
    });
    if !matches!(listens, Ok(true)) {
        return Err(failed(DIOD, last_line(&log)));
    }
    let mount = |(path, inside): &(PathBuf, String)| {
        let path = path.to_str().filter(|path| !path.contains(',')).ok_or_else(|| {
            failed(DIOD, format!("{} cannot be written as an option of a mount", path.display()))
        })?;
        let options = format!(
            "trans=tcp,port={DIOD_PORT},version=9p2000.L,msize={MESSAGE_BYTES},uname=root,access=any,\
             cache={cache},aname={path}"
        );
        Ok(GuestMount::new("9p", &wire.near.to_string(), inside, &options))
    };
    root.shares.iter().map(mount).collect()
}

/// Waits until a condition holds; false where it takes too long.
fn comes(holds: impl Fn() -> bool) -> bool {
    until_found(READY_WAIT, LOOK_AGAIN, || holds().then_some(())).is_some()
}

fn last_line(log: &Path) -> String {
    let log = fs::read_to_string(log).unwrap_or_default();
    log.lines().last().unwrap_or("it does not get ready").trim().to_owned()
}

fn failed(program: &str, cause: impl Into<Cause>) -> LabError {
    LabError::new(ErrorKind::Environment, format!("cannot share folders by {program}")).with_cause(cause)
}
