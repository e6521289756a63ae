//! Silent mounts: file systems of a network or of another program, which may never answer. Each is looked at by a process of its
//! own, which can be left behind.

use std::ffi::OsStr;
use std::fs;
use std::path::PathBuf;
use std::process::{Child, Stdio};
use std::time::Duration;

use crate::host::mounts::Mount;
use crate::host::processes;
use crate::host::programs::{self, Found};
use crate::host::waiting::until_found;
use crate::provider::Workspace;

/// Subcommand that looks at a mount.
pub(crate) const LOOK: &str = "look-at-mount";
/// File systems that the kernel serves by itself.
const ANSWERING: [&str; 17] = [
    "btrfs",
    "devtmpfs",
    "erofs",
    "exfat",
    "ext2",
    "ext3",
    "ext4",
    "f2fs",
    "hugetlbfs",
    "iso9660",
    "overlay",
    "ramfs",
    "squashfs",
    "tmpfs",
    "vfat",
    "xfs",
    "zfs",
];
/// Time in which all others must answer.
const ANSWERS_WITHIN: Duration = Duration::from_secs(2);
const LOOK_AGAIN: Duration = Duration::from_millis(5);

/// Looks at a mount as one does that shows it elsewhere.
pub(crate) fn look_main(point: &OsStr) -> i32 {
    let entries = fs::metadata(point).and_then(|_| fs::read_dir(point));
    drop(entries.map(|mut entries| entries.next()));
    0
}

/// Finds mounts that do not answer, by processes of the session's program.
pub(crate) fn find_silent(workspace: &dyn Workspace, mounts: &[&Mount]) -> Vec<PathBuf> {
    let doubtful = mounts.iter().filter(|mount| !ANSWERING.contains(&mount.filesystem.as_str()));
    let looking = doubtful.filter_map(|mount| {
        let mut command = programs::command(&Found::own(workspace.agent()));
        command.arg(LOOK).arg(&mount.point).env_clear().current_dir("/");
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        processes::die_with_parent(&mut command);
        workspace.hold_program(&mut command).ok()?;
        Some((mount.point.clone(), command.spawn().ok()?))
    });
    let mut looking: Vec<(PathBuf, Child)> = looking.collect();
    let _ = until_found(ANSWERS_WITHIN, LOOK_AGAIN, || {
        looking.retain_mut(|(_, child)| matches!(child.try_wait(), Ok(None)));
        looking.is_empty().then_some(())
    });
    let silent = looking.into_iter().map(|(point, mut child)| {
        // Not waited for: it may hang in the kernel.
        let _ = child.kill();
        point
    });
    silent.collect()
}
