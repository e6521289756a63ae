//! This machine's files by an engine's daemon: it mounts a layer over each folder as a volume of the container, and removes both together.

#![allow(unsafe_code, reason = "a peer may have no process number here, for which rustix has no value")]

use std::collections::BTreeMap;
use std::fs;
use std::io;
use std::os::fd::AsRawFd;
use std::os::unix::ffi::OsStringExt;
use std::time::Duration;

use rustix::net::{AddressFamily, SocketAddrUnix, SocketFlags, SocketType};

use crate::containers::view;
use crate::host::mounts;
use crate::provider::images::Link;
use crate::provider::prelude::*;
use crate::storage::places::WORK;

/// Time that the engine has for a question.
const ANSWER_WAIT: Duration = Duration::from_secs(30);
/// Template of the kernel and the machine of a daemon, and of what it changes in containers.
const TOLD: &str = "{{.KernelVersion}} {{.Name}} {{.SecurityOptions}}";

/// Checks that the daemon can show this machine's files.
pub(super) fn check_sight(program: &Found) -> Result<(), NotReady> {
    look(program).map_err(|cause| {
        NotReady::from_reason(format!(
            "Docker's daemon cannot show this machine's programs: {cause}; with the program inside an image: docker:IMAGE; as Docker \
             configures a container: docker-like; in a container that runs: docker-exec:NAME"
        ))
    })
}

/// Finds out whether the daemon is root's and on this machine, and sees what this process sees. A socket of this machine can lead to
/// another, which has another kernel or another name.
fn look(program: &Found) -> Result<(), String> {
    let ask = |words: &[&str]| {
        programs::read_first_line(programs::command(program).args(words), ANSWER_WAIT)
            .map_err(|e| e.to_string())
    };
    if !rustix::process::geteuid().is_root() {
        return Err("layers over them take root".into());
    }
    let at = ask(&["context", "inspect", "--format", "{{.Endpoints.docker.Host}}"])?;
    let Some(socket) = at.strip_prefix("unix://") else {
        return Err("it is not reached by a socket of this machine".into());
    };
    let space = |process: &str| fs::read_link(format!("/proc/{process}/ns/mnt")).map_err(|e| e.to_string());
    let listener = find_listener(Path::new(socket)).map_err(|e| format!("its socket: {e}"))?;
    if space(&listener.to_string()).ok() != Some(space("self")?) {
        return Err("it sees other mounts than this process".into());
    }
    let own = rustix::system::uname();
    let own = format!("{} {} ", own.release().to_string_lossy(), own.nodename().to_string_lossy());
    match ask(&["info", "--format", TOLD])?.strip_prefix(&own) {
        None => Err("it runs on another kernel or under another host name".into()),
        Some(changes) if changes.contains("name=userns") => {
            Err("its containers have users of their own".into())
        }
        Some(_) => Ok(()),
    }
}

/// Finds the process that began to listen at a socket: the daemon, or systemd in its place; 0 if it is not seen here.
fn find_listener(socket: &Path) -> io::Result<libc::pid_t> {
    // It fails at once if nobody answers.
    let flags = SocketFlags::CLOEXEC | SocketFlags::NONBLOCK;
    let stream = rustix::net::socket_with(AddressFamily::UNIX, SocketType::STREAM, flags, None)?;
    rustix::net::connect(&stream, &SocketAddrUnix::new(socket)?)?;
    let mut peer = libc::ucred { pid: 0, uid: 0, gid: 0 };
    let mut size = size_of::<libc::ucred>() as libc::socklen_t;
    let fd = stream.as_raw_fd();
    // SAFETY: the struct and its size live through the call, which writes no more than that size.
    match unsafe {
        libc::getsockopt(fd, libc::SOL_SOCKET, libc::SO_PEERCRED, (&raw mut peer).cast(), &raw mut size)
    } {
        0 => Ok(peer.pid),
        _ => Err(io::Error::last_os_error()),
    }
}

/// Lists the links in this machine's root, like that from `/bin` to `/usr/bin`.
pub(super) fn list_links() -> Result<Vec<Link>, LabError> {
    let entries = fs::read_dir("/").map_err(LabError::storage_error("read", Path::new("/")))?;
    let link = |entry: fs::DirEntry| {
        let to = fs::read_link(entry.path()).ok()?;
        Some((entry.file_name().into_vec(), to.into_os_string().into_vec()))
    };
    Ok(entries.flatten().filter_map(link).collect())
}

/// Has a container show this machine's files, under layers that are in the folder of the start. Its volumes have no name: the engine
/// removes them with the container.
pub(super) fn show_machine(
    workspace: &dyn Workspace,
    command: &mut Command,
    places: &mut BTreeMap<String, String>,
    outside: &mut Facts,
) -> Result<(), LabError> {
    let what = "cannot show this machine's files";
    // The root itself is the container's.
    let mut work =
        workspace.inside().work.iter().filter(|work| work.shared || work.folder.parent().is_some());
    work.try_for_each(|work| view::check_work(&work.folder))
        .map_err(|e| LabError::usage_error(what).with_cause(e))?;
    let on = mounts::find_mount(workspace.folder()).map(|mount| mount.filesystem).unwrap_or_default();
    if on == view::NO_LAYER {
        return Err(LabError::usage_error(what)
            .with_cause("the scratch folder is on an overlay, which cannot hold layers")
            .with_hint("choose another with --scratch"));
    }
    let layers = view::make_layers(workspace)
        .map_err(|e| LabError::new(ErrorKind::Environment, what).with_cause(e))?;
    for (folder, options) in layers {
        command.arg(format!(
            "--mount=type=volume,volume-driver=local,volume-nocopy=true,volume-opt=type=overlay,volume-opt=device=overlay,{},{}",
            quote(&format!("volume-opt=o={options}")),
            quote(&format!("destination={}", folder.display())),
        ));
    }
    // The session's own files are not shown.
    let own = quote(&format!("destination={}", workspace.session_folder().display()));
    command.arg(format!("--mount=type=tmpfs,{own},tmpfs-size=4096,tmpfs-mode=700"));
    if Path::new(view::WORK).is_dir() {
        places.insert(WORK.to_owned(), view::WORK.to_owned());
    }
    outside.add_fact("root", "host");
    outside.add_fact("root.upper", on);
    Ok(())
}

/// Quotes a field whose commas are its own.
pub(super) fn quote(field: &str) -> String {
    format!("\"{}\"", field.replace('"', "\"\""))
}
