//! Slow batches: what they add to the mean of a cell whose trials took turns, and how sure that is.
//!
//! The typical difference does not see one batch in a hundred that takes ten times as long. A batch is slow by the standard of the
//! whole cell, so that a trial of one batch has slow ones as well, and a disk whose slow fifth is its nature has few. What they add is
//! compared pair by pair: a bad moment of the machine makes many of them, on both sides, and batches of one trial depend on each
//! other. As they are few, one more is reckoned with on either side.
//!
//! A disk stalls for hundreds of batches now and then, on either side, and a mean with such a stall in it is known to nothing.
//! The longest stalls count with a limited size, and are compared by their number as well.
//!
//! Other programs that want the same processor interrupt trials for milliseconds, and make most of a mean. The kernel counts the
//! context switches that it forces on a trial: as many of its slowest batches as had more than usual are the machine's. They must not
//! prefer a side.

use crate::statistics::normal::Z_80;
use crate::statistics::sign_test;
use crate::statistics::spread::compute_spread;

/// A batch is slow where it takes this many times the usual cost: its side's median...
const SLOW: f64 = 1.5;
/// ...or more where either side has slower ones beyond this share of its batches: slow batches of one side alone are its own.
const NOT_SLOW: f64 = 0.95;
/// Limit on what a slow batch counts as adding, in typical batches. One in 300 of them moves a mean by a tenth.
const LONGEST: f64 = 30.0;
/// Chance below which the longest are not spread over both sides as if they were the machine's...
const UNEVEN: f64 = 0.1;
/// ...and below which that is known.
const SURELY_UNEVEN: f64 = 0.01;
/// Fewest pairs from which slow ones can be told to be absent.
const FEWEST_PAIRS: usize = 29;
/// Deviations from the mean at which a normal distribution has 95 % below.
const Z_95: f64 = 1.644_853_626_951_472_2;

/// Batches of a trial that took turns.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct TrialBatches {
    /// Cost of each.
    pub costs: Vec<f64>,
    /// Number of those that another program interrupted.
    pub interrupted: u64,
}

/// The standard of a cell by which batches are slow.
#[derive(Clone, Copy, Debug)]
struct Standard {
    /// Median cost of a batch, of the baseline's side and the other's.
    typical: [f64; 2],
    /// Usual cost of a batch, in typical ones: 1, or more where many are slow by nature.
    usual: f64,
}

impl Standard {
    /// Takes the standard of pairs, the baseline's side first; none where a side has no batches.
    fn from_pairs(pairs: &[&[TrialBatches; 2]]) -> Option<Standard> {
        let mut sides = [0, 1].map(|side: usize| -> Vec<f64> {
            pairs.iter().flat_map(|both| both[side].costs.iter().copied()).collect()
        });
        if sides.iter().any(Vec::is_empty) {
            return None;
        }
        let typical = sides.each_mut().map(|costs| select_share(costs, 0.5));
        let [baseline, target] = [0, 1].map(|side| select_share(&mut sides[side], NOT_SLOW) / typical[side]);
        Some(Standard { typical, usual: (baseline.min(target) / SLOW).max(1.0) })
    }
}

/// Selects the value below which this share of some lies.
fn select_share(values: &mut [f64], share: f64) -> f64 {
    let at = ((values.len() as f64 * share) as usize).min(values.len() - 1);
    *values.select_nth_unstable_by(at, f64::total_cmp).1
}

/// Slow batches of a trial, and what they add in typical batches.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
struct SlowBatches {
    batches: u64,
    slow: u64,
    added: f64,
    /// The slow ones that another program interrupted.
    interrupted: u64,
    /// Others that add more than [`LONGEST`].
    longest: u64,
    /// The sum of what each of the others counts as adding.
    counted: f64,
}

impl SlowBatches {
    /// Counts the slow ones of a trial on one side. Each adds what it takes beyond the usual.
    fn count_slow(trial: &TrialBatches, standard: &Standard, side: usize) -> SlowBatches {
        let mut counted = SlowBatches { batches: trial.costs.len() as u64, ..SlowBatches::default() };
        let in_typical = trial.costs.iter().map(|cost| cost / standard.typical[side]);
        let mut slow: Vec<f64> = in_typical.filter(|cost| *cost > SLOW * standard.usual).collect();
        slow.sort_unstable_by(|a, b| b.total_cmp(a));
        for cost in slow {
            let added = cost - standard.usual;
            counted.slow += 1;
            counted.added += added;
            if counted.slow <= trial.interrupted {
                counted.interrupted += 1;
                continue;
            }
            counted.longest += u64::from(added > LONGEST);
            counted.counted += added.min(LONGEST);
        }
        counted
    }

