//! `time.wakeup`: sleeping until a given time: how late the program is woken.
//!
//! The lateness holds the timer's own slack (50 us by default for ordinary programs), the interrupt, the
//! wait for a virtual processor to be scheduled, and the scheduler inside. clock_nanosleep(2), prctl(2).

use crate::probe::describing::*;

pub static PROBE: Probe = Probe {
    name: "time.wakeup",
    title: "timer wake-up latency",
    summary: "Sleep until an absolute time, repeatedly: how late the program resumes.",
    timed: "from the requested time to the first clock read after the sleep",
    not_timed: "the sleep itself",
    distorted_by: "timer slack; power saving of idle processors; a host that runs other virtual machines",
    parameters: &[Parameter::from_values(
        "interval_us",
        ["200", "1000"],
        "microseconds from one wake-up to the next",
    )],
    metrics: &[
        quantile_metric("p50", "late", 0.5),
        quantile_metric("p99", "late", 0.99),
        nanoseconds_metric("mean", "late", Reading::Mean),
        nanoseconds_metric("max", "late", Reading::Maximum),
    ],
    family: Family::Kernel,
    alternates: |_| Alternates::Anywhere,
    revision: 1,
    label: |_| "timer wake-up latency".into(),
};
