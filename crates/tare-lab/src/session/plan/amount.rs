//! The amount: how many operations a trial does, fixed for a session from a calibration in every environment.
//!
//! Every environment does the same work. A trial is many short batches: what interrupts a machine (its hypervisor, a timer, a
//! neighbour) falls into few of them, and the median batch does not have it, where one of two long ones would move both.
//! All batches together are short as well, because another process says more than a longer one (Kalibera and Jones 2013).

use std::collections::BTreeMap;

use tare_data::batch::{Batch, CALIBRATION, Timed};
use tare_data::metric::{Metric, Reading};
use tare_data::request::Amount;
use tare_data::session::declared::Batching;

/// Target time of a batch in the baseline: long against a clock read, short against interruptions...
const BATCH_NS: f64 = 0.25e6;
/// ...and at most this many times as long in the slowest environment.
const SLOWER: f64 = 8.0;
/// Target time of all batches of a trial that count, in the slowest environment: its processes differ more than its batches do.
const COUNTED_NS: f64 = 8e6;
/// Batches that count, besides the first, which warms up: two at least, so that a trial has a spread within...
const FEWEST_COUNTED: f64 = 2.0;
/// ...and at most this many.
const MOST_COUNTED: f64 = 32.0;
/// Target time of a batch of a pair, on its quicker side: what disturbs a machine lasts longer than two of them.
const PAIR_BATCH_NS: f64 = 60e3;
/// Time of one that is long, so that each has about as much of that which a kernel does once in hundreds of operations.
const LONG_PAIR_BATCH_NS: f64 = 600e3;
/// Batches of a pair that count: more say little more of two processes...
const PAIR_COUNTED: f64 = 24.0;
/// ...and the time that they may take on both sides together: a cell needs 30 pairs however little its noise is.
const PAIR_NS: f64 = 12e6;
/// Time of the passes of a pair, of which a disk makes few.
const PASSES_NS: f64 = 40e6;
/// Time of a pair of commands of one's own: "same" takes 30 pairs of them, however many runs each has.
const PAIR_OF_RUNS_NS: f64 = 100e6;
/// Time of a batch in a trial of a fixed time, as long as a tool's run: what is not timed at its ends, where threads start and wait for
/// the last one, must be next to nothing beside it.
const BATCH_OF_TIME_NS: f64 = 100e6;
/// A command of one's own runs once a batch, so that each run is a value, as often as fits into this in the baseline...
const COMMANDS_NS: f64 = 40e6;
/// ...and into this in the slowest environment...
const SLOWEST_COMMANDS_NS: f64 = 160e6;
/// ...and at most so often.
const MOST_RUNS: f64 = 20.0;
/// Scale of the shortest trials.
pub const LEAST_SCALE: f64 = 0.1;
/// Batches that count where each has new processes.
const PLACED_COUNTED: f64 = 8.0;

/// Fewest operations from which a quantile can be read: with six the median has an interval, and ten leave
/// room for one or two that failed.
const LEAST_FOR_QUANTILES: u64 = 10;
/// Batches at the end of a calibration that count however short they are, and the length from which earlier ones count.
const LAST_BATCHES: usize = 2;
const LONG_ENOUGH_NS: f64 = 5e4;

