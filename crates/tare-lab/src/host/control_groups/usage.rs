//! Processor time of a start while others are measured: by its control group, and by its processes outside of that.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use tare_data::session::limits::Idle;
use tare_probes::facts::control_groups::count_listed;

use super::counts::{Hierarchies, Processes, is_agent, read};
use super::own::OwnGroups;
use crate::host::processes;

/// Processes that are watched. Of a start with more nothing is known.
const MOST_PROCESSES: usize = 256;
/// Time after which processes are looked for again: a look reads a file of every thread.
const LOOK_AGAIN: Duration = Duration::from_secs(1);
/// Processors of a machine that does not list them.
const MOST_PROCESSORS: u64 = 1 << 13;
/// Length of a tick: programs see 100 a second (proc_pid_stat(5)).
const TICK_NS: u64 = 10_000_000;

/// The processor time of a start, and since when it has been idle.
#[derive(Debug)]
pub(crate) struct Usage {
    /// None where this process is in its control groups, or another environment is.
    group: Option<OwnGroup>,
    /// Processes that do its work on this machine, as far as they show.
    pub workers: Processes,
    /// The process that was started.
    root: Option<(u32, u64)>,
    /// File with the processes of the group that was made for the start.
    list: Option<PathBuf>,
    /// Processes outside of the control group, and when they were found.
    found: Vec<Watched>,
    looked: Option<Instant>,
    /// Beginning of the stretch that is watched, and the processor time then.
    since: Option<(Instant, u64)>,
    /// Processors of the machine.
    processors: u64,
}

/// A process that is watched.
#[derive(Clone, Copy, Debug)]
struct Watched {
    pid: u32,
    started: u64,
    /// The children of an agent are trials, and their time comes when they have been waited for.
    is_agent: bool,
}

/// A control group that counts processor time.
#[derive(Debug)]
struct OwnGroup {
    folder: PathBuf,
    /// Its line in /proc/PID/cgroup.
    line: String,
}

impl OwnGroup {
    /// Finds the control group of a process in which this process is not.
    fn find(process: u32, hierarchies: &Hierarchies) -> Option<OwnGroup> {
        let folder_of =
            |line: &str| Some(OwnGroups::parse("", line, &hierarchies.0).list_mounted().next()?.0.to_owned());
        let own: Vec<PathBuf> = read("/proc/self/cgroup".as_ref())?.lines().filter_map(folder_of).collect();
        let text = read(format!("/proc/{process}/cgroup").as_ref())?;
        text.lines().find_map(|line| {
            let folder = folder_of(line)?;
            let is_apart =
                !own.iter().any(|own| own.starts_with(&folder)) && read_group_ns(&folder).is_some();
            is_apart.then(|| OwnGroup { folder, line: line.to_owned() })
        })
    }

    fn has_process(&self, pid: u32) -> bool {
        let text = read(format!("/proc/{pid}/cgroup").as_ref()).unwrap_or_default();
        let rest = text.lines().find_map(|line| line.strip_prefix(self.line.as_str()));
        rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
    }
}

impl Usage {
    /// Prepares to watch a start by processes of it, those that do its work first.
    pub fn new(
        workers: Processes,
        root: Option<(u32, u64)>,
        list: Option<PathBuf>,
        hierarchies: &Hierarchies,
    ) -> Usage {
        let group = workers.keys().next().and_then(|worker| OwnGroup::find(*worker, hierarchies));
        let processors =
            read("/sys/devices/system/cpu/online".as_ref()).and_then(|list| count_listed(list.trim()));
        let processors = processors.map_or(MOST_PROCESSORS, |count| count as u64);
        Usage { group, workers, root, list, found: Vec::new(), looked: None, since: None, processors }
    }

    /// Lists the processes whose control groups count for it: those that do its work or, where none of them shows, what its launcher left
    /// here. A kernel that a launcher starts is such a process, and so is the client of a machine far away: only what stops one of them
    /// is the environment's limit.
    pub fn list_counted(&self) -> Processes {
        match self.workers.is_empty() {
            true => {
                let living =
                    self.root.filter(|(pid, started)| processes::started_ticks(*pid) == Some(*started));
                find_descent(living.map(|(pid, _)| pid).into_iter().collect())
            }
            false => self.workers.clone(),
        }
    }

    /// Leaves control groups aside that two environments share: the trials of one are none of the other's.
    pub fn tell_apart(&mut self, other: &mut Usage) {
        if let (Some(own), Some(others)) = (&self.group, &other.group)
            && (own.folder.starts_with(&others.folder) || others.folder.starts_with(&own.folder))
        {
            (self.group, other.group) = (None, None);
            (other.looked, other.since) = (None, None);
        }
    }

    /// Begins to watch it, unless it is watched.
    pub fn begin_idle(&mut self, now: Instant) {
        if self.since.is_some() {
            return;
        }
        if self.looked.is_none_or(|looked| now - looked >= LOOK_AGAIN) {
            self.found = self.find_processes();
            self.looked = Some(now);
        }
        self.since = self.read_ns().map(|used_ns| (now, used_ns));
    }

    pub fn is_idle(&self) -> bool {
        self.since.is_some()
    }

    /// Ends watching it. Returns nothing that was watched where it was not.
    pub fn end_idle(&mut self, now: Instant) -> Idle {
        let Some((since, before_ns)) = self.since.take() else { return Idle::default() };
        let Some(now_ns) = self.read_ns() else { return Idle::default() };
        let watched_ns = (now - since).as_nanos() as u64;
        // A process that ended elsewhere takes its time along, and one that was waited for brings all of its own.
        let used_ns = now_ns.saturating_sub(before_ns).min(watched_ns.saturating_mul(self.processors));
        Idle { watched_ns, used_ns }
    }