    fn join(self, other: SlowBatches) -> SlowBatches {
        SlowBatches {
            batches: self.batches + other.batches,
            slow: self.slow + other.slow,
            added: self.added + other.added,
            interrupted: self.interrupted + other.interrupted,
            longest: self.longest + other.longest,
            counted: self.counted + other.counted,
        }
    }

    /// Averages over all batches.
    fn average(self, sum: f64) -> f64 {
        sum / self.batches as f64
    }
}

/// Difference that slow batches make to the mean, in typical batches: the environment's less the baseline's.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct TailDifference {
    pub estimate: f64,
    /// The estimate from what each counts as adding, and the distance of its bounds at 95 %.
    counted: f64,
    error: f64,
    /// The most that those that were seen add, however long each is, at 95 %.
    most: f64,
    /// Batches of the side that has fewer.
    fewest: u64,
    /// Chance that the longest or the interrupted ones come as unevenly, were they the machine's.
    chance: f64,
    /// Slow batches in the environment, of all of its batches.
    pub slow: (u64, u64),
    pairs: usize,
}

impl TailDifference {
    /// Sums up pairs, the baseline's side first; none where there are no batches.
    pub fn from_pairs(pairs: &[&[TrialBatches; 2]]) -> Option<TailDifference> {
        let standard = Standard::from_pairs(pairs)?;
        let count = |both: &&[TrialBatches; 2]| {
            [0, 1].map(|side| SlowBatches::count_slow(&both[side], &standard, side))
        };
        let slow: Vec<[SlowBatches; 2]> = pairs.iter().map(count).collect();
        let sum =
            |side: usize| slow.iter().map(|both| both[side]).fold(SlowBatches::default(), SlowBatches::join);
        let (baseline, target) = (sum(0), sum(1));
        let fewest = baseline.batches.min(target.batches);
        let seen = baseline.join(target);
        // Each kind is given another batch, as large as the mean of those that were seen: some may not have been seen. Where none was,
        // the answer gives the share that may have been missed.
        let own = seen.slow - seen.interrupted;
        let one_more = if own == 0 { SLOW - 1.0 } else { seen.counted / own as f64 };
        let error_of = |sum: fn(&SlowBatches) -> f64, one_more: f64| {
            let both = slow.iter().filter(|both| both.iter().all(|side| side.batches > 0));
            let each: Vec<f64> = both
                .map(|[baseline, target]| target.average(sum(target)) - baseline.average(sum(baseline)))
                .collect();
            let deviation = compute_spread(&each).and_then(|spread| spread.deviation).unwrap_or(0.0);
            let unseen = one_more * one_more / (baseline.batches as f64 * target.batches as f64);
            Z_95 * (deviation * deviation / each.len().max(1) as f64 + unseen).sqrt()
        };
        // An interrupted trial often is so several times: pairs count, by the side that was interrupted more.
        let more = |side: usize| {
            slow.iter().filter(|both| both[side].interrupted > both[1 - side].interrupted).count() as u64
        };
        let estimate = target.average(target.added) - baseline.average(baseline.added);
        let one_more_in_full = if seen.slow == 0 { SLOW - 1.0 } else { seen.added / seen.slow as f64 };
        let in_full = estimate + error_of(|side| side.added, one_more_in_full);
        Some(TailDifference {
            estimate,
            most: in_full.max(0.0),
            fewest,
            counted: target.average(target.counted) - baseline.average(baseline.counted),
            chance: chance_of_sides(baseline.longest, target.longest).min(chance_of_sides(more(0), more(1))),
            error: error_of(|side| side.counted, one_more),
            slow: (target.slow, target.batches),
            pairs: slow.len(),
        })
    }

    /// Returns the most that they add to the mean, in typical batches; infinite where a side has fewer batches than this.
    pub fn most(&self, fewest: u64) -> f64 {
        if self.fewest >= fewest { self.most } else { f64::INFINITY }
    }

    /// Checks if there are pairs enough for slow batches to have shown themselves.
    pub fn has_pairs(&self) -> bool {
        self.pairs >= FEWEST_PAIRS
    }