/// Time of an operation in an environment, and the cost of a trial besides its operations.
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
/// A calibration doubles its operations and reports after each batch how long that took. Of the last ones, and those that took long
/// against a clock read, the quickest counts, which a hiccup of the machine has not met. A probe that does a fixed amount
/// reports no such batches; of its passes the quickest counts.
pub fn compute_pace(batches: &[Batch], host_elapsed_ns: u64) -> Option<Pace> {
    let timed = |batch: &Batch| -> Vec<(f64, f64)> {
        let of = |timed: Timed| (timed.operations as f64, timed.elapsed_ns as f64);
        batch.sample.iter_timed().map(of).collect()
    };
    let calibrations: Vec<(f64, f64)> =
        batches.iter().filter(|b| b.series == CALIBRATION).flat_map(timed).collect();
    let overhead = |work_ns: f64| (host_elapsed_ns as f64 - work_ns).max(0.0);
    let last = calibrations.len().saturating_sub(LAST_BATCHES);
    let is_long = |(at, (_, ns)): &(usize, &(f64, f64))| *at >= last || *ns >= LONG_ENOUGH_NS;
    let long = calibrations.iter().enumerate().filter(is_long);
    let each_ns = long.map(|(_, (operations, ns))| ns / operations.max(1.0));
    if let Some(operation_ns) = each_ns.reduce(f64::min) {
        return Some(Pace {
            operation_ns,
            overhead_ns: overhead(calibrations.iter().map(|(_, ns)| ns).sum()),
            fixed_ns: None,
        });
    }
    batches.first()?;
    // A series may be a part of another, as the final sync is of a write: the longest one is the pass.
    let mut series: BTreeMap<&str, (f64, f64)> = BTreeMap::new();
    for batch in batches {
        for (_, ns) in timed(batch) {
            let (all_ns, least_ns) = series.entry(&batch.series).or_insert((0.0, f64::INFINITY));
            (*all_ns, *least_ns) = (*all_ns + ns, least_ns.min(ns));
        }
    }
    let (all_ns, pass_ns) =
        series.into_values().max_by(|one, other| one.0.total_cmp(&other.0)).unwrap_or((0.0, 0.0));
    Some(Pace { operation_ns: pass_ns, overhead_ns: overhead(all_ns), fixed_ns: Some(pass_ns) })
}

/// Inputs of the amount of a case, besides its paces.
pub struct Wanted<'a> {
    pub batching: Batching,
    pub metrics: &'a [Metric],
    /// Below 1 it makes trials shorter, as far as that saves time.
    pub scale: f64,
}

impl Wanted<'_> {
    /// Computes the amount for a case, from the baseline's pace and every environment's.
    pub(crate) fn compute_amount(&self, baseline: Pace, targets: &[Pace]) -> Amount {
        let (operation_ns, slowest_ns) = paces(baseline, targets);
        if self.batching == Batching::Runs {
            let runs = (COMMANDS_NS / operation_ns).min(SLOWEST_COMMANDS_NS / slowest_ns) * self.scale;
            return Amount::Operations { batch: 1, batches: runs.clamp(1.0, MOST_RUNS) as u32 };
        }
        let batch = in_a_batch(BATCH_NS, operation_ns, slowest_ns);
        let short = COUNTED_NS / slowest_ns / batch;
        let counted = self.counted((self.scale * short).max(worthwhile(batch, targets)));
        let batches = 1 + counted;
        // Operations that warm up do not count for a quantile.
        let least = (self.operations_of_quantiles(operation_ns) * batches).div_ceil(counted.max(1));
        let operations = (batch as u64 * batches).max(least);
        Amount::Operations { batch: operations.div_ceil(batches), batches: batches as u32 }
    }

    /// Computes the amount of a pair, from both sides' paces: as many short batches as say enough, in little time.
    pub(crate) fn compute_pair_amount(&self, one: Pace, other: Pace) -> Amount {
        let (quicker_ns, slower_ns) = paces(one, &[other]);
        let both_ns = one.operation_ns + other.operation_ns;
        let (batch, pair_ns) = match self.batching {
            Batching::Runs => (1.0, PAIR_OF_RUNS_NS),
            Batching::Short | Batching::Placed => (in_a_batch(PAIR_BATCH_NS, quicker_ns, slower_ns), PAIR_NS),
            Batching::Long => (in_a_batch(LONG_PAIR_BATCH_NS, quicker_ns, slower_ns), PAIR_NS),
        };
        let most = if self.batching == Batching::Placed { PLACED_COUNTED } else { PAIR_COUNTED };
        let counted = (pair_ns / (both_ns * batch)).clamp(FEWEST_COUNTED, most).trunc();
        if self.batching == Batching::Runs && self.scale <= LEAST_SCALE {
            // Each run is a value, and one in each of the rounds of a first look says more than several in a few.
            return Amount::Operations { batch: 1, batches: 1.0f64.max(counted * self.scale) as u32 };
        }
        let batches = 1 + counted as u64;
        let least = (self.operations_of_quantiles(quicker_ns) * batches).div_ceil(counted as u64);
        let operations = (batch as u64 * batches).max(least);
        Amount::Operations { batch: operations.div_ceil(batches), batches: batches as u32 }
    }

    /// Counts how many of the wanted batches count; none where a single one is a trial.
    fn counted(&self, wanted: f64) -> u64 {
        if wanted < FEWEST_COUNTED { 0 } else { wanted.ceil().min(self.most_counted()) as u64 }
    }

    fn most_counted(&self) -> f64 {
        if self.batching == Batching::Placed { PLACED_COUNTED } else { MOST_COUNTED }
    }

    /// Computes the operations that the quantiles need: those of the headline always, those of others where
    /// they take no longer than the greatest number of batches.
    fn operations_of_quantiles(&self, operation_ns: f64) -> u64 {
        let quantile = |metric: &Metric| match metric.reading {
            Reading::Quantile(q) => Some(q),
            _ => None,
        };
        let of_headline = self.metrics.first().and_then(quantile).map_or(0, |_| LEAST_FOR_QUANTILES);
        let needed = self.metrics.iter().filter_map(quantile).map(operations_of_quantile);
        let most_ns = self.most_counted() * BATCH_NS * self.scale;
        let affordable = |needed: &u64| *needed as f64 * operation_ns <= most_ns;
        needed.filter(affordable).fold(of_headline, u64::max)
    }
}

