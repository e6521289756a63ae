//! `time.read`: reading the monotonic clock: the cost of a timestamp, and its resolution.
//!
//! The clock is read as programs read it: through the vDSO where the kernel gives one, else by a system call.
//! clock_gettime(2), vdso(7).

use crate::probe::describing::*;

pub static PROBE: Probe = Probe {
    name: "time.read",
    title: "clock read",
    summary: "One read of the monotonic clock, and the smallest step by which it advances.",
    timed: "a loop of clock reads",
    not_timed: "the search for the smallest step",
    distorted_by: "the clock source: the TSC is read in the program, others by a system call or an exit to the host",
    parameters: &[],
    metrics: &[
        time_metric("time", "read"),
        gauge_metric("step", "step", Unit::Nanoseconds),
        first_call_metric("read"),
    ],
    family: Family::Processor,
    alternates: |_| Alternates::OneProcessor,
    revision: 1,
    label: |_| "clock read".into(),
};
