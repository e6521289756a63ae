//! Counts and limits of processes by their control groups, as this machine has them: whatever an environment shows of its own.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io::Read;
use std::path::{Path, PathBuf};

use tare_data::facts::Facts;
use tare_data::facts::keys::{CPU_ALLOWED, CPU_ONLINE};
use tare_data::session::limits::GroupCounts;
use tare_probes::agent::AGENT;
use tare_probes::agent::launched::LAUNCHED;
use tare_probes::facts::control_groups::{self, count_listed};
use tare_probes::facts::{inherited, network};

use crate::host::mounts::{self, Mount};
use crate::host::network_namespace::run_in_namespace;
use crate::host::processes;

/// Bytes of a file of the kernel that are read.
const MOST_BYTES: u64 = 64 << 10;
/// Processes of an environment whose groups are looked at.
const MOST_PROCESSES: usize = 64;

/// The hierarchies of control groups that are mounted here.
#[derive(Debug)]
pub(crate) struct Hierarchies(pub(super) Vec<Mount>);

/// Processes by number and start time.
pub(crate) type Processes = BTreeMap<u32, u64>;

impl Hierarchies {
    pub fn find() -> Hierarchies {
        let mut mounts = mounts::list_mounts().unwrap_or_default();
        mounts.retain(|mount| mount.filesystem.starts_with("cgroup"));
        Hierarchies(mounts)
    }

    /// Reads the counts of the control groups of processes, each group once; None where they cannot be read.
    pub fn read_counts(&self, processes: &Processes) -> Option<Vec<GroupCounts>> {
        let mut all: BTreeMap<String, GroupCounts> = BTreeMap::new();
        let mut texts: Vec<String> =
            list_folders(processes).filter_map(|of| read(&of.join("cgroup"))).collect();
        texts.sort();
        texts.dedup();
        for text in &texts {
            let counts = control_groups::read_counts(text, &self.0, &read_path)?;
            all.extend(counts.into_iter().map(|counts| (counts.group.clone(), counts)));
        }
        (!texts.is_empty()).then(|| all.into_values().collect())
    }

    /// Counts the processes that limits of this process's groups killed, and those that they refused.
    pub fn read_refusals(&self) -> [u64; 2] {
        let text = read_path("/proc/self/cgroup").unwrap_or_default();
        control_groups::read_refusals(&text, &self.0, &read_path)
    }

    /// Notes the limits of processes and the packet filters that they pass: those of one where there are several.
    pub fn note_outside(&self, processes: &Processes) -> Facts {
        let mut facts = Facts::default();
        let Some(process) = list_folders(processes).next() else { return facts };
        note_filters(&process, &mut facts);
        control_groups::note_all(&process, &self.0, &read_path, &mut facts);
        inherited::note_process(&process.to_string_lossy(), &read_path, &mut facts);
        let status = read(&process.join("status")).unwrap_or_default();
        let listed = status.lines().find_map(|line| line.strip_prefix("Cpus_allowed_list:"));
        let allowed = listed.and_then(|list| count_listed(list.trim()));
        let online =
            read("/sys/devices/system/cpu/online".as_ref()).and_then(|list| count_listed(list.trim()));
        for (key, count) in [(CPU_ALLOWED, allowed), (CPU_ONLINE, online)] {
            facts.add_fact(key, count.map(|count| count.to_string()).unwrap_or_default());
        }
        facts
    }
}

/// Notes the packet filters in the network namespace of a process, where this process may enter it.
fn note_filters(process: &Path, facts: &mut Facts) {
    let found = run_in_namespace(&process.join("ns/net"), || {
        let mut found = Facts::default();
        network::note_filters(&mut found);
        Ok(found)
    });
    found.into_iter().flat_map(|found| found.0).for_each(|(key, value)| facts.add_fact(key, value));
}

/// Lists the folders in procfs of processes that still live.
fn list_folders(processes: &Processes) -> impl Iterator<Item = PathBuf> {
    let living = processes.iter().filter(|(pid, started)| processes::started_ticks(**pid) == Some(**started));
    living.take(MOST_PROCESSES).map(|(pid, _)| format!("/proc/{pid}").into())
}

/// Tells whether a process is an agent, by the word that follows its program.
pub(crate) fn is_agent(pid: u32) -> bool {
    let words = fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
    let second = words.split(|byte| *byte == 0).nth(1).unwrap_or_default();
    [AGENT, LAUNCHED].iter().any(|word| second == word.as_bytes())
}

fn read_path(path: &str) -> Option<String> {
    read(path.as_ref())
}

pub(super) fn read(path: &Path) -> Option<String> {
    let mut text = String::new();
    File::open(path).ok()?.take(MOST_BYTES).read_to_string(&mut text).ok()?;
    Some(text)
}