/// Returns the times of an operation in the baseline and in the slowest environment.
fn paces(baseline: Pace, targets: &[Pace]) -> (f64, f64) {
    let slowest_ns = targets.iter().map(|p| p.operation_ns).fold(baseline.operation_ns, f64::max);
    (baseline.operation_ns.max(0.01), slowest_ns.max(0.01))
}

/// Computes the operations of a batch that should take this long in the baseline.
fn in_a_batch(batch_ns: f64, operation_ns: f64, slowest_ns: f64) -> f64 {
    (batch_ns / operation_ns).min(batch_ns * SLOWER / slowest_ns).max(1.0).trunc()
}

/// Computes how many batches make the most of a session's time, if a fresh process costs what the calibration
/// says and varies as much as a batch does. However little time there is: with fewer, the process alone takes
/// it.
fn worthwhile(batch: f64, targets: &[Pace]) -> f64 {
    let batches_ns: f64 = targets.iter().map(|pace| pace.operation_ns * batch).sum();
    let overhead_ns: f64 = targets.iter().map(|pace| pace.overhead_ns).sum();
    // The batch that warms up is a cost of the process.
    ((overhead_ns + batches_ns) / batches_ns.max(1.0)).sqrt()
}

/// Computes the passes of a pair whose sides do a fixed amount of work in each, in turns of a part of it.
pub(crate) fn compute_passes(one: Pace, other: Pace) -> Amount {
    let passes =
        (PASSES_NS / (one.operation_ns + other.operation_ns).max(1.0)).clamp(1.0, 1.0 + PAIR_COUNTED);
    Amount::Operations { batch: 1, batches: passes as u32 }
}

/// Computes the amount of a trial with this duration, as tools run them.
pub fn amount_of_time(baseline: Pace, targets: &[Pace], seconds: f64) -> Amount {
    let (operation_ns, slowest_ns) = paces(baseline, targets);
    Amount::Duration { batch: in_a_batch(BATCH_OF_TIME_NS, operation_ns, slowest_ns) as u64, seconds }
}

/// Computes the operations from which a quantile has a two-sided 95 % interval: the least n with q^n <= 2.5
/// %.
fn operations_of_quantile(q: f64) -> u64 {
    let tail = q.max(1.0 - q);
    if (0.5..1.0).contains(&tail) { (libm::log(0.025) / libm::log(tail)).ceil() as u64 } else { 0 }
}

