//! Descriptions of all probes, known to every build on every system. The list has the order of a table.

use crate::probe::Probe;

pub(crate) mod cpu_dhrystone;
pub(crate) mod cpu_primes;
pub(crate) mod cpu_whetstone;
pub(crate) mod demand_command;
pub(crate) mod file_copy;
pub(crate) mod file_meta;
pub(crate) mod file_queue;
pub(crate) mod file_random;
pub(crate) mod file_seq;
pub(crate) mod file_sync;
pub(crate) mod ipc_context;
pub(crate) mod ipc_futex;
pub(crate) mod ipc_pipe;
pub(crate) mod ipc_unix;
pub(crate) mod mem_copy;
pub(crate) mod mem_fault;
pub(crate) mod mem_latency;
pub(crate) mod mem_map;
pub(crate) mod net_connect;
pub(crate) mod net_hops;
pub(crate) mod net_rr;
pub(crate) mod net_stream;
pub(crate) mod null;
pub(crate) mod proc_exec;
pub(crate) mod proc_fork_hold;
pub(crate) mod proc_shell;
pub(crate) mod proc_spawn;
pub(crate) mod proc_start;
pub(crate) mod proc_thread_hold;
pub(crate) mod sys_early;
pub(crate) mod sys_getppid;
pub(crate) mod sys_mix;
pub(crate) mod sys_operation;
pub(crate) mod time_read;
pub(crate) mod time_spin;
pub(crate) mod time_wakeup;
pub(crate) mod user_command;
pub(crate) mod work_lasting;

pub use demand_command::{DEMAND_COMMAND, demand_of};
pub use user_command::{LONGEST_TIMEOUT_S, USER, USER_COMMAND, is_name, run_limit_s};
pub use work_lasting::{ALL_SLICES, QUICK_SLICE, WORK_LASTING};

/// Every probe. A test compares this list with the folder.
pub static PROBES: &[&Probe] = &[
    &sys_getppid::PROBE,
    &sys_mix::PROBE,
    &sys_operation::PROBE,
    &sys_early::PROBE,
    &proc_spawn::PROBE,
    &proc_exec::PROBE,
    &proc_start::PROBE,
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
    &work_lasting::PROBE,
    &null::PROBE,
];