    /// Reads its processor time so far; none where it has too many processes, or none that is seen.
    fn read_ns(&self) -> Option<u64> {
        let of_group_ns = match &self.group {
            Some(group) => read_group_ns(&group.folder)?,
            None if self.found.is_empty() => return None,
            None => 0,
        };
        let ticks = self.found.iter().filter_map(|Watched { pid, started, is_agent }| {
            let (begun, [own, children]) = processes::read_ticks(*pid)?;
            (begun == *started).then(|| if *is_agent { own } else { own.saturating_add(children) })
        });
        let outside_ns = ticks.fold(0, u64::saturating_add).saturating_mul(TICK_NS);
        (self.found.len() <= MOST_PROCESSES).then(|| of_group_ns.saturating_add(outside_ns))
    }

    /// Finds the living processes outside of the control group, of which it looks at one more than are watched.
    fn find_processes(&self) -> Vec<Watched> {
        let of_start = self.list.as_ref().and_then(|list| read(list)).unwrap_or_default();
        let listed = of_start.lines().filter_map(|pid| pid.parse().ok());
        let known = self.workers.iter().map(|(pid, started)| (*pid, *started)).chain(self.root);
        let living = known.filter(|(pid, started)| processes::started_ticks(*pid) == Some(*started));
        let mut seen = find_descent(living.map(|(pid, _)| pid).chain(listed).collect());
        seen.retain(|pid, _| self.group.as_ref().is_none_or(|group| !group.has_process(*pid)));
        seen.into_iter().map(|(pid, started)| Watched { pid, started, is_agent: is_agent(pid) }).collect()
    }
}

/// Finds living processes with their descendants, as far as the kernel lists children: of them one more than are watched.
pub(crate) fn find_descent(mut open: Vec<u32>) -> Processes {
    let mut seen = Processes::new();
    while let Some(pid) = open.pop().filter(|_| seen.len() <= MOST_PROCESSES) {
        if !seen.contains_key(&pid)
            && let Some(started) = processes::started_ticks(pid)
        {
            seen.insert(pid, started);
            open.extend(list_children(pid));
        }
    }
    seen
}

/// Reads the processor time of a control group of either version; none where it does not count it.
fn read_group_ns(folder: &Path) -> Option<u64> {
    let read = |file: &str, key: &str| -> Option<u64> {
        let text = fs::read_to_string(folder.join(file)).ok()?;
        text.lines().find_map(|line| line.strip_prefix(key))?.trim().parse().ok()
    };
    read("cpuacct.usage", "").or_else(|| Some(read("cpu.stat", "usage_usec ")?.saturating_mul(1_000)))
}

/// Lists the children of a process's threads, as far as the kernel lists them (CONFIG_PROC_CHILDREN).
fn list_children(pid: u32) -> Vec<u32> {
    let threads = fs::read_dir(format!("/proc/{pid}/task")).into_iter().flatten().flatten();
    let texts = threads.take(MOST_PROCESSES).filter_map(|thread| read(&thread.path().join("children")));
    texts
        .flat_map(|text| text.split_whitespace().filter_map(|pid| pid.parse().ok()).collect::<Vec<_>>())
        .collect()
}

#[cfg(test)]
mod tests {
    use std::process::Command;
    use std::thread;

    use super::*;
    use crate::host::processes::{Signs, die_with_parent};

    fn of_group(folder: &str) -> Usage {
        let group = OwnGroup { folder: folder.into(), line: String::new() };
        let usage = Usage::new(Processes::new(), None, None, &Hierarchies(Vec::new()));
        Usage { group: Some(group), ..usage }
    }

    #[test]
    fn a_helper_that_works_is_counted() {
        let mut command = Command::new("sh");
        die_with_parent(command.args(["-c", "(while :; do :; done) & exec sleep 600"]));
        let mut child = command.spawn().unwrap();
        let root = (child.id(), processes::started_ticks(child.id()).unwrap());
        let mut usage = Usage::new(Processes::new(), Some(root), None, &Hierarchies(Vec::new()));
        assert!(usage.list_counted().contains_key(&root.0), "no worker shows");
        let of_worker = Usage::new([(1, 0)].into(), Some(root), None, &Hierarchies(Vec::new()));
        assert_eq!(of_worker.list_counted(), [(1, 0)].into());
        assert_eq!(usage.end_idle(Instant::now()), Idle::default(), "it was not watched");
        let (mut idle, end) = (Idle::default(), Instant::now() + Duration::from_secs(60));
        while idle.used_ns == 0 && Instant::now() < end {
            usage.begin_idle(Instant::now());
            thread::sleep(Duration::from_millis(5));
            idle = idle.join(usage.end_idle(Instant::now()));
        }
        assert!(Signs::from_descent(child.id()).kill_processes().1.is_empty());
        child.wait().unwrap();
        assert!(idle.used_ns > 0, "{idle:?}");
        usage.begin_idle(Instant::now() + LOOK_AGAIN);
        assert!(!usage.is_idle(), "nothing of it is left");
    }

    #[test]
    fn a_group_that_two_environments_share_counts_for_neither() {
        for (folders, stay) in [(["/q", "/q/b"], false), (["/q", "/q"], false), (["/a", "/b"], true)] {
            let [mut first, mut second] = folders.map(of_group);
            second.tell_apart(&mut first);
            assert_eq!([first, second].map(|usage| usage.group.is_some()), [stay; 2], "{folders:?}");
        }
    }
}
