//! Loop of `net.hops`: see its description.

use crate::far_end::Far;
use crate::net::flow::Flow;
use crate::net::hops::{Hops, Near};
use crate::probe::prelude::*;

pub(super) fn measure_net_hops(trial: &mut Trial<'_>) -> Result<(), Failure> {
    let placement = Placement::pin_this_side(trial.parameters())?;
    let mut far = Far::open(trial, &Flow::Hops, placement)?;
    let (line, _) = far.greet()?;
    line.connect().map_err(|e| broken_failure("connecting to the far end", e))?;
    let mut near = Near::new(line.into_socket())?;
    trial.repeat(|operations, report| {
        let mut hops = Hops::default();
        near.measure_rounds(operations, &mut hops)?;
        prove_count("rounds of which every hop is known", hops.round.operations(), operations)?;
        report_all(hops, report);
        Ok(())
    })?;
    drop(near);
    far.finish()
}

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
        report.add_latency(series, 0, laps);
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use tare_data::batch::Phase;
    use tare_data::failure::Failure;

    use super::super::tests::{make_trial_request, run_if_supported};
    use crate::descriptions::net_hops::PROBE;

    #[test]
    fn the_hops_add_up_to_the_round_trip() -> Result<(), Failure> {
        let Some(batches) = run_if_supported(&make_trial_request(&PROBE, &[])) else { return Ok(()) };
        let mut totals: BTreeMap<&str, f64> = BTreeMap::new();
        for batch in batches.iter().filter(|batch| batch.phase == Phase::Warm) {
            let Some(histogram) = batch.sample.histogram() else { continue };
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
