//! Slow batches: what they add to the mean of a cell whose trials took turns, and how sure that is.
//!
//! The typical difference does not see one batch in a hundred that takes ten times as long. Such batches are few, so that their
//! number says more than the mean that they make: the bound is that of a compound Poisson count.

use tare_data::unit::Direction;

use crate::statistics::signed_ranks::{compute_median, sort_values};
use crate::verdicts::pairs::Pair;
use crate::verdicts::summary::RoundValue;

/// A batch is slow where it takes this many times its trial's median.
const SLOW: f64 = 1.5;
/// Time that a slow batch is taken to add where none was seen, in typical batches.
const UNSEEN: f64 = 9.0;
/// Fewest batches a side, and fewest pairs, from which slow ones can be told to be absent.
const FEWEST_BATCHES: u64 = 300;
const FEWEST_PAIRS: usize = 29;
/// Deviations from the mean at which a normal distribution has 95 % below.
const Z_95: f64 = 1.644_853_626_951_472_2;

/// Slow batches of a trial: how many, and the sum and the sum of squares of what each adds, in typical batches.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct SlowBatches {
    pub batches: u64,
    pub slow: u64,
    pub added: f64,
    pub squares: f64,
}

impl SlowBatches {
    /// Counts the slow batches of a trial.
    pub(crate) fn count_slow(value: &RoundValue, direction: Direction) -> SlowBatches {
        // Work done in a time costs the time that it takes.
        let costs: Vec<f64> = match direction {
            Direction::Lower => value.each.clone(),
            Direction::Higher => value.each.iter().map(|rate| rate.recip()).collect(),
        };
        let typical = compute_median(&sort_values(&costs));
        let mut counted = SlowBatches { batches: costs.len() as u64, ..SlowBatches::default() };
        for cost in costs.into_iter().filter(|cost| *cost > SLOW * typical) {
            let added = cost / typical - 1.0;
            counted.slow += 1;
            counted.added += added;
            counted.squares += added * added;
        }
        counted
    }

    fn join(self, other: SlowBatches) -> SlowBatches {
        SlowBatches {
            batches: self.batches + other.batches,
            slow: self.slow + other.slow,
            added: self.added + other.added,
            squares: self.squares + other.squares,
        }
    }

    fn mean_added(self) -> f64 {
        self.added / self.batches as f64
    }
}

/// Difference that slow batches make to the mean, in typical batches: the environment's less the baseline's.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct TailDifference {
    pub estimate: f64,
    /// Distance of the bounds at 95 % from the estimate.
    pub error: f64,
    /// Slow batches in the environment, of all of its batches.
    pub slow: (u64, u64),
    are_enough: bool,
}

impl TailDifference {
    /// Sums up the pairs before a round; none where trials did not take turns.
    pub fn before_round(pairs: &[Pair], round: u32) -> Option<TailDifference> {
        let known = pairs.iter().take_while(|pair| pair.round < round);
        let slow: Vec<[SlowBatches; 2]> = known.map(|pair| pair.slow).collect::<Option<_>>()?;
        let sum =
            |side: usize| slow.iter().map(|both| both[side]).fold(SlowBatches::default(), SlowBatches::join);
        let (baseline, target) = (sum(0), sum(1));
        let fewest = baseline.batches.min(target.batches);
        if fewest == 0 {
            return None;
        }
        let seen = baseline.join(target);
        // One more of either, as large as those that were seen are on average: others may be there that were not seen.
        let one_more = if seen.slow == 0 { UNSEEN } else { seen.added / seen.slow as f64 };
        let variance =
            |side: SlowBatches| (side.squares + one_more * one_more / 2.0) / (side.batches as f64).powi(2);
        Some(TailDifference {
            estimate: target.mean_added() - baseline.mean_added(),
            error: Z_95 * (variance(baseline) + variance(target)).sqrt(),
            slow: (target.slow, target.batches),
            are_enough: fewest >= FEWEST_BATCHES && slow.len() >= FEWEST_PAIRS,
        })
    }

    /// Tells whether slow batches are known to make no more of a difference than this, either way.
    pub fn is_within(&self, edge: f64) -> bool {
        self.are_enough && self.estimate.abs() + self.error <= edge
    }

    /// Tells whether they are known to make more of a difference than this.
    pub fn is_beyond(&self, edge: f64) -> bool {
        self.estimate.abs() - self.error > edge
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pair(round: u32, baseline: &[f64], target: &[f64]) -> Pair {
        let value =
            |each: &[f64]| RoundValue { round, start: 0, value: 1.0, total: None, each: each.to_vec() };
        let slow = [baseline, target].map(|each| SlowBatches::count_slow(&value(each), Direction::Lower));
        Pair { round, baseline_start: 0, start: 0, d: 0.0, costs: None, slow: Some(slow) }
    }

    fn pairs(count: u32, target: impl Fn(u32) -> Vec<f64>) -> Vec<Pair> {
        (0..count).map(|round| pair(round, &[1.0; 24], &target(round))).collect()
    }

    #[test]
    fn nothing_slow_in_enough_batches_is_no_tail() {
        let plain = pairs(40, |_| vec![1.0; 24]);
        assert!(TailDifference::before_round(&plain, 40).unwrap().is_within(0.05));
        assert!(!TailDifference::before_round(&plain, 28).unwrap().is_within(0.05), "too few pairs");
        let short: Vec<Pair> = (0..40).map(|round| pair(round, &[1.0; 4], &[1.0; 4])).collect();
        assert!(!TailDifference::before_round(&short, 40).unwrap().is_within(0.05), "too few batches");
    }

    #[test]
    fn one_batch_in_a_hundred_at_ten_times_is_seen() {
        let with_tail = pairs(60, |round| {
            let mut each = vec![1.0; 24];
            if round % 4 == 0 {
                each[7] = 10.0;
            }
            each
        });
        let tail = TailDifference::before_round(&with_tail, 60).unwrap();
        assert_eq!(tail.slow, (15, 1_440));
        assert!((tail.estimate - 15.0 * 9.0 / 1_440.0).abs() < 1e-12);
        assert!(!tail.is_within(0.05) && tail.is_beyond(0.05));
    }

    #[test]
    fn stalls_of_both_sides_are_the_machines() {
        let stall = |round: u32| {
            let mut each = vec![1.0; 24];
            if round % 6 == 0 {
                each[3] = 3.0;
            }
            each
        };
        let both: Vec<Pair> = (0..90).map(|round| pair(round, &stall(round), &stall(round + 3))).collect();
        assert!(TailDifference::before_round(&both, 90).unwrap().is_within(0.05));
    }
}
