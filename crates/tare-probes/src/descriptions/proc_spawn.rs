//! `proc.spawn`: fork, the child exits at once, the parent waits: the cost of a process.
//!
//! UnixBench's process creation and lmbench's fork time the same three calls. fork(2), _exit(2), wait4(2).

use crate::probe::describing::*;

pub static PROBE: Probe = Probe {
    name: "proc.spawn",
    title: "fork + wait",
    summary: "fork() of a small process whose child exits at once, until wait() returns.",
    timed: "fork in the parent, _exit in the child, wait in the parent; one clock read before and after each",
    not_timed: "recording the time in the histogram",
    distorted_by: "memory that the process has mapped (here little); where the scheduler places the child; ptrace",
    parameters: &[],
    metrics: &[
        time_metric("time", "process"),
        quantile_metric("p50", "process", 0.5),
        quantile_metric("p99", "process", 0.99),
        per_second("rate", "process"),
        first_call_metric("process"),
    ],
    family: Family::Kernel,
    alternates: |_| Alternates::OneProcessor,
    revision: 1,
    label: |_| "fork + wait".into(),
};
