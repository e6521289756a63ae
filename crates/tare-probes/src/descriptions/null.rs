//! `null`: nothing at all, timed: the cost of the harness itself.

use crate::probe::describing::*;

pub static PROBE: Probe = Probe {
    name: "null",
    title: "empty loop (harness)",
    summary: "An empty loop, timed like every other probe: the cost of the harness itself.",
    timed: "incrementing a counter, which the compiler may not remove",
    not_timed: "the two clock reads around the loop",
    distorted_by: "frequency changes; a busy neighbour",
    parameters: &[],
    metrics: &[time_metric("time", "turn")],
    family: Family::Processor,
    alternates: |_| Alternates::OneProcessor,
    revision: 1,
    label: |_| "empty loop (harness)".into(),
};
