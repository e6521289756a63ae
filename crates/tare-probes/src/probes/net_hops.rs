//! `net.hops`: where the time of a round trip goes, by the kernel's timestamps of the places that a datagram passes.
//!
//! A request and a response of 64 bytes over UDP, one at a time, with the software stamps of SO_TIMESTAMPING at both
//! ends. Reading the stamps costs time between the rounds, so this is a probe of its own and `net.rr` stays
//! undisturbed. A stack that stamps nothing (gVisor's) makes its hops "not visible", never zero. The hops add up to
//! the round trip: the path between the ends is what the others leave of it. udp(7), socket(7).

use crate::net::far::Far;
use crate::net::flow::Flow;
use crate::net::hops::{Hops, Near};
use crate::probe::prelude::*;

/// A mean: means of parts add up to the mean of the whole.
const fn mean(name: &'static str) -> MetricDescription {
    nanoseconds(name, name, Reading::Mean)
}

pub static PROBE: Probe = Probe {
    name: "net.hops",
    title: "round trip, by hop",
    summary: "Where the time of a UDP round trip goes, by the kernel's timestamps at both ends.",
    timed: "between the timestamps: call to queue, queue to driver, the path, driver to program and program to driver at \
            the far end, driver to program here",
    not_timed: "reading the timestamps, after each round trip",
    distorted_by: "taking the timestamps, about 100 ns each; whatever distorts net.rr",
    parameters: &[PIN],
    metrics: &[
        mean("round"),
        mean("call"),
        mean("device"),
        mean("way"),
        mean("far arrival"),
        mean("far turn"),
        mean("far leave"),
        mean("arrival"),
        nanoseconds("arrival sd", "arrival", Reading::StandardDeviation),
        quantile("round p50", "round", 0.5),
    ],
    needs: &[Need::Peer],
    revision: 1,
    label: |_| "round trip, by hop".into(),
    run: |trial| {
        let placement = Placement::of(trial.parameters())?;
        let far = Far::open(trial, &Flow::Hops, placement)?;
        let (line, _) = far.greet()?;
        line.connect().map_err(|e| broken("connecting to the far end", e))?;
        let mut near = Near::new(line.into_socket())?;
        trial.repeat(|operations, report| {
            let mut hops = Hops::default();
            near.rounds(operations, &mut hops)?;
            prove("rounds of which every hop is known", hops.round.operations(), operations)?;
            report_all(hops, report);
            Ok(())
        })?;
        drop(near);
        far.finish()
    },
};

fn report_all(hops: Hops, report: &mut crate::harness::trial::Report) {
    let Hops { round, call, device, way, far_arrival, far_turn, far_leave, arrival } = hops;
    for (series, laps) in [
        ("round", round),
        ("call", call),
        ("device", device),
        ("way", way),
        ("far arrival", far_arrival),
        ("far turn", far_turn),
        ("far leave", far_leave),
        ("arrival", arrival),
    ] {
        report.latency(series, 0, laps);
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use tare_data::batch::{Phase, Sample};
    use tare_data::failure::Failure;

    use super::super::tests::{request, run};
    use super::*;

    #[test]
    fn the_hops_add_up_to_the_round_trip() -> Result<(), Failure> {
        let batches = run(&request(&PROBE, &[]))?;
        let mut totals: BTreeMap<&str, f64> = BTreeMap::new();
        for batch in batches.iter().filter(|batch| batch.phase == Phase::Warm) {
            let Sample::Latency { histogram, .. } = &batch.sample else { continue };
            let histogram = histogram.decode().unwrap().0;
            *totals.entry(batch.series.as_str()).or_default() += histogram.mean() * histogram.len() as f64;
        }
        let round = totals.remove("round").unwrap();
        let sum: f64 = totals.values().sum();
        assert_eq!(totals.len(), 7);
        // A histogram is right to one part in a thousand, and times below one nanosecond count as one.
        assert!((sum / round - 1.0).abs() < 0.01, "{sum} of {round}");
        Ok(())
    }
}
