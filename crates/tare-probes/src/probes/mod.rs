//! Loops of all probes: a table from descriptions to loops, in which each system has what it can do.

use std::ffi::OsString;
use std::path::Path;

use tare_data::failure::Failure;
use tare_data::names::Case;

#[cfg(unix)]
use crate::carried::{applets, company, workloads};
#[cfg(unix)]
use crate::counting;
use crate::descriptions;
#[cfg(windows)]
use crate::harness::partner;
use crate::harness::trial::Trial;
use crate::missing::explain_missing_probe;
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
#[cfg(unix)]
mod work_lasting;

/// Counts the requests or events of an operation of a probe that may have many in each; none where its parameters cannot be read.
pub(crate) fn events_an_operation(case: &Case) -> Option<u64> {
    let count = match case.probe.as_str() {
        "cpu.primes" => cpu_primes::events_an_operation,
        "file.queue" => file_queue::requests_an_operation,
        _ => file_random::requests_an_operation,
    };
    count(&case.parameters)
}

/// Loop of a probe, which measures as a trial demands.
pub type Run = fn(&mut Trial<'_>) -> Result<(), Failure>;

/// Probes that every system can measure.
pub(crate) static EVERYWHERE: &[(&Probe, Run)] = &[
    (&descriptions::cpu_dhrystone::PROBE, cpu_dhrystone::measure_cpu_dhrystone),
    (&descriptions::cpu_primes::PROBE, cpu_primes::measure_cpu_primes),
    (&descriptions::cpu_whetstone::PROBE, cpu_whetstone::measure_cpu_whetstone),
    (&descriptions::file_copy::PROBE, file_copy::measure_file_copy),
    (&descriptions::file_queue::PROBE, file_queue::measure_file_queue),
    (&descriptions::file_meta::PROBE, file_meta::measure_file_meta),
    (&descriptions::file_random::PROBE, file_random::measure_file_random),
    (&descriptions::file_seq::PROBE, file_seq::measure_file_seq),
    (&descriptions::file_sync::PROBE, file_sync::measure_file_sync),
    (&descriptions::ipc_context::PROBE, ipc_context::measure_ipc_context),
    (&descriptions::ipc_pipe::PROBE, ipc_pipe::measure_ipc_pipe),
    (&descriptions::mem_copy::PROBE, mem_copy::measure_mem_copy),
    (&descriptions::mem_fault::PROBE, mem_fault::measure_mem_fault),
    (&descriptions::mem_latency::PROBE, mem_latency::measure_mem_latency),
    (&descriptions::mem_map::PROBE, mem_map::measure_mem_map),
    (&descriptions::null::PROBE, null::measure_null),
    (&descriptions::proc_start::PROBE, proc_start::measure_proc_start),
    (&descriptions::time_read::PROBE, time_read::measure_time_read),
    (&descriptions::time_spin::PROBE, time_spin::measure_time_spin),
    (&descriptions::time_wakeup::PROBE, time_wakeup::measure_time_wakeup),
];

#[cfg(unix)]
static HERE: &[(&Probe, Run)] = &[
    (&descriptions::demand_command::PROBE, demand_command::measure_demand_command),
    (&descriptions::ipc_futex::PROBE, ipc_futex::measure_ipc_futex),
    (&descriptions::ipc_unix::PROBE, ipc_unix::measure_ipc_unix),
    (&descriptions::net_connect::PROBE, net_connect::measure_net_connect),
    (&descriptions::net_hops::PROBE, net_hops::measure_net_hops),
    (&descriptions::net_rr::PROBE, net_rr::measure_net_rr),
    (&descriptions::net_stream::PROBE, net_stream::measure_net_stream),
    (&descriptions::proc_exec::PROBE, proc_exec::measure_proc_exec),
    (&descriptions::proc_fork_hold::PROBE, proc_fork_hold::measure_proc_fork_hold),
    (&descriptions::proc_shell::PROBE, proc_shell::measure_proc_shell),
    (&descriptions::proc_spawn::PROBE, proc_spawn::measure_proc_spawn),
    (&descriptions::proc_thread_hold::PROBE, proc_thread_hold::measure_proc_thread_hold),
    (&descriptions::sys_early::PROBE, sys_early::measure_sys_early),
    (&descriptions::sys_getppid::PROBE, sys_getppid::measure_sys_getppid),
    (&descriptions::sys_mix::PROBE, sys_mix::measure_sys_mix),
    (&descriptions::sys_operation::PROBE, sys_operation::measure_sys_operation),
    (&descriptions::user_command::PROBE, user_command::measure_user_command),
    (&descriptions::work_lasting::PROBE, work_lasting::measure_work_lasting),
];

/// Probes that Windows measures by loops of its own.
#[cfg(windows)]
static HERE: &[(&Probe, Run)] = &[
    (&descriptions::net_connect::PROBE, net::near::measure_net_connect),
    (&descriptions::net_rr::PROBE, net::near::measure_net_rr),
    (&descriptions::net_stream::PROBE, net::near::measure_net_stream),
];

/// Finds the loop of a probe, or the reason why it is not measured here.
pub fn run_of(name: &str) -> Result<Run, String> {
    let probe = crate::find_probe(name).ok_or("this agent has no such probe")?;
    let all = EVERYWHERE.iter().chain(HERE);
    let found = all.into_iter().find(|(known, _)| known.name == probe.name);
    found.map(|(_, run)| *run).ok_or_else(|| explain_missing_probe(probe.name).to_owned())
}

/// Runs a subcommand with which a probe starts this program, and returns its exit code.
#[cfg_attr(windows, expect(unused_variables, reason = "none is started by its path there"))]
pub fn run_subcommand(program: &Path, verb: &str, rest: &[OsString]) -> Option<i32> {
    match verb {
        proc_start::END => Some(0),
        #[cfg(unix)]
        applets::APPLET => Some(applets::run_applet(program, rest)),
        #[cfg(unix)]
        workloads::WORK => Some(workloads::run_workload(program, rest)),
        #[cfg(unix)]
        company::COMPANY => Some(company::run_copies(program, rest)),
        #[cfg(unix)]
        company::NEIGHBOUR => Some(company::keep_busy(program, rest)),
        #[cfg(unix)]
        proc_exec::EXEC => Some(proc_exec::run_chain_link(program, rest)),
        #[cfg(unix)]
        sys_early::EARLY => Some(sys_early::run_early_program(rest)),
        #[cfg(unix)]
        counting::COUNT => Some(counting::count_program(rest)),
        #[cfg(windows)]
        partner::PARTNER => Some(partner::run_partner(rest)),
        #[cfg(windows)]
        net::FAR => Some(net::far::run_far_end(rest)),
        _ => None,
    }
}

#[cfg(test)]
pub(crate) mod tests;
