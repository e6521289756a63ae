//! The list of probes, in the order in which a table shows them.

use std::ffi::OsString;
use std::path::Path;

use crate::carried::applets;
use crate::carried::workloads;
use crate::counting;
use crate::probe::Probe;

mod cpu_dhrystone;
mod cpu_primes;
mod cpu_whetstone;
mod demand_command;
mod file_copy;
mod file_meta;
mod file_queue;
mod file_random;
mod file_seq;
mod file_sync;
mod ipc_context;
mod ipc_futex;
mod ipc_pipe;
mod ipc_unix;
mod mem_copy;
mod mem_fault;
mod mem_latency;
mod mem_map;
mod net_connect;
mod net_hops;
mod net_rr;
mod net_stream;
mod null;
mod proc_exec;
mod proc_fork_hold;
mod proc_shell;
mod proc_spawn;
mod proc_thread_hold;
mod sys_early;
mod sys_getppid;
mod sys_mix;
mod sys_operation;
mod time_read;
mod time_spin;
mod time_wakeup;
mod user_command;

pub(crate) use cpu_whetstone::MILLIONS_A_PASS;
pub use demand_command::{DEMAND_COMMAND, demand_of};
pub(crate) use file_queue::requests_an_operation;
pub(crate) use sys_mix::CALLS_A_TURN;
pub use user_command::{LONGEST_TIMEOUT_S, USER, USER_COMMAND, is_name};

/// Every probe. A test compares this list with the folder.
pub static PROBES: &[&Probe] = &[
    &sys_getppid::PROBE,
    &sys_mix::PROBE,
    &sys_operation::PROBE,
    &sys_early::PROBE,
    &proc_spawn::PROBE,
    &proc_exec::PROBE,
    &proc_shell::PROBE,
    &proc_fork_hold::PROBE,
    &proc_thread_hold::PROBE,
    &ipc_pipe::PROBE,
    &ipc_context::PROBE,
    &ipc_unix::PROBE,
    &ipc_futex::PROBE,
    &cpu_primes::PROBE,
    &cpu_dhrystone::PROBE,
    &cpu_whetstone::PROBE,
    &mem_fault::PROBE,
    &mem_map::PROBE,
    &mem_copy::PROBE,
    &mem_latency::PROBE,
    &time_read::PROBE,
    &time_wakeup::PROBE,
    &time_spin::PROBE,
    &file_seq::PROBE,
    &file_copy::PROBE,
    &file_random::PROBE,
    &file_queue::PROBE,
    &file_sync::PROBE,
    &file_meta::PROBE,
    &net_rr::PROBE,
    &net_connect::PROBE,
    &net_stream::PROBE,
    &net_hops::PROBE,
    &user_command::PROBE,
    &demand_command::PROBE,
    &null::PROBE,
];

/// Runs a subcommand with which a probe starts this program, and gives its exit code.
pub fn run_subcommand(program: &Path, verb: &str, rest: &[OsString]) -> Option<i32> {
    match verb {
        applets::APPLET => Some(applets::run(program, rest)),
        workloads::WORK => Some(workloads::run(program, rest)),
        proc_exec::EXEC => Some(proc_exec::next(program, rest)),
        sys_early::EARLY => Some(sys_early::program(rest)),
        counting::COUNT => Some(counting::answer(rest)),
        _ => None,
    }
}

#[cfg(test)]
pub(crate) mod tests;
