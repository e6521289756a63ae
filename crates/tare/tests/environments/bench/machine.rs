//! The machine around a bench: its names, settings and limits, which stay as they are.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use rustix::system::sethostname;
use rustix::thread::{UnshareFlags, unshare_unsafe};
use tare_lab::host::mounts;

/// Settings and names, by file.
const SETTINGS: &str = "/proc/sys";
/// Files in it that count, or that the kernel sets by itself: by a part of their path.
const COUNTERS: [&str; 13] = [
    "/fs/aio-nr",
    "/fs/dentry-state",
    "/fs/file-nr",
    "/fs/inode-nr",
    "/fs/inode-state",
    "/fs/quota/",
    "/kernel/ns_last_pid",
    "/kernel/perf_event_max_sample_rate",
    "/kernel/pty/nr",
    "/kernel/random/entropy_avail",
    "/kernel/random/uuid",
    "/netfilter/nf_conntrack_count",
    "/net/ipv4/tcp_fastopen_key",
];
/// Suffixes of the names of files by which a control group is limited.
const LIMITS: [&str; 8] =
    [".max", ".high", ".low", ".min", "limit_in_bytes", "quota_us", "weight", "cpuset.cpus"];

/// The texts of all files that describe the machine and this process's limits.
pub struct Machine(BTreeMap<PathBuf, Vec<u8>>);

impl Machine {
    pub fn look() -> Machine {
        let mut files = vec![PathBuf::from("/proc/self/limits"), PathBuf::from("/proc/self/cgroup")];
        list_files(Path::new(SETTINGS), &mut files);
        files.retain(|file| !COUNTERS.iter().any(|part| file.to_string_lossy().contains(part)));
        list_group_limits(&mut files);
        let read = |file: PathBuf| fs::read(&file).ok().map(|text| (file, text));
        Machine(files.into_iter().filter_map(read).collect())
    }

    /// Lists the files that have other texts now. Those of devices and modules that came or went meanwhile are left out.
    pub fn list_changes(&self) -> Vec<String> {
        let now = Machine::look().0;
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        let both = self.0.iter().filter_map(|(file, was)| Some((file, was, now.get(file)?)));
        let changed = both.filter(|(_, was, is)| was != is);
        changed
            .map(|(file, was, is)| format!("{}: {:?}, was {:?}", file.display(), text(is), text(was)))
            .collect()
    }
}

/// Lists regular files that somebody may read. Links lead out of a folder.
fn list_files(folder: &Path, files: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
        match entry.file_type() {
            Ok(kind) if kind.is_dir() => list_files(&entry.path(), files),
            Ok(kind) if kind.is_file() => files.push(entry.path()),
            _ => {}
        }
    }
}

/// Lists the limits of this process's control groups and of those around them.
fn list_group_limits(files: &mut Vec<PathBuf>) {
    let groups = fs::read_to_string("/proc/self/cgroup").unwrap();
    for mount in
        mounts::list_mounts().unwrap().into_iter().filter(|mount| mount.filesystem.starts_with("cgroup"))
    {
        for group in groups.lines().filter_map(|line| line.splitn(3, ':').nth(2)) {
            for folder in mount.point.join(group.trim_start_matches('/')).ancestors() {
                let all = fs::read_dir(folder).into_iter().flatten().flatten().map(|entry| entry.path());
                let named = |file: &PathBuf, end: &&str| file.to_string_lossy().ends_with(*end);
                files.extend(all.filter(|file| LIMITS.iter().any(|end| named(file, end))));
                if folder == mount.point {
                    break;
                }
            }
        }
    }
}

/// Gives this thread, and all that it starts, a copy of the machine's name, if it is root: nobody else can change it. Tests run in
/// threads of their own.
pub fn leave_the_machines_name() -> bool {
    // SAFETY: nothing in this process relies on the name of its machine.
    rustix::process::geteuid().is_root() && unsafe { unshare_unsafe(UnshareFlags::NEWUTS) }.is_ok()
}

#[test]
fn a_change_of_the_machine_is_seen() {
    if !leave_the_machines_name() {
        return println!("SKIPPED a_change_of_the_machine_is_seen: only root can change the machine's name");
    }
    let machine = Machine::look();
    assert_eq!(machine.list_changes(), [""; 0]);
    sethostname(b"changed").unwrap();
    assert_eq!(machine.list_changes().len(), 1, "{:?}", machine.list_changes());
}
