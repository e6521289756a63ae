//! Control groups: which versions a host has, what their limits refused, those below this process's own, and their removal.

mod counts;
mod own;
mod usage;

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

pub(crate) use self::counts::{Hierarchies, is_agent};
pub use self::own::{OwnGroups, PlacedGroup, Purpose};
pub(crate) use self::usage::{Usage, find_descent};
use crate::host::mounts;
use crate::host::processes;
use crate::host::waiting::until_found;
use crate::owned::is_session_folder;

/// Deepest that groups below one that was made here are looked for: runtimes make one level or two.
const DEEPEST: usize = 8;
/// The kernel's usual period of processor time.
const PERIOD_US: usize = 100_000;
/// Controllers of processor time, memory and processes.
pub const LIMITED: [&str; 3] = ["cpu", "memory", "pids"];
/// More memory than a machine has, and more processes than a test starts.
const LARGEST_MEMORY: u64 = 1 << 50;
const MOST_PROCESSES: u32 = 100_000;
/// Time in which a group whose processes were killed must be empty.
const EMPTY_WAIT: Duration = Duration::from_secs(5);
/// Pause between two looks at whether it is.
const LOOK_AGAIN: Duration = Duration::from_millis(1);

/// Reports the versions that this host has: `1`, `2` or `hybrid`; empty when none is mounted.
pub fn find_versions() -> &'static str {
    let has =
        |kind: &str| mounts::list_mounts().is_ok_and(|all| all.iter().any(|mount| mount.filesystem == kind));
    match (has("cgroup"), has("cgroup2")) {
        (true, true) => "hybrid",
        (true, false) => "1",
        (false, true) => "2",
        (false, false) => "",
    }
}

/// Counts of processes that were killed or refused by a limit of this process's control groups, or of those above them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Refusals {
    killed: u64,
    refused: u64,
}

impl Refusals {
    /// Counts the refusals so far: zero if no control groups are mounted.
    pub fn count_now() -> Refusals {
        let [killed, refused] = Hierarchies::find().read_refusals();
        Refusals { killed, refused }
    }

    /// Describes a limit that has done so since then.
    pub fn describe_since(self, before: Refusals) -> Option<&'static str> {
        match () {
            () if self.killed > before.killed => Some("a control group's limit of memory killed a process"),
            () if self.refused > before.refused => Some("a control group's limit of processes was reached"),
            () => None,
        }
    }
}

/// Lists limits that are as large as the machine, by the files in which they are written: the kernel counts and compares, and refuses
/// nothing.
pub fn list_largest_limits() -> [(&'static str, String); 5] {
    let cpus = std::thread::available_parallelism().map_or(1, usize::from);
    let processor_time = (cpus * PERIOD_US).to_string();
    [
        ("cpu.max", format!("{processor_time} {PERIOD_US}")),
        ("cpu.cfs_quota_us", processor_time),
        ("memory.max", LARGEST_MEMORY.to_string()),
        ("memory.limit_in_bytes", LARGEST_MEMORY.to_string()),
        ("pids.max", MOST_PROCESSES.to_string()),
    ]
}

/// Removes the groups of a name in every hierarchy, with those below them. Whether there were any.
pub fn remove_groups(name: &str) -> io::Result<bool> {
    let mut any = false;
    for mount in mounts::list_mounts()?.iter().filter(|mount| mount.filesystem.starts_with("cgroup")) {
        any |= remove_group(&mount.point.join(name), &|_| false)?;
    }
    Ok(any)
}

/// Removes a group with those below it, and ends the processes in them; spared ones are moved to the group above the session's.
/// Tells whether there was one.
pub fn remove_group(group: &Path, is_spared: &dyn Fn(u32) -> bool) -> io::Result<bool> {
    remove_with_below(group, is_spared, 0)
}

fn remove_with_below(group: &Path, is_spared: &dyn Fn(u32) -> bool, depth: usize) -> io::Result<bool> {
    let entries = match fs::read_dir(group) {
        Err(e) if matches!(e.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory) => {
            return Ok(false);
        }
        entries => entries?,
    };
    let below: Vec<PathBuf> = entries
        .filter_map(|entry| entry.ok().filter(|e| e.file_type().is_ok_and(|kind| kind.is_dir())))
        .map(|entry| entry.path())
        .collect();
    for group in below.iter().filter(|_| depth < DEEPEST) {
        remove_with_below(group, is_spared, depth + 1)?;
    }
    let removed = until_found(EMPTY_WAIT, LOOK_AGAIN, || match fs::remove_dir(group) {
        // Processes in the group are the session's; and the dead are in it until their parent has seen them.
        Err(e) if e.kind() == io::ErrorKind::ResourceBusy => {
            for (pid, started) in members(group) {
                let is_above = |above: &&Path| !above.iter().any(is_session_folder);
                let _ = match group.ancestors().find(is_above).filter(|_| is_spared(pid)) {
                    Some(above) => fs::write(above.join("cgroup.procs"), pid.to_string()),
                    None => processes::kill_same_process(pid, started),
                };
            }
            None
        }
        Err(e) if e.kind() != io::ErrorKind::NotFound => Some(Err(e)),
        _ => Some(Ok(true)),
    });
    removed.unwrap_or_else(|| Err(io::ErrorKind::ResourceBusy.into()))
}

/// Lists processes in a group besides this one, with their start times.
fn members(group: &Path) -> impl Iterator<Item = (u32, u64)> {
    let list = fs::read_to_string(group.join("cgroup.procs")).unwrap_or_default();
    let pids: Vec<u32> = list.lines().filter_map(|line| line.parse().ok()).collect();
    pids.into_iter()
        .filter(|pid| *pid != std::process::id())
        .filter_map(|pid| Some((pid, processes::started_ticks(pid)?)))
}
