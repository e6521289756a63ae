//! Share servers: programs that give a guest the host's folders, by virtiofs or by 9P over TCP.

use std::fs;
use std::net::{IpAddr, SocketAddr, TcpStream};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::thread;
use std::time::{Duration, Instant};

use crate::containers::private_mounts;
use crate::containers::root::Root;
use crate::error::{ErrorKind, LabError};
use crate::guests::init::GuestMount;
use crate::host::network_namespace as namespaces;
use crate::host::programs::Programs;
use crate::network::guest::GuestNetwork;
use crate::provider::{NotReady, Workspace};

/// The server of virtiofs, where packages put it: Rust's, and QEMU's before version 8.
const VIRTIOFSD: [&str; 3] = ["virtiofsd", "/usr/libexec/virtiofsd", "/usr/lib/qemu/virtiofsd"];
const INSTALL_VIRTIOFSD: &str = "apt-get install virtiofsd || apt-get install qemu-system-common";
/// The server of 9P over TCP.
const DIOD: &str = "diod";
const INSTALL_DIOD: &str = "apt-get install diod";
/// Its port, as its manual has it.
const DIOD_PORT: u16 = 5640;
/// What 9P over TCP may put into one message: the largest that its server takes.
const MESSAGE_BYTES: u32 = 65536;
/// Time in which a server must be there: some ms.
const READY_WAIT: Duration = Duration::from_secs(10);
/// Pause between two looks at whether it is.
const LOOK_AGAIN: Duration = Duration::from_millis(2);

/// Modules that a guest needs for 9P over TCP, and for virtiofs.
pub const DIOD_MODULES: [&str; 2] = ["9p", "9pnet_fd"];
pub const VIRTIOFS_MODULES: [&str; 2] = ["fuse", "virtiofs"];

fn virtiofsd(programs: &Programs) -> Option<PathBuf> {
    VIRTIOFSD.iter().find_map(|name| programs.find(name))
}

/// Whether what serves a kind of share is there.
pub fn ready(share: &str, cache: &str, net: &str, programs: &Programs) -> Result<(), NotReady> {
    match share {
        "virtiofs" if virtiofsd(programs).is_none() => Err(NotReady::missing("virtiofsd", INSTALL_VIRTIOFSD)),
        "virtiofs" if cache == "mmap" => {
            Err(NotReady::because("virtiofs has no cache=mmap: take none or loose"))
        }
        "virtiofs" | "diod" if !private_mounts::permitted() => {
            Err(NotReady::because(format!("share={share} needs root: its server answers for every user")))
        }
        "diod" if programs.find(DIOD).is_none() => Err(NotReady::missing(DIOD, INSTALL_DIOD)),
        "diod" if net != "tap" => Err(NotReady::because("share=diod goes by the network: add net=tap")),
        _ => Ok(()),
    }
}

/// Starts a server of virtiofs for a folder. Returns its socket: a name in the start's folder, since a whole path
/// may be too long for a socket.
pub fn serve_virtiofs(
    workspace: &mut dyn Workspace,
    number: usize,
    folder: &Path,
    cache: &str,
) -> Result<String, LabError> {
    let program =
        virtiofsd(workspace.programs()).ok_or_else(|| failed("virtiofsd", "it is not installed"))?;
    let socket = format!("virtiofs{number}.socket");
    let folder = folder.to_str().filter(|path| !path.contains(',')).ok_or_else(|| {
        failed("virtiofsd", format!("{} cannot be written as its option", folder.display()))
    })?;
    let mut command = Command::new(program);
    command.env_clear().current_dir(workspace.folder());
    command.arg("-f").arg(format!("--socket-path={socket}"));
    // Words that both implementations take. Its own sandbox would need a user namespace.
    command.arg("-o").arg(format!("source={folder}")).args(["-o", "sandbox=chroot"]);
    let mode = if cache == "loose" { "always" } else { "none" };
    command.arg("-o").arg(format!("cache={mode}"));
    // It keeps a file below /run, and leaves it.
    private_mounts::apply_with_fresh(&mut command, c"/run");
    let said = workspace.accompany(&format!("virtiofsd{number}"), command)?;
    let path = workspace.folder().join(&socket);
    if comes(|| path.exists()) { Ok(socket) } else { Err(failed("virtiofsd", last_line(&said))) }
}

/// Starts a server of 9P for all shares on the lab's end of a guest's network; returns what the guest mounts.
pub fn serve_9p(
    workspace: &mut dyn Workspace,
    root: &Root,
    network: &GuestNetwork,
    cache: &str,
) -> Result<Vec<GuestMount>, LabError> {
    let program = workspace.programs().find(DIOD).ok_or_else(|| failed(DIOD, "it is not installed"))?;
    let wire = network.inside.wire;
    // It turns away whom it cannot find a name for.
    let hosts = workspace.folder().join("hosts");
    fs::write(&hosts, format!("127.0.0.1 localhost\n{} lab\n{} guest\n", wire.near, wire.far))
        .map_err(|e| failed(DIOD, e))?;
    let mut command = Command::new(program);
    command.args(["--foreground", "--no-auth", "--no-userdb", "--squashuser=root", "--logdest=stderr"]);
    command.arg(format!("--listen={}:{DIOD_PORT}", wire.near));
    for (path, _) in &root.shares {
        command.arg("--export").arg(path);
    }
    network.inherit(&mut command)?;
    private_mounts::apply_with_file(&mut command, &hosts, c"/etc/hosts").map_err(|e| failed(DIOD, e))?;
    let said = workspace.accompany(DIOD, command)?;
    let address = SocketAddr::new(IpAddr::from(wire.near), DIOD_PORT);
    let listens = namespaces::within(&network.namespace, || {
        Ok(comes(|| TcpStream::connect_timeout(&address, READY_WAIT).is_ok()))
    });
    if !matches!(listens, Ok(true)) {
        return Err(failed(DIOD, last_line(&said)));
    }
    let mount = |(path, inside): &(PathBuf, String)| {
        let path = path.to_str().filter(|path| !path.contains(',')).ok_or_else(|| {
            failed(DIOD, format!("{} cannot be written as an option of a mount", path.display()))
        })?;
        Ok(GuestMount {
            kind: "9p".to_owned(),
            source: wire.near.to_string(),
            target: inside.clone(),
            options: format!(
                "trans=tcp,port={DIOD_PORT},version=9p2000.L,msize={MESSAGE_BYTES},uname=root,access=any,\
                 cache={cache},aname={path}"
            ),
        })
    };
    root.shares.iter().map(mount).collect()
}

/// Whether something comes to hold in time.
fn comes(holds: impl Fn() -> bool) -> bool {
    let end = Instant::now() + READY_WAIT;
    while !holds() {
        if Instant::now() > end {
            return false;
        }
        thread::sleep(LOOK_AGAIN);
    }
    true
}

/// The last that a program said.
fn last_line(log: &Path) -> String {
    let said = fs::read_to_string(log).unwrap_or_default();
    said.lines().last().unwrap_or("it does not get ready").trim().to_owned()
}

fn failed(program: &str, cause: impl std::fmt::Display) -> LabError {
    LabError::new(ErrorKind::Environment, format!("cannot share folders by {program}")).because(cause)
}
