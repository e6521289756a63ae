//! Control groups: which versions a host has, and one for programs that make more below theirs.

#![allow(unsafe_code, reason = "the standard library runs code between fork and exec only on promise")]

use std::ffi::CString;
use std::fs;
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use rustix::fs::{Mode, OFlags};

use crate::error::{ErrorKind, LabError};
use crate::host::mounts::{self, Mount};
use crate::host::processes;
use crate::host::waiting::until_found;

/// Deepest that groups below one that was made here are looked for: runtimes make one level or two.
const DEEPEST: usize = 8;
/// The kernel's usual period of processor time.
const PERIOD_US: usize = 100_000;
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
        let groups = fs::read_to_string("/proc/self/cgroup").unwrap_or_default();
        let mut all = Refusals::default();
        // `4:memory:/user.slice`, `0::/user.slice`: number, controllers, path.
        for line in groups.lines() {
            let mut parts = line.splitn(3, ':').skip(1);
            let (Some(controllers), Some(path)) = (parts.next(), parts.next()) else { continue };
            let folders: &[&str] = if controllers.is_empty() { &["", "unified"] } else { &[controllers] };
            for folder in folders {
                let top = Path::new("/sys/fs/cgroup").join(folder);
                let own = top.join(path.trim_start_matches('/'));
                for group in own.ancestors().take_while(|group| group.starts_with(&top)) {
                    all.killed += ["memory.events", "memory.oom_control"]
                        .into_iter()
                        .find_map(|file| read_count(&group.join(file), "oom_kill "))
                        .unwrap_or(0);
                    all.refused += read_count(&group.join("pids.events"), "max ").unwrap_or(0);
                }
            }
        }
        all
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

/// Reads the number behind a key in a file of lines.
fn read_count(path: &Path, key: &str) -> Option<u64> {
    let text = fs::read_to_string(path).ok()?;
    text.lines().find_map(|line| line.strip_prefix(key))?.trim().parse().ok()
}

/// Makes groups of this name in the hierarchies that systemd keeps processes apart by, and starts the command in them.
/// Below them it may make what it likes: all goes away with them. Needs root. The caller owns the name beforehand.
pub fn join_groups(command: &mut Command, name: &str) -> Result<(), LabError> {
    join_where(command, name, keeps_apart, &[])
}

/// Makes and joins groups as [`join`] does, in the hierarchies that limit processor time, memory and processes, with
/// limits that are as large as the machine: the kernel counts and compares, and refuses nothing.
pub fn join_with_limits(command: &mut Command, name: &str) -> Result<(), LabError> {
    let cpus = std::thread::available_parallelism().map_or(1, usize::from);
    let processor_time = (cpus * PERIOD_US).to_string();
    let limits = [
        ("cpu.max", format!("{processor_time} {PERIOD_US}")),
        ("cpu.cfs_quota_us", processor_time),
        ("memory.max", LARGEST_MEMORY.to_string()),
        ("memory.limit_in_bytes", LARGEST_MEMORY.to_string()),
        ("pids.max", MOST_PROCESSES.to_string()),
    ];
    join_where(command, name, limits_something, &limits)
}

/// Joins a group in every hierarchy that counts, with those of the limits that it knows.
fn join_where(
    command: &mut Command,
    name: &str,
    counts: fn(&Mount) -> bool,
    limits: &[(&str, String)],
) -> Result<(), LabError> {
    let mut lists: Vec<CString> = Vec::new();
    for mount in mounts::list_mounts().unwrap_or_default().iter().filter(|mount| counts(mount)) {
        let group = mount.point.join(name);
        let made = fs::create_dir(&group).and_then(|()| {
            let mut known = limits.iter().filter(|(file, _)| group.join(file).exists());
            known.try_for_each(|(file, value)| fs::write(group.join(file), value))
        });
        made.map_err(|e| {
            let what = format!("cannot make the control group {}", group.display());
            LabError::new(ErrorKind::Environment, what).with_cause(e)
        })?;
        lists.extend(CString::new(group.join("cgroup.procs").as_os_str().as_bytes()));
    }
    let enter = move || -> io::Result<()> {
        for list in &lists {
            let list = rustix::fs::open(list.as_c_str(), OFlags::WRONLY | OFlags::CLOEXEC, Mode::empty())?;
            // Zero is whoever writes.
            rustix::io::write(&list, b"0")?;
        }
        Ok(())
    };
    // SAFETY: between fork and exec only system calls are made, and nothing is allocated.
    unsafe { command.pre_exec(enter) };
    Ok(())
}

fn limits_something(mount: &Mount) -> bool {
    let controllers = ["cpu", "memory", "pids"];
    mount.filesystem == "cgroup2"
        || mount.filesystem == "cgroup"
            && mount.options.split(',').any(|option| controllers.contains(&option))
}

fn keeps_apart(mount: &Mount) -> bool {
    mount.filesystem == "cgroup2"
        || mount.filesystem == "cgroup" && mount.options.split(',').any(|option| option == "name=systemd")
}

/// Removes the groups of a name in every hierarchy, with those below them. Whether there were any.
pub fn remove_groups(name: &str) -> io::Result<bool> {
    let mut any = false;
    for mount in mounts::list_mounts()?.iter().filter(|mount| mount.filesystem.starts_with("cgroup")) {
        any |= remove_with_below(&mount.point.join(name), 0)?;
    }
    Ok(any)
}

fn remove_with_below(group: &Path, depth: usize) -> io::Result<bool> {
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
        remove_with_below(group, depth + 1)?;
    }
    let removed = until_found(EMPTY_WAIT, LOOK_AGAIN, || match fs::remove_dir(group) {
        // Processes in the group are the session's; and the dead are in it until their parent has seen them.
        Err(e) if e.kind() == io::ErrorKind::ResourceBusy => {
            members(group).for_each(|(pid, started)| drop(processes::kill_same_process(pid, started)));
            None
        }
        Err(e) if e.kind() != io::ErrorKind::NotFound => Some(Err(e)),
        _ => Some(Ok(true)),
    });
    removed.unwrap_or_else(|| Err(io::ErrorKind::ResourceBusy.into()))
}

/// Lists processes in a group, with their start times.
fn members(group: &Path) -> impl Iterator<Item = (u32, u64)> {
    let list = fs::read_to_string(group.join("cgroup.procs")).unwrap_or_default();
    let pids: Vec<u32> = list.lines().filter_map(|line| line.parse().ok()).collect();
    pids.into_iter().filter_map(|pid| Some((pid, processes::started_ticks(pid)?)))
}
