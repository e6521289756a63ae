//! `sys.mix`: five cheap system calls in turn, as UnixBench's system call overhead makes them.
//!
//! A turn is close(dup(fd)) on a pipe of its own, getpid, getuid and umask: five calls, none answered by a
//! library. dup(2), close(2), getpid(2), getuid(2), umask(2).

use crate::probe::describing::*;

/// Calls a turn.
pub(crate) const CALLS_A_TURN: u64 = 5;

pub static PROBE: Probe = Probe {
    name: "sys.mix",
    title: "system call mix",
    summary: "dup, close, getpid, getuid and umask in turn: five cheap system calls that no library caches.",
    timed: "a loop of the five calls, without a clock read between them",
    not_timed: "creating the pipe; the first umask",
    distorted_by: "seccomp filters, ptrace, audit rules, mitigations",
    parameters: &[],
    metrics: &[time_metric("time", "call"), per_second("turns", "turn"), first_call_metric("turn")],
    family: Family::Kernel,
    alternates: |_| Alternates::OneProcessor,
    revision: 2,
    label: |_| "system call mix".into(),
};
