//! What tare measures, and the agent that runs it inside an environment.
//!
//! This crate needs nothing of the environment beyond the kernel's system calls: no /proc, no /tmp, no
//! dynamic library. What is missing becomes a named gap.

pub mod affinity;
pub mod agent;
pub mod applets;
pub mod buffer;
pub mod carried;
pub mod child;
pub mod facts;
pub mod files;
pub mod folder;
pub mod handover;
pub mod kept;
pub mod net;
pub mod netlink;
pub mod netperf;
pub mod noise;
pub mod output;
pub mod peer;
pub mod probe;
pub mod probes;
pub mod stopwatch;
pub mod syscall;
pub mod trial;
pub mod workloads;

pub use probe::Probe;
pub use probes::PROBES;

/// The probe of a name. Each command of the user's has a name of its own, and they are one probe.
pub fn find(name: &str) -> Option<&'static Probe> {
    let name = if name.starts_with(probes::USER) { probes::USER_COMMAND } else { name };
    PROBES.iter().copied().find(|probe| probe.name == name)
}
