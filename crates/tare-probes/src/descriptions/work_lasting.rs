//! `work.lasting`: a stretch of work without a pause, all of it in all its time, whatever stops it.
//!
//! Every session that compares and lasts for half a minute measures it beside its cases. The work comes in slices of some 0.1 ms: short
//! against a stop by a limit of processor time, or by another process, so that most slices have none.

use crate::probe::describing::*;

/// Name of the probe.
pub const WORK_LASTING: &str = "work.lasting";
/// Series of all slices together, and of one that nothing stopped.
pub const ALL_SLICES: &str = "slice";
pub const QUICK_SLICE: &str = "quick";

pub static PROBE: Probe = Probe {
    name: WORK_LASTING,
    title: "work that lasts",
    summary: "Slices of work without a pause: all of them in all their time, and one that nothing stopped.",
    timed: "every slice, for whole periods of a limit, with one clock read after each",
    not_timed: "slices before, which use up what a limit has saved; the start of threads",
    distorted_by: "everything that it is there to see: limits of processor time, helpers, neighbours, priorities",
    parameters: &[
        Parameter::from_one_value("work", "arithmetic", "arithmetic: primes; calls: system calls and a fork"),
        Parameter::from_one_value("threads", "1", "threads that work at the same time, each by itself"),
        Parameter::from_one_value("before_ms", "200", "time of work that is not counted"),
        Parameter::from_one_value("counted_ms", "300", "time of work that is counted"),
    ],
    metrics: &[time_metric("time", ALL_SLICES), gauge_metric("quick", QUICK_SLICE, Unit::Nanoseconds)],
    family: Family::Processor,
    alternates: |_| Alternates::Alone("it lasts"),
    revision: 1,
    label: |_| "work that lasts".into(),
};
