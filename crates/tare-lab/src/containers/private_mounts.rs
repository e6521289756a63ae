//! Private mounts: lets a program start in a mount namespace of its own, so that what it mounts ends with it.

#![allow(
    unsafe_code,
    reason = "the standard library has no mount namespaces, and runs code between fork and exec only on promise"
)]

use std::ffi::{CStr, CString};
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::Command;

use rustix::fs::{CWD, Mode, OFlags};
use rustix::mount::{
    MountFlags, MountPropagationFlags, MoveMountFlags, OpenTreeFlags, UnmountFlags, mount, mount_bind,
    mount_change, move_mount, open_tree, unmount,
};
use rustix::thread::{UnshareFlags, unshare_unsafe};

use crate::containers::steps::{Failed, Steps};
use crate::containers::user_namespaces::SameUser;
use crate::host::control_groups::OwnGroups;
use crate::host::mounts::{self, Mount};

/// Mount point of the second hierarchy of control groups on hosts that have both versions.
const UNIFIED: &CStr = c"/sys/fs/cgroup/unified";

/// Checks that this user may make a mount namespace without a user namespace.
pub fn can_make_mount_namespace() -> bool {
    rustix::process::geteuid().is_root()
}

/// Starts the command in a separate mount namespace. Needs root: see [`permitted`].
pub fn apply_mount_namespace(command: &mut Command) {
    prepare(command, || Ok(()));
}

/// Starts the command in a separate mount namespace, with an empty folder in memory in place of one of the
/// host's.
pub fn apply_with_fresh(command: &mut Command, folder: &'static CStr) {
    prepare(command, move || Ok(mount(c"tmpfs", folder, c"tmpfs", MountFlags::empty(), Some(c"mode=755"))?));
}

/// Starts the command in a separate mount namespace, with a file in place of one of the host's.
pub fn apply_with_file(command: &mut Command, file: &Path, over: &'static CStr) -> io::Result<()> {
    let file = CString::new(file.as_os_str().as_bytes())?;
    prepare(command, move || Ok(mount_bind(file.as_c_str(), over)?));
    Ok(())
}

/// Starts the command in a separate mount namespace where this process's own control groups are the roots of their hierarchies: a
/// runtime makes its groups from there, by one path in all of them, and is not without the limits of this process.
///
/// The second hierarchy is left out where there are both versions: crun refuses such hosts ("cgroups in hybrid mode not supported"),
/// and says so itself where that hierarchy may not be hidden, as in a user namespace.
pub fn apply_with_own_groups(command: &mut Command, groups: &OwnGroups) {
    let path =
        |path: &Path| CString::new(path.as_os_str().as_bytes()).expect("the kernel's paths have no NUL");
    let shown = groups.list_mounted().filter(|(own, point)| own != point);
    let shown: Vec<_> = shown.map(|(own, point)| [path(own), path(point)]).collect();
    // A hierarchy in which the own group is unknown, as in a namespace of groups: nothing is made at its root either.
    let is_unknown = |mount: &Mount| groups.list_mounted().all(|(_, point)| point != mount.point);
    let mut hidden = mounts::list_mounts().unwrap_or_default();
    hidden.retain(|mount| mount.filesystem.starts_with("cgroup") && is_unknown(mount));
    let hidden: Vec<_> = hidden.iter().map(|mount| path(&mount.point)).chain([UNIFIED.to_owned()]).collect();
    prepare(command, move || {
        for [own, point] in &shown {
            // In its place, where a user namespace allows it, and not above: runc looks for its group in the first mount.
            let flags = OpenTreeFlags::OPEN_TREE_CLONE | OpenTreeFlags::OPEN_TREE_CLOEXEC;
            let own = open_tree(CWD, own.as_c_str(), flags)?;
            let _ = unmount(point.as_c_str(), UnmountFlags::DETACH);
            move_mount(own, c"", CWD, point.as_c_str(), MoveMountFlags::MOVE_MOUNT_F_EMPTY_PATH)?;
        }
        // There is no second hierarchy where there is one version alone.
        for point in &hidden {
            let _ = unmount(point.as_c_str(), UnmountFlags::DETACH);
        }
        Ok(())
    });
}

/// Starts the command in a separate mount namespace, and makes these steps there; for others than root, in a
/// user namespace as well. `more` are further namespaces. A failed step is named in the file `report`, since only
/// a number gets out from between fork and exec.
pub fn apply_steps(command: &mut Command, steps: Steps, more: UnshareFlags, report: &Path) -> io::Result<()> {
    let report = CString::new(report.as_os_str().as_bytes())?;
    let user = if can_make_mount_namespace() { None } else { Some(SameUser::new()?) };
    prepare_as(command, user, more, move || {
        steps.run_steps().map_err(|Failed { what, errno }| {
            let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::CLOEXEC;
            if let Ok(file) = rustix::fs::open(report.as_c_str(), flags, Mode::RUSR) {
                let _ = rustix::io::write(file, what.to_bytes());
            }
            errno.into()
        })
    });
    Ok(())
}

/// Starts the command in its own mount namespace and user namespace, whoever the user is, where `change` may do
/// things that are forbidden elsewhere.
pub fn apply_as_user(
    command: &mut Command,
    change: impl Fn() -> io::Result<()> + Send + Sync + 'static,
) -> io::Result<()> {
    prepare_as(command, Some(SameUser::new()?), UnshareFlags::empty(), change);
    Ok(())
}

/// Lets the command, before it starts, leave the host's mounts and then run `change`. Like all
/// that happens between fork and exec, that may make system calls and nothing else.
fn prepare(command: &mut Command, change: impl Fn() -> io::Result<()> + Send + Sync + 'static) {
    prepare_as(command, None, UnshareFlags::empty(), change);
}

/// Prepares the namespaces, with a user namespace where there is a user to be in it.
fn prepare_as(
    command: &mut Command,
    user: Option<SameUser>,
    more: UnshareFlags,
    change: impl Fn() -> io::Result<()> + Send + Sync + 'static,
) {
    let prepare = move || -> io::Result<()> {
        let mut kinds = UnshareFlags::NEWNS | more;
        kinds.set(UnshareFlags::NEWUSER, user.is_some());
        // SAFETY: only namespaces are left, and no thread shares anything with this process.
        unsafe { unshare_unsafe(kinds)? };
        user.as_ref().map_or(Ok(()), SameUser::map_user)?;
        // A mount that goes away on the host must go away here: a copy that stays would keep its loop device busy.
        mount_change(c"/", MountPropagationFlags::REC | MountPropagationFlags::DOWNSTREAM)?;
        change()
    };
    // SAFETY: between fork and exec only system calls are made, and nothing is allocated.
    unsafe { command.pre_exec(prepare) };
}
