//! Slow batches: what they add to the mean of a cell whose trials took turns, and how sure that is.
//!
//! The typical difference does not see one batch in a hundred that takes ten times as long. Such batches are few, so that their
//! number says more than the mean that they make: the bound is that of a compound Poisson count.

use crate::statistics::signed_ranks::{compute_median, sort_values};

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
    /// Counts the slow ones among the costs of a trial's batches.
    pub(crate) fn count_slow(costs: &[f64]) -> SlowBatches {
        let typical = compute_median(&sort_values(costs));
        let mut counted = SlowBatches { batches: costs.len() as u64, ..SlowBatches::default() };
        for cost in costs.iter().filter(|cost| **cost > SLOW * typical) {
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
    /// Sums up pairs, the baseline's side first; none where there are no batches.
    pub fn from_pairs(slow: &[[SlowBatches; 2]]) -> Option<TailDifference> {
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

    fn pairs(count: u32, both: impl Fn(u32) -> [Vec<f64>; 2]) -> Option<TailDifference> {
        let slow = |round| both(round).map(|costs| SlowBatches::count_slow(&costs));
        TailDifference::from_pairs(&(0..count).map(slow).collect::<Vec<_>>())
    }

    /// Makes batches of which one is this much slower.
    fn with_one(cost: f64) -> Vec<f64> {
        let mut each = vec![1.0; 24];
        each[7] = cost;
        each
    }

    #[test]
    fn nothing_slow_in_enough_batches_is_no_tail() {
        let plain = |batches: usize| move |_| [vec![1.0; batches], vec![1.0; batches]];
        assert!(pairs(40, plain(24)).unwrap().is_within(0.05));
        assert!(!pairs(28, plain(24)).unwrap().is_within(0.05), "too few pairs");
        assert!(!pairs(40, plain(4)).unwrap().is_within(0.05), "too few batches");
        assert_eq!(pairs(0, plain(4)), None);
    }

    #[test]
    fn one_batch_in_a_hundred_at_ten_times_is_seen() {
        let tail = pairs(60, |round| {
            [vec![1.0; 24], if round.is_multiple_of(4) { with_one(10.0) } else { vec![1.0; 24] }]
        });
        let tail = tail.unwrap();
        assert_eq!(tail.slow, (15, 1_440));
        assert!((tail.estimate - 15.0 * 9.0 / 1_440.0).abs() < 1e-12);
        assert!(!tail.is_within(0.05) && tail.is_beyond(0.05));
    }

    #[test]
    fn stalls_of_both_sides_are_the_machines() {
        let stall = |round: u32| if round.is_multiple_of(6) { with_one(3.0) } else { vec![1.0; 24] };
        assert!(pairs(90, |round| [stall(round), stall(round + 3)]).unwrap().is_within(0.05));
    }
}
