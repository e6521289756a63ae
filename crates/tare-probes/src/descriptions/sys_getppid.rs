//! `sys.getppid`: one raw system call that does next to nothing: the cost of crossing into the kernel.
//!
//! getppid is used because no library caches it and every kernel, real or translated, has to look it up.
//! See getppid(2).

use crate::probe::describing::*;

pub static PROBE: Probe = Probe {
    name: "sys.getppid",
    title: "system call",
    summary: "One raw getppid call: the cost of entering and leaving the kernel, or whatever stands in for it.",
    timed: "a loop of getppid calls, without a clock read between them",
    not_timed: "the clock reads around the loop",
    distorted_by: "seccomp filters, ptrace, audit rules, mitigations (page-table isolation)",
    parameters: &[],
    metrics: &[time_metric("time", "call"), first_call_metric("call")],
    family: Family::Kernel,
    alternates: |_| Alternates::OneProcessor,
    revision: 2,
    label: |_| "system call".into(),
};
