//! The amount: how many operations a trial does, fixed for a session from a calibration in every environment.
//!
//! Every environment does the same work. Trials are short, because what differs between fresh processes is mostly more
//! than what differs within one: another process says more than a longer one (Kalibera and Jones 2013).

use tare_data::batch::{Batch, CALIBRATION, Sample};
use tare_data::metric::{Metric, Reading};
use tare_data::request::Amount;
use tare_probes::descriptions::USER;

/// What a batch should take in the baseline: long against a clock read, and a timer interrupt at HZ=250 falls into each.
const BATCH_NS: f64 = 4e6;
/// What a batch may take in the slowest environment.
const SLOWEST_BATCH_NS: f64 = 16e6;
/// Batches of a trial that count, besides the first, which warms up: two at least, so that a trial has a spread within...
const FEWEST_COUNTED: f64 = 2.0;
/// ...and more where a fresh process costs more than its batches do, up to these.
const MOST_COUNTED: f64 = 8.0;
/// A command of one's own runs once a batch, so that each run is a value, as often as fits into this in the baseline...
const COMMANDS_NS: f64 = 40e6;
/// ...and into this in the slowest environment...
const SLOWEST_COMMANDS_NS: f64 = 160e6;
/// ...and at most so often.
const MOST_RUNS: f64 = 20.0;
/// Probes of two processes, of which the scheduler places each batch's anew: as many batches count as may, and they are shorter.
/// The typical batch of eight says where most pairs run, and that of two says little. `net.rr` has one pair for a trial over UDP and
/// to other machines, where the same amount does no harm.
const PLACED: [&str; 3] = ["ipc.context", "ipc.unix", "net.rr"];
/// How much shorter.
const PLACED_SHARE: f64 = 0.3;
/// Variance of batches within a process over the variance between processes, where it was measured to be far from 1:
/// work that is done by other processes, or by none, differs little from one process to the next. On a virtual machine
/// with two processors; most other probes had a quarter to a third.
const WITHIN_OVER_BETWEEN: [(&str, f64); 4] =
    [("proc.exec", 3.3), ("proc.spawn", 1.6), ("ipc.pipe", 1.5), ("time.read", 9.0)];

/// Fewest operations from which a quantile can be read: with six the median has an interval, and ten leave
/// room for one or two that failed.
const LEAST_FOR_QUANTILES: u64 = 10;
/// Quantiles whose operations take no longer than this in the baseline get as many as they need to be compared.
const QUANTILES_NS: f64 = 20e6;

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

/// What the amount of a case depends on, besides its paces.
pub struct Wanted<'a> {
    pub probe: &'a str,
    pub metrics: &'a [Metric],
    /// Below 1 it makes trials shorter.
    pub scale: f64,
}

impl Wanted<'_> {
    /// The amount for a case, from the baseline's pace and every environment's.
    pub fn amount(&self, baseline: Pace, targets: &[Pace]) -> Amount {
        let slowest_ns =
            targets.iter().map(|p| p.operation_ns).fold(baseline.operation_ns, f64::max).max(0.01);
        let operation_ns = baseline.operation_ns.max(0.01);
        if self.probe.starts_with(USER) {
            let runs = (COMMANDS_NS / operation_ns).min(SLOWEST_COMMANDS_NS / slowest_ns) * self.scale;
            return Amount::Operations { batch: 1, batches: runs.clamp(1.0, MOST_RUNS) as u32 };
        }
        let share = if self.is_placed() { PLACED_SHARE } else { 1.0 };
        let a_batch = (BATCH_NS / operation_ns).min(SLOWEST_BATCH_NS / slowest_ns) * self.scale * share;
        let counted = self.counted(targets, a_batch);
        let batches = 1 + counted;
        let operations = ((a_batch * batches as f64) as u64).max(1);
        // What warms up does not count for a quantile.
        let least = (self.operations_of_quantiles(operation_ns) * batches).div_ceil(counted);
        let operations = operations.max(least);
        let batches = batches.min(operations);
        Amount::Operations { batch: operations.div_ceil(batches), batches: batches as u32 }
    }

    fn is_placed(&self) -> bool {
        PLACED.contains(&self.probe)
    }

    /// How many batches of a process count: as many as make the most of a session's time, if a fresh process costs what
    /// the calibration says.
    fn counted(&self, targets: &[Pace], operations: f64) -> u64 {
        if self.is_placed() {
            return MOST_COUNTED as u64;
        }
        let batches_ns: f64 = targets.iter().map(|pace| pace.operation_ns * operations.max(1.0)).sum();
        let overhead_ns: f64 = targets.iter().map(|pace| pace.overhead_ns).sum();
        let known = WITHIN_OVER_BETWEEN.iter().find(|(probe, _)| *probe == self.probe);
        let ratio = known.map_or(1.0, |(_, ratio)| *ratio);
        // The batch that warms up is a cost of the process.
        let optimum = (ratio * (overhead_ns + batches_ns) / batches_ns.max(1.0)).sqrt();
        optimum.ceil().clamp(FEWEST_COUNTED, MOST_COUNTED) as u64
    }

    /// Operations that the quantiles need: those of the headline always, those of others where they take little time.
    fn operations_of_quantiles(&self, operation_ns: f64) -> u64 {
        let quantile = |metric: &Metric| match metric.reading {
            Reading::Quantile(q) => Some(q),
            _ => None,
        };
        let of_headline = self.metrics.first().and_then(quantile).map_or(0, |_| LEAST_FOR_QUANTILES);
        let needed = self.metrics.iter().filter_map(quantile).map(operations_of_quantile);
        let affordable = |needed: &u64| *needed as f64 * operation_ns <= QUANTILES_NS * self.scale;
        needed.filter(affordable).fold(of_headline, u64::max)
    }
}

