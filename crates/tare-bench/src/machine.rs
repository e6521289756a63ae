//! The machine on which tare and tools ran, and staying on one of its processors.

use std::sync::OnceLock;

use rustix::thread::{CpuSet, sched_getaffinity, sched_setaffinity};

use crate::agent::Agent;
use crate::tool;

/// Describes the machine in one line: processor, kernel, file system.
pub fn describe_machine(agent: &Agent) -> String {
    let fact = |key: &str| agent.fact(key).unwrap_or_else(|| "unknown".into());
    let mut parts = vec![
        format!("{} processors of {}", fact("cpu.count"), fact("cpu.model")),
        format!("{} {}", fact("kernel.name"), fact("kernel.release")),
    ];
    parts.extend(agent.fact("cpu.hypervisor").map(|name| format!("under {name}")));
    parts.extend(agent.own_fact("file_system.type").map(|name| format!("files on {name}")));
    parts.join(", ")
}

/// Lists the versions of the tools that are installed.
pub fn list_tool_versions() -> String {
    let asked: [(&str, &[&str]); 6] = [
        ("sysbench", &["--version"]),
        ("fio", &["--version"]),
        ("dd", &["--version"]),
        ("netperf", &["-V"]),
        ("sockperf", &["--version"]),
        ("iperf3", &["--version"]),
    ];
    let versions = asked.iter().filter_map(|(name, question)| tool::read_version(name, question));
    // sockperf colours its version.
    versions.map(|version| plain(&version)).collect::<Vec<_>>().join(", ")
}

/// Removes the escapes that colour a text.
fn plain(text: &str) -> String {
    let mut pieces = text.split('\u{1b}');
    let first = pieces.next().unwrap_or_default().to_owned();
    pieces
        .fold(first, |all, piece| all + piece.split_once('m').map_or("", |(_, rest)| rest))
        .trim()
        .to_owned()
}

/// Formats the day before today, as `2026-01-31`.
pub fn format_yesterday() -> String {
    let yesterday = jiff::ZonedDateTime::now().yesterday();
    yesterday.map_or_else(|_| format_today(), |day| day.strftime("%Y-%m-%d").to_string())
}

/// Formats today, as `2026-01-31`.
pub fn format_today() -> String {
    jiff::ZonedDateTime::now().strftime("%Y-%m-%d").to_string()
}

/// This process, and its children, on one processor; dropped, it may run where it could before.
pub struct Pinned {
    before: CpuSet,
}

impl Pinned {
    /// Stays on the last processor that this program may run on: interrupts prefer the first.
    pub fn last_of_all() -> Result<Pinned, String> {
        Pinned::to(processors().last())
    }

    /// Stays on the first processor that this program may run on.
    pub fn first_of_all() -> Result<Pinned, String> {
        Pinned::to(processors().first())
    }

    fn to(processor: Option<&usize>) -> Result<Pinned, String> {
        let before = sched_getaffinity(None).map_err(|e| format!("reading the affinity: {e}"))?;
        let processor = processor.ok_or("no processor to run on")?;
        let mut one = CpuSet::new();
        one.set(*processor);
        sched_setaffinity(None, &one).map_err(|e| format!("staying on processor {processor}: {e}"))?;
        Ok(Pinned { before })
    }
}

/// Lists the processors that this program could run on when it was first asked, before it was pinned to any.
fn processors() -> &'static [usize] {
    static ALL: OnceLock<Vec<usize>> = OnceLock::new();
    ALL.get_or_init(list_allowed_processors)
}

/// Lists the processors that this thread may run on, in order.
pub fn list_allowed_processors() -> Vec<usize> {
    let set = sched_getaffinity(None).unwrap_or_else(|_| CpuSet::new());
    (0..CpuSet::MAX_CPU).filter(|&processor| set.is_set(processor)).collect()
}

impl Drop for Pinned {
    fn drop(&mut self) {
        let _ = sched_setaffinity(None, &self.before);
    }
}
