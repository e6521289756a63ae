//! Loops of all probes: a table from descriptions to loops, in which each system has what it can do.

use std::ffi::OsString;
use std::path::Path;

use tare_data::failure::Failure;

#[cfg(unix)]
use crate::carried::{applets, company, workloads};
#[cfg(unix)]
use crate::counting;
use crate::descriptions;
#[cfg(windows)]
use crate::harness::partner;
use crate::harness::trial::Trial;
use crate::missing::reason;
#[cfg(windows)]
use crate::net::windows as net;
use crate::probe::Probe;

mod cpu_dhrystone;
mod cpu_primes;
mod cpu_whetstone;
#[cfg(unix)]
mod demand_command;
mod file_copy;
mod file_meta;
mod file_queue;
mod file_random;
mod file_seq;
mod file_sync;
mod ipc_context;
#[cfg(unix)]
mod ipc_futex;
mod ipc_pipe;
#[cfg(unix)]
mod ipc_unix;
mod mem_copy;
mod mem_fault;
mod mem_latency;
mod mem_map;
#[cfg(unix)]
mod net_connect;
#[cfg(unix)]
mod net_hops;
#[cfg(unix)]
mod net_rr;
#[cfg(unix)]
mod net_stream;
mod null;
#[cfg(unix)]
mod proc_exec;
#[cfg(unix)]
mod proc_fork_hold;
#[cfg(unix)]
mod proc_shell;
#[cfg(unix)]
mod proc_spawn;
mod proc_start;
#[cfg(unix)]
mod proc_thread_hold;
#[cfg(unix)]
mod sys_early;
#[cfg(unix)]
mod sys_getppid;
#[cfg(unix)]
mod sys_mix;
#[cfg(unix)]
mod sys_operation;
mod time_read;
mod time_spin;
mod time_wakeup;
#[cfg(unix)]
mod user_command;

pub(crate) use file_queue::requests_an_operation;

/// Loop of a probe, which measures as a trial demands.
pub type Run = fn(&mut Trial<'_>) -> Result<(), Failure>;

/// Probes that every system can measure.
pub(crate) static EVERYWHERE: &[(&Probe, Run)] = &[
    (&descriptions::cpu_dhrystone::PROBE, cpu_dhrystone::run),
    (&descriptions::cpu_primes::PROBE, cpu_primes::run),
    (&descriptions::cpu_whetstone::PROBE, cpu_whetstone::run),
    (&descriptions::file_copy::PROBE, file_copy::run),
    (&descriptions::file_queue::PROBE, file_queue::run),
    (&descriptions::file_meta::PROBE, file_meta::run),
    (&descriptions::file_random::PROBE, file_random::run),
    (&descriptions::file_seq::PROBE, file_seq::run),
    (&descriptions::file_sync::PROBE, file_sync::run),
    (&descriptions::ipc_context::PROBE, ipc_context::run),
    (&descriptions::ipc_pipe::PROBE, ipc_pipe::run),
    (&descriptions::mem_copy::PROBE, mem_copy::run),
    (&descriptions::mem_fault::PROBE, mem_fault::run),
    (&descriptions::mem_latency::PROBE, mem_latency::run),
    (&descriptions::mem_map::PROBE, mem_map::run),
    (&descriptions::null::PROBE, null::run),
    (&descriptions::proc_start::PROBE, proc_start::run),
    (&descriptions::time_read::PROBE, time_read::run),
    (&descriptions::time_spin::PROBE, time_spin::run),
    (&descriptions::time_wakeup::PROBE, time_wakeup::run),
];

#[cfg(unix)]
static HERE: &[(&Probe, Run)] = &[
    (&descriptions::demand_command::PROBE, demand_command::run),
    (&descriptions::ipc_futex::PROBE, ipc_futex::run),
    (&descriptions::ipc_unix::PROBE, ipc_unix::run),
    (&descriptions::net_connect::PROBE, net_connect::run),
    (&descriptions::net_hops::PROBE, net_hops::run),
    (&descriptions::net_rr::PROBE, net_rr::run),
    (&descriptions::net_stream::PROBE, net_stream::run),
    (&descriptions::proc_exec::PROBE, proc_exec::run),
    (&descriptions::proc_fork_hold::PROBE, proc_fork_hold::run),
    (&descriptions::proc_shell::PROBE, proc_shell::run),
    (&descriptions::proc_spawn::PROBE, proc_spawn::run),
    (&descriptions::proc_thread_hold::PROBE, proc_thread_hold::run),
    (&descriptions::sys_early::PROBE, sys_early::run),
    (&descriptions::sys_getppid::PROBE, sys_getppid::run),
    (&descriptions::sys_mix::PROBE, sys_mix::run),
    (&descriptions::sys_operation::PROBE, sys_operation::run),
    (&descriptions::user_command::PROBE, user_command::run),
];

/// Probes that Windows measures by loops of its own.
#[cfg(windows)]
static HERE: &[(&Probe, Run)] = &[
    (&descriptions::net_connect::PROBE, net::near::connections),
    (&descriptions::net_rr::PROBE, net::near::rounds),
    (&descriptions::net_stream::PROBE, net::near::stream),
];

/// Finds the loop of a probe, or the reason why it is not measured here.
pub fn run_of(name: &str) -> Result<Run, String> {
    let probe = crate::find(name).ok_or("this agent has no such probe")?;
    let all = EVERYWHERE.iter().chain(HERE);
    let found = all.into_iter().find(|(known, _)| known.name == probe.name);
    found.map(|(_, run)| *run).ok_or_else(|| reason(probe.name).to_owned())
}

/// Runs a subcommand with which a probe starts this program, and gives its exit code.
#[cfg_attr(windows, expect(unused_variables, reason = "none is started by its path there"))]
pub fn run_subcommand(program: &Path, verb: &str, rest: &[OsString]) -> Option<i32> {
    match verb {
        proc_start::END => Some(0),
        #[cfg(unix)]
        applets::APPLET => Some(applets::run(program, rest)),
        #[cfg(unix)]
        workloads::WORK => Some(workloads::run(program, rest)),
        #[cfg(unix)]
        company::COMPANY => Some(company::answer(program, rest)),
        #[cfg(unix)]
        company::NEIGHBOUR => Some(company::keep_busy(program, rest)),
        #[cfg(unix)]
        proc_exec::EXEC => Some(proc_exec::next(program, rest)),
        #[cfg(unix)]
        sys_early::EARLY => Some(sys_early::program(rest)),
        #[cfg(unix)]
        counting::COUNT => Some(counting::answer(rest)),
        #[cfg(windows)]
        partner::PARTNER => Some(partner::answer(rest)),
        #[cfg(windows)]
        net::FAR => Some(net::far::answer(rest)),
        _ => None,
    }
}

#[cfg(test)]
pub(crate) mod tests;
