//! `demand.command`: the requests of a command to the system, counted and not timed.
//!
//! The command runs once as it is, for the kernel's own accounting (faults, waits, processor time), once
//! under a tracer, which stops it at every system call and classifies each, and, as root, once with
//! tracepoints, which show how long it computes between calls. ptrace(2), getrusage(2), bpf(2).

use tare_data::session::demand::{Demand, Work};

use super::user_command::PARAMETERS;
use crate::probe::describing::*;

/// The name of the probe.
pub const DEMAND_COMMAND: &str = "demand.command";

/// Series in addition to the kinds of work.
pub(crate) const CALLS: &str = "calls";
pub(crate) const SLOWDOWN: &str = "slowdown";
pub(crate) const WATCHED_SLOWDOWN: &str = "watched_slowdown";

pub static PROBE: Probe = Probe {
    name: DEMAND_COMMAND,
    title: "a command's demand",
    summary: "The requests of a command to the system: calls, paths, bytes, pages, processes. Counted, not timed.",
    timed: "nothing",
    not_timed: "all of it: the command runs once as it is, once under a tracer, and as root once by tracepoints",
    distorted_by: "time-outs of the command: a counted run is slower, and may do other work",
    parameters: PARAMETERS,
    metrics: &METRICS,
    family: Family::Command,
    alternates: |_| Alternates::Alone("it counts, and times nothing"),
    revision: 4,
    label: |_| "demand".into(),
};

/// Calls in all, the slowdowns of counting, and each kind of work.
static METRICS: [MetricDescription; Work::ALL.len() + 3] = {
    let mut metrics = [const { gauge_metric(CALLS, CALLS, Unit::Count) }; Work::ALL.len() + 3];
    metrics[1] = gauge_metric(SLOWDOWN, SLOWDOWN, Unit::Count);
    metrics[2] = gauge_metric(WATCHED_SLOWDOWN, WATCHED_SLOWDOWN, Unit::Count);
    let mut i = 0;
    while i < Work::ALL.len() {
        let name = Work::ALL[i].name();
        metrics[i + 3] = gauge_metric(name, name, Unit::Count);
        i += 1;
    }
    metrics
};

/// Adds up the demand in the batches of a trial.
pub fn demand_of<'a>(gauges: impl Iterator<Item = (&'a str, f64)>) -> Demand {
    let mut demand = Demand::default();
    for (series, value) in gauges {
        match series {
            CALLS => demand.calls = value,
            SLOWDOWN => demand.slowdown = value,
            WATCHED_SLOWDOWN => demand.watched_slowdown = value,
            _ => {
                if let Some(work) = Work::ALL.iter().find(|work| work.name() == series) {
                    demand.add(*work, value);
                }
            }
        }
    }
    demand.amounts.retain(|_, amount| *amount > 0.0);
    demand
}