    /// Tells whether slow batches are known to make no more of a difference than this, either way.
    pub fn is_within(&self, edge: f64) -> bool {
        self.has_pairs() && self.chance >= UNEVEN && self.counted.abs() + self.error <= edge
    }

    /// Counts the pairs in all with which they would be known to be within, were the difference what it seems to be; none where it is
    /// not within.
    pub fn pairs_to_decide(&self, edge: f64) -> Option<usize> {
        let room = edge - self.counted.abs();
        // With 80 % power, as every number of pairs that is said to decide.
        let times = (self.error * (1.0 + Z_80 / Z_95) / room).powi(2);
        (room > 0.0 && self.chance >= UNEVEN)
            .then(|| ((self.pairs as f64 * times).ceil() as usize).max(self.pairs + 1).max(FEWEST_PAIRS))
    }

    /// Tells whether they are known to make more of a difference than this.
    pub fn is_beyond(&self, edge: f64) -> bool {
        self.counted.abs() - self.error > edge || self.chance < SURELY_UNEVEN && self.estimate.abs() > edge
    }
}

/// Computes by their signs the chance that stalls are spread so unevenly over as many batches of two sides.
fn chance_of_sides(of_baseline: u64, of_target: u64) -> f64 {
    let of_side = |stalls: u64, sign: f64| std::iter::repeat_n(sign, stalls as usize);
    let signs: Vec<f64> = of_side(of_baseline, -1.0).chain(of_side(of_target, 1.0)).collect();
    if signs.is_empty() { 1.0 } else { sign_test::p_value(&signs) }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sum_up(pairs: &[[TrialBatches; 2]]) -> Option<TailDifference> {
        TailDifference::from_pairs(&pairs.iter().collect::<Vec<_>>())
    }

    fn pairs(count: u32, both: impl Fn(u32) -> [Vec<f64>; 2]) -> Option<TailDifference> {
        let batches = |round| both(round).map(|costs| TrialBatches { costs, interrupted: 0 });
        sum_up(&(0..count).map(batches).collect::<Vec<_>>())
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
        assert!(
            pairs(40, plain(1)).unwrap().is_within(0.05),
            "the share that may be missed stands beside it"
        );
        assert_eq!(pairs(0, plain(4)), None);
    }

    #[test]
    fn a_bad_moment_that_hits_both_sides_of_a_pair_makes_no_difference_uncertain() {
        let four = |is_bad: bool| {
            let mut each = vec![1.0; 24];
            each[..4].fill(if is_bad { 4.0 } else { 1.0 });
            each
        };
        let apart = pairs(40, |round| [four(round % 8 == 0), four(round % 8 == 4)]).unwrap();
        let together = pairs(40, |round| [four(round % 8 == 0), four(round % 8 == 0)]).unwrap();
        assert!(!apart.is_within(0.05) && together.is_within(0.05), "{apart:?} {together:?}");
    }

    #[test]
    fn pairs_that_decide_grow_with_the_square_of_the_error() {
        let tail = |count| {
            pairs(count, |round| {
                let stall = |is_one: bool| if is_one { with_one(10.0) } else { vec![1.0; 24] };
                [stall(round % 8 == 0), stall(round % 8 == 4)]
            })
        };
        let (few, more) = (tail(40).unwrap(), tail(80).unwrap());
        let [from_few, from_more] = [few, more].map(|tail| tail.pairs_to_decide(0.05).unwrap());
        assert!(!few.is_within(0.05) && (80..140).contains(&from_few), "{few:?}");
        assert!(from_more.abs_diff(from_few) < 30, "{from_few} and {from_more}");
        let uneven =
            pairs(40, |round| [vec![1.0; 24], if round % 2 == 0 { with_one(10.0) } else { vec![1.0; 24] }]);
        assert_eq!(uneven.unwrap().pairs_to_decide(0.05), None);
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
    fn a_tail_shows_where_a_trial_has_one_batch() {
        let one = |is_slow: bool| vec![if is_slow { 10.0 } else { 1.0 }];
        let of = |count| pairs(count, |round| [one(false), one(round % 20 == 3)]).unwrap();
        assert!(!of(40).is_within(0.05) && of(320).is_beyond(0.05), "{:?}", of(320));
        let drifting = |round: u32| vec![1.0 + f64::from(round % 100) / 50.0];
        assert!(pairs(300, |round| [drifting(round), drifting(round)]).unwrap().is_within(0.05));
    }

    #[test]
    fn a_disk_whose_slow_fifth_is_its_nature_has_no_long_tail() {
        // A fifth takes two to four times as long, on either side, and one in three hundred takes thirty times.
        let disk = |round: u32, stalls: u32| {
            let each = |at: u32| match (round * 24 + at).wrapping_mul(2_654_435_761) >> 16 {
                hash if stalls > 0 && hash % stalls == 0 => 30.0,
                hash if hash % 5 == 0 => 2.0 + f64::from(hash % 97) / 48.0,
                hash => 1.0 + f64::from(hash % 89) / 890.0,
            };
            (0..24).map(each).collect::<Vec<f64>>()
        };
        let alike = pairs(60, |round| [disk(round, 0), disk(round + 1_000, 0)]).unwrap();
        assert!(alike.is_within(0.05) && alike.slow.0 * 15 < alike.slow.1, "{alike:?}");
        let one_sided = pairs(60, |round| [vec![1.0; 24], disk(round, 0)]).unwrap();
        assert!(one_sided.is_beyond(0.05), "{one_sided:?}");
        let stalling = pairs(60, |round| [disk(round, 0), disk(round + 1_000, 150)]).unwrap();
        assert!(!stalling.is_within(0.05), "{stalling:?}");
    }

    #[test]
    fn a_few_long_stalls_of_the_machine_leave_a_mean_known() {
        let stall = |is_one: bool, cost: f64| if is_one { with_one(cost) } else { vec![1.0; 24] };
        let tail = pairs(120, |round| [stall(round == 50, 200.0), stall(round == 90, 350.0)]).unwrap();
        assert!(tail.is_within(0.05), "{tail:?}");
    }

    #[test]
    fn long_stalls_of_one_side_are_its_own() {
        // Five in 14,400 batches: what they count as adding is 1 %, what they add is 17 %.
        let every = |rounds: u32| {
            let stall =
                |round: u32| if round.is_multiple_of(rounds) { with_one(500.0) } else { vec![1.0; 24] };
            pairs(600, |round| [vec![1.0; 24], stall(round)]).unwrap()
        };
        let (five, eight) = (every(120), every(75));
        assert!(!five.is_within(0.05) && !five.is_beyond(0.05), "one side in sixteen has all five: {five:?}");
        assert!(!eight.is_within(0.05) && eight.is_beyond(0.05), "{eight:?}");
    }

    #[test]
    fn stalls_of_both_sides_are_the_machines() {
        let stall = |round: u32| if round.is_multiple_of(6) { with_one(3.0) } else { vec![1.0; 24] };
        assert!(pairs(90, |round| [stall(round), stall(round + 3)]).unwrap().is_within(0.05));
    }

    /// Makes pairs whose trials were interrupted in these rounds, for 70 batches each time, and the kernel's count of that.
    fn interrupted(of_baseline: u32, of_target: u32, forced: u64) -> TailDifference {
        let trial = |is_one: bool| {
            let costs = if is_one { with_one(70.0) } else { vec![1.0; 24] };
            TrialBatches { costs, interrupted: if is_one { forced } else { 0 } }
        };
        let pair = |round: u32| [trial(round.is_multiple_of(of_baseline)), trial(round % of_target == 1)];
        sum_up(&(0..60).map(pair).collect::<Vec<_>>()).unwrap()
    }

    #[test]
    fn what_other_programs_took_is_the_machines_unless_it_prefers_a_side() {
        assert!(!interrupted(3, 3, 0).is_within(0.05), "nobody says that these were interrupted");
        assert!(interrupted(3, 3, 1).is_within(0.05) && interrupted(3, 4, 20).is_within(0.05));
        let uneven = interrupted(30, 3, 1);
        assert!(!uneven.is_within(0.05) && uneven.is_beyond(0.05), "{uneven:?}");
    }

    #[test]
    fn interruptions_hide_no_stalls_of_an_environment_in_other_trials() {
        let trial = |costs, interrupted| TrialBatches { costs, interrupted };
        let pair = |round: u32| {
            let stalls = if round.is_multiple_of(4) { with_one(10.0) } else { vec![1.0; 24] };
            match round.is_multiple_of(3) {
                true => [with_one(70.0), with_one(70.0)].map(|costs| trial(costs, 8)),
                false => [trial(vec![1.0; 24], 0), trial(stalls, 0)],
            }
        };
        let tail = sum_up(&(0..90).map(pair).collect::<Vec<_>>()).unwrap();
        assert!(!tail.is_within(0.05), "{tail:?}");
    }
}