/// Estimates the time of a trial of this amount in an environment.
pub fn cost_ns(pace: Pace, amount: Amount) -> f64 {
    let (operations, passes) = match amount {
        Amount::Operations { batch, batches } => {
            (batch as f64 * f64::from(batches) + 1.0, f64::from(batches))
        }
        Amount::Duration { seconds, .. } => return pace.overhead_ns + seconds * 1e9,
        Amount::Calibrate | Amount::Outcome => return pace.overhead_ns,
    };
    match pace.fixed_ns {
        Some(pass_ns) => pace.overhead_ns + pass_ns * passes,
        None => pace.overhead_ns + pace.operation_ns * operations,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tare_data::batch::{Phase, Sample};

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
        let pace = compute_pace(&batches, 5_000).unwrap();
        assert_eq!(pace, Pace { operation_ns: 200.0, overhead_ns: 2_900.0, fixed_ns: None });
        let hiccup = [batch(CALIBRATION, 2, 400), batch(CALIBRATION, 4, 80_000)];
        assert_eq!(super::compute_pace(&hiccup, 100_000).unwrap().operation_ns, 200.0);
        assert_eq!(super::compute_pace(&[], 5_000), None);
    }

    fn amount(batching: Batching, baseline: Pace, targets: &[Pace]) -> (u64, u32) {
        let wanted = Wanted { batching, metrics: &[], scale: 1.0 };
        match wanted.compute_amount(baseline, targets) {
            Amount::Operations { batch, batches } => (batch, batches),
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn a_trial_is_a_batch_that_warms_up_and_many_short_ones_that_count() {
        assert_eq!(amount(Batching::Short, target(200.0), &[target(200.0)]), (1_250, 33));
        let whole = cost_ns(target(200.0), Amount::Operations { batch: 1_250, batches: 33 });
        assert!((whole - 9.25e6).abs() < 1e3);
    }

    #[test]
    fn a_pair_that_is_placed_for_each_batch_has_fewer() {
        assert_eq!(amount(Batching::Placed, target(200.0), &[target(200.0)]), (1_250, 9));
    }

    #[test]
    fn long_operations_are_batches_of_their_own() {
        assert_eq!(amount(Batching::Short, target(1e6), &[target(1e6)]), (1, 9));
        assert_eq!(amount(Batching::Short, target(4e6), &[target(4e6)]), (1, 3));
        assert_eq!(amount(Batching::Short, target(5e6), &[target(5e6)]), (1, 1));
        assert_eq!(amount(Batching::Short, target(200.0), &[target(5e9)]), (1, 1));
    }

    #[test]
    fn a_costly_process_has_more_batches() {
        let costly = |overhead_ns, operation_ns| {
            let prepared = Pace { overhead_ns, ..target(operation_ns) };
            amount(Batching::Short, prepared, &[prepared])
        };
        assert_eq!(costly(44e6, 4e6), (1, 5));
        assert_eq!(costly(1e9, 4e6), (1, 17));
        assert_eq!(costly(1e9, 200.0), (1_250, 33));
    }

    #[test]
    fn the_slowest_target_bounds_everybody() {
        assert_eq!(amount(Batching::Short, target(200.0), &[target(200.0), target(40_000.0)]), (50, 5));
    }

    #[test]
    fn a_shorter_trial_has_fewer_batches() {
        let at = |scale| {
            let wanted = Wanted { batching: Batching::Short, metrics: &[], scale };
            match wanted.compute_amount(target(200.0), &[target(200.0)]) {
                Amount::Operations { batch, batches } => (batch, batches),
                other => panic!("{other:?}"),
            }
        };
        assert_eq!((at(0.5), at(0.1)), ((1_250, 17), (1_250, 5)));
    }

    #[test]
    fn a_trial_is_not_made_so_short_that_its_process_takes_all_the_time() {
        let slow = Pace { overhead_ns: 40e6, ..target(40_000.0) };
        let wanted = Wanted { batching: Batching::Short, metrics: &[], scale: 0.1 };
        let amount = wanted.compute_amount(target(200.0), &[target(200.0), slow]);
        // Two milliseconds a batch there, and forty for the process.
        assert_eq!(amount, Amount::Operations { batch: 50, batches: 6 });
    }

    #[test]
    fn a_trial_of_a_fixed_time_has_longer_batches() {
        let amount = amount_of_time(target(200.0), &[target(200.0)], 10.0);
        assert_eq!(amount, Amount::Duration { batch: 500_000, seconds: 10.0 });
    }

    #[test]
    fn a_pair_of_commands_has_as_many_runs_as_its_time_holds() {
        let runs = |one_ns, other_ns| {
            let wanted = Wanted { batching: Batching::Runs, metrics: &[], scale: 1.0 };
            wanted.compute_pair_amount(target(one_ns), target(other_ns))
        };
        let of = |batches| Amount::Operations { batch: 1, batches };
        // The first of them warms up.
        assert_eq!([5e5, 2e6, 8e6, 12.1e6, 3e9].map(|ns| runs(ns, ns)), [25, 25, 7, 5, 3].map(of));
        assert_eq!(runs(8e6, 80e6), of(3));
    }

    #[test]
    fn long_batches_of_a_pair_have_hundreds_of_operations() {
        let of = |batching| {
            Wanted { batching, metrics: &[], scale: 1.0 }
                .compute_pair_amount(target(1_250.0), target(1_250.0))
        };
        assert_eq!(of(Batching::Short), Amount::Operations { batch: 48, batches: 25 });
        assert_eq!(of(Batching::Long), Amount::Operations { batch: 480, batches: 11 });
    }

    #[test]
    fn each_run_of_a_command_is_a_batch() {
        assert_eq!(amount(Batching::Runs, target(5e5), &[target(5e5)]), (1, 20));
        assert_eq!(amount(Batching::Runs, target(8e6), &[target(8e6)]), (1, 5));
        assert_eq!(amount(Batching::Runs, target(8e6), &[target(8e6), target(80e6)]), (1, 2));
        assert_eq!(amount(Batching::Runs, target(3e9), &[target(3e9)]), (1, 1));
    }

    #[test]
    fn quantiles_have_the_operations_that_they_need_without_the_batch_that_warms_up() {
        let metrics = tare_probes::find_probe("net.rr").unwrap().metrics();
        let of = |batching, operation_ns| {
            let wanted = Wanted { batching, metrics: &metrics, scale: 1.0 };
            match wanted.compute_amount(target(operation_ns), &[target(operation_ns)]) {
                Amount::Operations { batch, batches } => batch * u64::from(batches - 1),
                other => panic!("{other:?}"),
            }
        };
        assert!((36..368).contains(&of(Batching::Short, 50_000.0)), "p90");
        assert!((368..3_688).contains(&of(Batching::Short, 20_000.0)), "p99");
        assert!(of(Batching::Short, 2_000.0) >= 3_688, "p99.9");
        assert!((6..36).contains(&of(Batching::Short, 1e6)), "the median only");
        assert!((36..368).contains(&of(Batching::Placed, 20_000.0)), "p90 in the time of eight batches");
        assert!((368..3_688).contains(&of(Batching::Placed, 5_000.0)), "p99");
    }

    #[test]
    fn a_fixed_probe_costs_what_it_cost() {
        let pass = [batch("block", 4096, 30_000_000), batch("sync", 1, 1_000_000)];
        let pace = compute_pace(&pass, 32_000_000).unwrap();
        assert_eq!(cost_ns(pace, Amount::Operations { batch: 1, batches: 1 }), 32e6);
        assert_eq!(cost_ns(pace, Amount::Operations { batch: 1, batches: 5 }), 152e6, "five passes");
        // Short passes come together.
        let all = vec![90_000_000, 31_000_000, 30_000_000];
        let sample = Sample::Stretches { operations: 4096, bytes: 0, elapsed_ns: all, histogram: None };
        let together = [Batch { series: "block".into(), phase: Phase::Warm, started_ns: 0, sample }];
        let pace = compute_pace(&together, 153_000_000).unwrap();
        assert_eq!(cost_ns(pace, Amount::Operations { batch: 1, batches: 1 }), 32e6);
        // A hiccup in one of several passes makes the others no longer.
        let slower = [batch("block", 4096, 90_000_000), batch("sync", 1, 61_000_000)];
        let pace = compute_pace(&[slower, pass].concat(), 122_000_000).unwrap();
        assert_eq!(cost_ns(pace, Amount::Operations { batch: 1, batches: 1 }), 32e6);
    }

    #[test]
    fn a_pair_of_short_passes_has_many_of_them() {
        let pass = |ns: f64| Pace { operation_ns: ns, overhead_ns: 0.0, fixed_ns: Some(ns) };
        let passes = |one, other| match compute_passes(pass(one), pass(other)) {
            Amount::Operations { batch: 1, batches } => batches,
            other => panic!("{other:?}"),
        };
        assert_eq!([(5e5, 6e5), (8e6, 9e6), (9e7, 9e7)].map(|(a, b)| passes(a, b)), [25, 2, 1]);
    }
}
