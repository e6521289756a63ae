//! `time.spin`: a thread that only reads the clock; the time that something else took from it.
//!
//! A gap between two reads that is far longer than a read is time in which the thread did not run: an
//! interrupt, another program, the host. The operating system inside a virtual machine does not see what the
//! host takes; this does.

use crate::probe::describing::*;

pub static PROBE: Probe = Probe {
    name: "time.spin",
    title: "longest interruption",
    summary: "A thread spins on the clock: the longest gap between two reads, and the share of time in which it did not run.",
    timed: "every difference between two consecutive clock reads",
    not_timed: "nothing",
    distorted_by: "nothing: distortion is what this measures",
    parameters: &[Parameter::from_values(
        "ms",
        ["40", "1000"],
        "milliseconds to spin: a fixed time, since interruptions come by the clock",
    )],
    metrics: &[
        gauge_metric("longest", "longest", Unit::Nanoseconds),
        gauge_metric("stolen", "stolen", Unit::Percent),
        time_metric("read", "read"),
    ],
    family: Family::Processor,
    alternates: |_| Alternates::Alone("it works for a fixed time, or a fixed amount"),
    revision: 2,
    label: |_| "longest interruption".into(),
};
