//! The list of probes, in the order in which a table shows them.

use std::ffi::OsString;
use std::path::Path;

use crate::probe::Probe;

mod cpu_primes;
mod file_meta;
mod file_seq;
mod file_sync;
mod ipc_context;
mod ipc_pipe;
mod mem_fault;
mod net_rr;
mod null;
mod proc_exec;
mod proc_spawn;
mod sys_getppid;
mod time_read;

pub(crate) use time_read::smallest_step_ns;

/// Every probe. A test compares this list with the folder.
pub static PROBES: &[&Probe] = &[
    &sys_getppid::PROBE,
    &proc_spawn::PROBE,
    &proc_exec::PROBE,
    &ipc_pipe::PROBE,
    &ipc_context::PROBE,
    &cpu_primes::PROBE,
    &mem_fault::PROBE,
    &time_read::PROBE,
    &file_seq::PROBE,
    &file_sync::PROBE,
    &file_meta::PROBE,
    &net_rr::PROBE,
    &null::PROBE,
];

/// Does what a subcommand asks that a probe starts this program with, and gives the exit code.
pub fn answer(program: &Path, verb: &str, rest: &[OsString]) -> Option<i32> {
    match verb {
        proc_exec::EXEC => Some(proc_exec::next(program, rest)),
        _ => None,
    }
}

#[cfg(test)]
pub(crate) mod tests;
