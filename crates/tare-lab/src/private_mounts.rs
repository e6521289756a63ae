//! Private mounts: lets a program start in a mount namespace of its own, so that what it mounts ends with it.

use std::ffi::CString;
use std::io;
use std::os::unix::process::CommandExt;
use std::process::Command;

use rustix::mount::{MountPropagationFlags, UnmountFlags, mount_change, unmount};
use rustix::thread::{UnshareFlags, unshare_unsafe};

use crate::mounts;

/// Where the second hierarchy of control groups is mounted on hosts that have both versions.
const UNIFIED: &str = "/sys/fs/cgroup/unified";

/// Whether this user may make a mount namespace without a user namespace.
pub fn permitted() -> bool {
    rustix::process::geteuid().is_root()
}

/// Starts the command in a mount namespace of its own. Needs root: see [`permitted`].
pub fn apply(command: &mut Command) {
    hide(command, None);
}

/// The same, and hides the second hierarchy of control groups where there are both: crun refuses such
/// hosts ("cgroups in hybrid mode not supported").
pub fn apply_without_hybrid_groups(command: &mut Command) {
    let hybrid = mounts::all().is_ok_and(|all| {
        all.iter().any(|mount| mount.filesystem == "cgroup2" && mount.point.as_os_str() == UNIFIED)
    });
    hide(command, hybrid.then(|| CString::new(UNIFIED).expect("no NUL in it")));
}

fn hide(command: &mut Command, point: Option<CString>) {
    let prepare = move || -> io::Result<()> {
        // SAFETY: only the namespace of mounts is left, and no thread shares anything with this process.
        unsafe { unshare_unsafe(UnshareFlags::NEWNS)? };
        mount_change(c"/", MountPropagationFlags::REC | MountPropagationFlags::PRIVATE)?;
        match &point {
            Some(point) => Ok(unmount(point.as_c_str(), UnmountFlags::DETACH)?),
            None => Ok(()),
        }
    };
    // SAFETY: between fork and exec only system calls are made, and nothing is allocated.
    unsafe { command.pre_exec(prepare) };
}

/// Which versions of control groups this host has: `1`, `2` or `hybrid`; empty when none is mounted.
pub fn control_groups() -> &'static str {
    let has = |kind: &str| mounts::all().is_ok_and(|all| all.iter().any(|mount| mount.filesystem == kind));
    match (has("cgroup"), has("cgroup2")) {
        (true, true) => "hybrid",
        (true, false) => "1",
        (false, true) => "2",
        (false, false) => "",
    }
}
