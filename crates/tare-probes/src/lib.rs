//! Probes, and the agent that runs it inside an environment.
//!
//! This crate needs nothing of the environment beyond the kernel's system calls: no /proc, no /tmp, no
//! dynamic library. What is missing becomes a named gap.

// A file that needs it says so in its first lines, and why.
#![deny(unsafe_code)]
#![cfg_attr(not(test), warn(clippy::unwrap_used, clippy::print_stdout))]
#![cfg_attr(test, allow(clippy::disallowed_methods))]

pub mod agent;

pub mod carried;
#[cfg(unix)]
mod counting;
mod counts;

pub mod descriptions;

pub mod facts;
#[cfg(unix)]
mod far_end;
mod file_loops;
pub mod harness;
#[cfg(unix)]
pub mod here;
mod missing;

pub mod net;
#[cfg(unix)]
pub mod netlink;
#[cfg(unix)]
pub mod netperf;

#[cfg(unix)]
mod operations;

#[cfg(unix)]
pub mod peer;
mod platform;
pub mod probe;
pub mod probes;
pub mod signs;
mod starting;
pub mod tiny;
mod variables;

#[cfg(unix)]
pub use counting::request_of_tracer;
pub use counts::Count;
pub use descriptions::PROBES;
#[cfg(windows)]
pub use platform::Job;
pub use probe::Probe;

/// Finds a probe by name. Each user command has a name of its own, and all of them are one probe.
pub fn find_probe(name: &str) -> Option<&'static Probe> {
    let name = if name.starts_with(descriptions::USER) { descriptions::USER_COMMAND } else { name };
    PROBES.iter().copied().find(|probe| probe.name == name)
}
