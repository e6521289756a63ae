//! The machine on which tare and tools ran, and staying on one of its processors.

use rustix::thread::{CpuSet, sched_getaffinity, sched_setaffinity};

use crate::agent::Agent;
use crate::tool;

/// What a figure depends on, in one line: processor, kernel, file system.
pub fn line(agent: &Agent<'_>) -> String {
    let fact = |key: &str| agent.fact(key).unwrap_or_else(|| "unknown".into());
    let mut parts = vec![
        format!("{} processors of {}", fact("cpu.count"), fact("cpu.model")),
        format!("{} {}", fact("kernel.name"), fact("kernel.release")),
    ];
    parts.extend(agent.fact("cpu.hypervisor").map(|name| format!("under {name}")));
    parts.extend(agent.own_fact("file_system.type").map(|name| format!("files on {name}")));
    parts.join(", ")
}

/// The versions of the tools that are there.
pub fn tools() -> String {
    let asked: [(&str, &[&str]); 4] =
        [("sysbench", &["--version"]), ("fio", &["--version"]), ("dd", &["--version"]), ("netperf", &["-V"])];
    let versions = asked.iter().filter_map(|(name, question)| tool::version(name, question));
    versions.collect::<Vec<_>>().join(", ")
}

/// Today, as `2026-01-31`.
pub fn today() -> String {
    jiff::Zoned::now().strftime("%Y-%m-%d").to_string()
}

/// This process, and what it starts, on one processor; dropped, it may run where it could before.
pub struct Pinned {
    before: CpuSet,
}

impl Pinned {
    /// Stays on the last processor that this process may run on: interrupts prefer the first.
    pub fn here() -> Result<Pinned, String> {
        let before = sched_getaffinity(None).map_err(|e| format!("reading the affinity: {e}"))?;
        let last = tare_probes::affinity::allowed().pop().ok_or("no processor to run on")?;
        tare_probes::affinity::pin(last).map_err(|failure| failure.to_string())?;
        Ok(Pinned { before })
    }
}

impl Drop for Pinned {
    fn drop(&mut self) {
        let _ = sched_setaffinity(None, &self.before);
    }
}
