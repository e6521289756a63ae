//! The amount: how many operations a trial does, fixed for a session from a calibration in every environment.
//!
//! Every environment does the same work. The amount is a compromise: long enough in the baseline for its clock
//! and its interrupts not to matter, short enough in the slowest environment for a round to be short.

use tare_data::batch::{Batch, CALIBRATION, Sample};
use tare_data::request::Amount;

/// What a trial should take in the baseline: a hundred timer interrupts at HZ=250 see a tenth of it.
const BASELINE_TARGET_NS: f64 = 20e6;
/// What a trial may take in the slowest environment.
const SLOWEST_MOST_NS: f64 = 80e6;
/// Batches of a trial: enough to see a warm-up, few enough that the record stays small.
const BATCHES: u64 = 5;

/// Fewest operations from which a quantile can be read: with six the median has an interval, and ten leave
/// room for one or two that failed.
pub const LEAST_FOR_QUANTILES: u64 = 10;

/// How long an operation takes in an environment, and what a trial costs besides its operations.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Pace {
    /// Time of an operation in all series together.
    pub operation_ns: f64,
    /// Process start, preparation, frames.
    pub overhead_ns: f64,
    /// Time of a trial where the probe does a fixed amount of work, whatever the request.
    pub fixed_ns: Option<f64>,
}

/// Reads the pace from the batches of a calibration and the time that all of it took.
///
/// A calibration doubles its operations and reports after each batch how long that took: the last two are the longest,
/// and the quicker of them counts, which a hiccup of the machine has not met. A probe that does a fixed amount
/// reports no such batches.
pub fn pace(batches: &[Batch], host_elapsed_ns: u64) -> Option<Pace> {
    let timed = |batch: &Batch| match &batch.sample {
        Sample::Throughput { operations, elapsed_ns, .. }
        | Sample::Latency { operations, elapsed_ns, .. } => Some((*operations as f64, *elapsed_ns as f64)),
        Sample::Gauge { .. } => None,
    };
    let calibrations: Vec<(f64, f64)> =
        batches.iter().filter(|b| b.series == CALIBRATION).filter_map(timed).collect();
    let overhead = |work_ns: f64| (host_elapsed_ns as f64 - work_ns).max(0.0);
    let each_ns = calibrations.iter().rev().take(2).map(|(operations, ns)| ns / operations.max(1.0));
    if let Some(operation_ns) = each_ns.reduce(f64::min) {
        return Some(Pace {
            operation_ns,
            overhead_ns: overhead(calibrations.iter().map(|(_, ns)| ns).sum()),
            fixed_ns: None,
        });
    }
    batches.first()?;
    let all_ns: f64 = batches.iter().filter_map(timed).map(|(_, ns)| ns).sum();
    Some(Pace { operation_ns: all_ns, overhead_ns: overhead(all_ns), fixed_ns: Some(all_ns) })
}

/// The amount for a case, from the baseline's pace and every environment's. `scale` below 1 makes trials shorter;
/// `least` operations are done whatever they take.
pub fn amount(baseline: Pace, targets: &[Pace], scale: f64, least: u64) -> Amount {
    let slowest_ns = targets.iter().map(|p| p.operation_ns).fold(baseline.operation_ns, f64::max).max(0.01);
    let wanted = BASELINE_TARGET_NS * scale / baseline.operation_ns.max(0.01);
    let most = SLOWEST_MOST_NS * scale / slowest_ns;
    let operations = (wanted.min(most) as u64).max(least).max(1);
    let batches = BATCHES.min(operations);
    Amount::Operations { batch: operations / batches, batches: batches as u32 }
}

/// What a trial of this amount will take in an environment.
pub fn cost_ns(pace: Pace, amount: Amount) -> f64 {
    let operations = match amount {
        Amount::Operations { batch, batches } => batch as f64 * f64::from(batches) + 1.0,
        Amount::Duration { seconds, .. } => return pace.overhead_ns + seconds * 1e9,
        Amount::Calibrate => return pace.overhead_ns,
    };
    pace.overhead_ns + pace.fixed_ns.unwrap_or(pace.operation_ns * operations)
}

#[cfg(test)]
mod tests {
    use super::*;
    use tare_data::batch::Phase;

    fn batch(series: &str, operations: u64, elapsed_ns: u64) -> Batch {
        let sample = Sample::Throughput { operations, bytes: 0, elapsed_ns };
        Batch { series: series.into(), phase: Phase::Warm, started_ns: 0, sample }
    }

    fn target(operation_ns: f64) -> Pace {
        Pace { operation_ns, overhead_ns: 1e6, fixed_ns: None }
    }

    #[test]
    fn the_last_batches_of_a_calibration_count() {
        // A series may time a part of the work, or count other operations: the calibration counts.
        let batches = [
            batch("call", 5, 700),
            batch(CALIBRATION, 1, 900),
            batch("call", 10, 300),
            batch(CALIBRATION, 2, 400),
            batch("call", 20, 700),
            batch(CALIBRATION, 4, 800),
        ];
        let pace = pace(&batches, 5_000).unwrap();
        assert_eq!(pace, Pace { operation_ns: 200.0, overhead_ns: 2_900.0, fixed_ns: None });
        let hiccup = [batch(CALIBRATION, 2, 400), batch(CALIBRATION, 4, 80_000)];
        assert_eq!(super::pace(&hiccup, 100_000).unwrap().operation_ns, 200.0);
        assert_eq!(super::pace(&[], 5_000), None);
    }

    #[test]
    fn a_quick_call_fills_the_target_time() {
        let amount = amount(target(200.0), &[target(200.0)], 1.0, 1);
        assert_eq!(amount, Amount::Operations { batch: 20_000, batches: 5 });
        assert!((cost_ns(target(200.0), amount) - 21e6).abs() < 1e3);
    }

    #[test]
    fn the_slowest_target_bounds_everybody() {
        let amount = amount(target(200.0), &[target(200.0), target(40_000.0)], 1.0, 1);
        assert_eq!(amount, Amount::Operations { batch: 400, batches: 5 });
        let slow = super::amount(target(200.0), &[target(5e9)], 1.0, 1);
        assert_eq!(slow, Amount::Operations { batch: 1, batches: 1 });
    }

    #[test]
    fn a_fixed_probe_costs_what_it_cost() {
        let pace =
            pace(&[batch("write", 4096, 29_000_000), batch("sync", 1, 1_000_000)], 32_000_000).unwrap();
        assert_eq!(cost_ns(pace, Amount::Operations { batch: 9, batches: 5 }), 32e6);
    }
}