/// Operations from which a quantile has a two-sided 95 % interval: the least n with q^n <= 2.5 %.
fn operations_of_quantile(q: f64) -> u64 {
    let tail = q.max(1.0 - q);
    if (0.5..1.0).contains(&tail) { (libm::log(0.025) / libm::log(tail)).ceil() as u64 } else { 0 }
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

    fn amount(probe: &str, baseline: Pace, targets: &[Pace]) -> (u64, u32) {
        let wanted = Wanted { probe, metrics: &[], scale: 1.0 };
        match wanted.amount(baseline, targets) {
            Amount::Operations { batch, batches } => (batch, batches),
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn a_trial_is_a_batch_that_warms_up_and_two_that_count() {
        assert_eq!(amount("sys.getppid", target(200.0), &[target(200.0)]), (20_000, 3));
        let whole = cost_ns(target(200.0), Amount::Operations { batch: 20_000, batches: 3 });
        assert!((whole - 13e6).abs() < 1e3);
    }

    #[test]
    fn a_pair_that_is_placed_for_each_batch_has_more_and_shorter_ones() {
        assert_eq!(amount("ipc.context", target(200.0), &[target(200.0)]), (6_000, 9));
    }

    #[test]
    fn a_costly_process_has_more_batches_and_so_has_one_that_differs_little_from_the_next() {
        let prepared = Pace { overhead_ns: 60e6, ..target(200.0) };
        assert_eq!(amount("file.random", prepared, &[prepared]), (20_000, 5));
        let emulated = Pace { overhead_ns: 1e9, ..target(200.0) };
        assert_eq!(amount("file.random", emulated, &[emulated]), (20_000, 9));
        assert_eq!(amount("proc.exec", target(200.0), &[target(200.0)]), (20_000, 4));
        assert_eq!(amount("time.read", target(200.0), &[target(200.0)]), (20_000, 5));
    }

    #[test]
    fn the_slowest_target_bounds_everybody() {
        assert_eq!(amount("null", target(200.0), &[target(200.0), target(40_000.0)]), (400, 3));
        assert_eq!(amount("null", target(200.0), &[target(5e9)]), (1, 1));
        assert_eq!(amount("null", target(5e6), &[target(5e6)]), (1, 2));
    }

    #[test]
    fn each_run_of_a_command_is_a_batch() {
        assert_eq!(amount("user.true", target(5e5), &[target(5e5)]), (1, 20));
        assert_eq!(amount("user.status", target(8e6), &[target(8e6)]), (1, 5));
        assert_eq!(amount("user.status", target(8e6), &[target(8e6), target(80e6)]), (1, 2));
        assert_eq!(amount("user.build", target(3e9), &[target(3e9)]), (1, 1));
    }

    #[test]
    fn quantiles_have_the_operations_that_they_need_without_the_batch_that_warms_up() {
        let probe = tare_probes::find("net.rr").unwrap();
        let of = |operation_ns| {
            let wanted = Wanted { probe: "net.rr", metrics: &probe.metrics(), scale: 1.0 };
            match wanted.amount(target(operation_ns), &[target(operation_ns)]) {
                Amount::Operations { batch, batches } => batch * u64::from(batches - 1),
                other => panic!("{other:?}"),
            }
        };
        assert!((368..1_000).contains(&of(50_000.0)), "p99: {}", of(50_000.0));
        assert!(of(5_000.0) >= 3_688, "p99.9: {}", of(5_000.0));
        assert!((6..50).contains(&of(1e6)), "the median only: {}", of(1e6));
    }

    #[test]
    fn a_fixed_probe_costs_what_it_cost() {
        let pace =
            pace(&[batch("write", 4096, 29_000_000), batch("sync", 1, 1_000_000)], 32_000_000).unwrap();
        assert_eq!(cost_ns(pace, Amount::Operations { batch: 9, batches: 5 }), 32e6);
    }
}
