//! Network namespaces: made under a name, worked in by a thread, inherited by a program.

#![allow(unsafe_code, reason = "entering a namespace, and running code between fork and exec")]

use std::fs::{self, File, OpenOptions};
use std::io;
use std::os::fd::AsFd;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::thread;

use rustix::mount::mount_bind;
use rustix::thread::{LinkNameSpaceType, UnshareFlags, move_into_link_name_space, unshare_unsafe};

pub use crate::host::namespace_names::{FOLDER, namespace_path};
use crate::host::network_device;

/// Checks that this user may make network namespaces and devices without a user namespace.
pub(crate) fn can_make_network_namespace() -> bool {
    rustix::process::geteuid().is_root()
}

/// Makes a namespace of a name, with its loopback device up. It lives until its file is unmounted.
pub(crate) fn make_namespace(name: &str) -> io::Result<PathBuf> {
    let path = namespace_path(name);
    make_file(&path).or_else(|e| match e.kind() {
        // Another session has just left, and taken the empty folder away.
        io::ErrorKind::NotFound => make_file(&path),
        _ => Err(e),
    })?;
    apart(|| {
        // SAFETY: only the namespace of the network is left, which nothing in this process relies on.
        unsafe { unshare_unsafe(UnshareFlags::NEWNET)? };
        network_device::bring_up_device("lo")?;
        // A mount keeps the namespace, even when no process is in it any more.
        Ok(mount_bind("/proc/thread-self/ns/net", &path)?)
    })?;
    Ok(path)
}

fn make_file(path: &Path) -> io::Result<()> {
    fs::create_dir_all(FOLDER)?;
    OpenOptions::new().write(true).create_new(true).open(path).map(drop)
}

/// Does something within a namespace; this thread stays where it is.
pub fn run_in_namespace<T: Send>(
    namespace: &Path,
    work: impl FnOnce() -> io::Result<T> + Send,
) -> io::Result<T> {
    let namespace = File::open(namespace)?;
    apart(move || {
        enter(&namespace)?;
        work()
    })
}

/// Lets a program start within a namespace.
pub(crate) fn inherit_namespace(command: &mut Command, namespace: &Path) -> io::Result<()> {
    let namespace = File::open(namespace)?;
    // SAFETY: between fork and exec only a system call is made, and nothing is allocated.
    unsafe { command.pre_exec(move || enter(&namespace)) };
    Ok(())
}

fn enter(namespace: &File) -> io::Result<()> {
    Ok(move_into_link_name_space(namespace.as_fd(), Some(LinkNameSpaceType::Network))?)
}

/// Runs the work in a thread that ends with it: a namespace belongs to a thread.
fn apart<T: Send>(work: impl FnOnce() -> io::Result<T> + Send) -> io::Result<T> {
    thread::scope(|scope| {
        let thread = thread::Builder::new().spawn_scoped(scope, work)?;
        thread.join().unwrap_or_else(|_| Err(io::Error::other("the thread in the namespace died")))
    })
}
