//! `null`: nothing at all, timed; what the harness itself costs.

use crate::harness::stopwatch::Stopwatch;
use crate::harness::trial::prove;
use crate::probe::{MetricDescription, Probe};

pub static PROBE: Probe = Probe {
    name: "null",
    title: "nothing (harness)",
    summary: "An empty loop, timed as every other probe is: what the harness itself costs.",
    timed: "a counter going up, which the compiler may not remove",
    not_timed: "the two clock reads around the loop",
    distorted_by: "frequency changes; a busy neighbour",
    parameters: &[],
    metrics: &[MetricDescription::time("time", "turn")],
    needs: &[],
    revision: 1,
    label: |_| "nothing (harness)".into(),
    run: |trial| {
        trial.repeat(|operations, report| {
            let mut stopwatch = Stopwatch::default();
            let mut turns = 0u64;
            stopwatch.start();
            for _ in 0..operations {
                turns = std::hint::black_box(turns + 1);
            }
            stopwatch.stop();
            prove("turns", turns, operations)?;
            report.throughput("turn", operations, &stopwatch);
            Ok(())
        })
    },
};
