//! Pairs: rounds in which an environment and the baseline both gave a value, and the units that are compared.

use tare_data::metric::Metric;
use tare_data::session::Trial;
use tare_data::unit::Direction;

use crate::findings::Span;
use crate::findings::sameness::FEWEST_STARTS;
use crate::findings::seen::is_lasting;
use crate::statistics::serial;
use crate::statistics::signed_ranks::{hodges_lehmann, sort_values};
use crate::statistics::slow_batches::{TailDifference, TrialBatches};
use crate::verdicts::summary::{RoundValue, Series, read_series_against};

/// Fewest blocks where the likeness of rounds may be chance: it must not take the verdict away.
const FEWEST_IN_DOUBT: usize = 12;

/// A round in which both the environment and the baseline gave a value.
#[derive(Clone, Debug, PartialEq)]
pub struct Pair {
    pub round: u32,
    /// Which start of the baseline, and which of the environment, it ran in.
    pub baseline_start: u32,
    pub start: u32,
    /// When it began, in seconds of the session.
    pub at_s: f64,
    /// ln of the cost ratio: above 0 the environment is slower.
    pub d: f64,
    /// Cost of all timed work, in the baseline and in the environment; none where only a typical value is
    /// known.
    pub costs: Option<[f64; 2]>,
    /// Batches of both; none where their trials did not take turns.
    pub batches: Option<[TrialBatches; 2]>,
}

impl Pair {
    /// Creates a round with a start for itself, a second after the one before, of which nothing but the difference is known.
    pub fn from_difference(round: u32, d: f64) -> Pair {
        Pair {
            round,
            baseline_start: round,
            start: round,
            at_s: f64::from(round),
            d,
            costs: None,
            batches: None,
        }
    }
}

/// The paired rounds of a cell, in order, and how many rounds both have run, failures included.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Pairs {
    pub pairs: Vec<Pair>,
    pub reached: u32,
    /// Limit on the error that the ticks of both clocks leave in every difference; 0 where neither ticks.
    pub resolution: f64,
}

impl Pairs {
    /// Measures the time from the first to the last, and how closely it was seen.
    pub(crate) fn measure_span(&self) -> Span {
        let began_s = self.pairs.iter().map(|pair| pair.at_s);
        let at_s = |pair: Option<&Pair>| pair.map_or(0.0, |pair| pair.at_s);
        let seconds = (at_s(self.pairs.last()) - at_s(self.pairs.first())).max(0.0);
        Span { rounds: self.reached, seconds, is_lasting: is_lasting(began_s) }
    }

    /// Sums up the slow batches of the rounds before this one; none where trials did not take turns.
    pub(crate) fn tail_before(&self, round: u32) -> Option<TailDifference> {
        let known = self.pairs.iter().take_while(|pair| pair.round < round);
        TailDifference::from_pairs(&known.map(|pair| pair.batches.as_ref()).collect::<Option<Vec<_>>>()?)
    }
}

/// Why values cannot be paired.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum NoPairs {
    /// No round in which both gave a value.
    NoCommonRound,
    /// A value of zero or below has no ratio; leaving such rounds out would choose rounds by their outcome.
    NotPositive,
}

impl NoPairs {
    pub fn describe(self) -> &'static str {
        match self {
            NoPairs::NoCommonRound => "no round gave a value both here and in the baseline",
            NoPairs::NotPositive => "a value of zero or less has no ratio",
        }
    }
}

/// Matches an environment's rounds with the baseline's.
pub(crate) fn pair_rounds(
    baseline: &Series,
    target: &Series,
    direction: Direction,
) -> Result<Pairs, NoPairs> {
    // Work done in a time costs the time that it takes.
    let cost = |total: f64| match direction {
        Direction::Lower => total,
        Direction::Higher => total.recip(),
    };
    let mut pairs = Vec::with_capacity(target.values.len());
    for (of_baseline, of_target) in common_rounds(baseline, target) {
        if of_target.value <= 0.0 || of_baseline.value <= 0.0 {
            return Err(NoPairs::NotPositive);
        }
        let (slower, batches) = match neighbours_difference(of_baseline, of_target) {
            Some(slower) => {
                let batches = |value: &RoundValue| TrialBatches {
                    costs: value.each.iter().map(|each| cost(*each)).collect(),
                    interrupted: value.interrupted,
                };
                (slower, Some([of_baseline, of_target].map(batches)))
            }
            None => (libm::log(of_target.value) - libm::log(of_baseline.value), None),
        };
        let d = match direction {
            Direction::Lower => slower,
            Direction::Higher => -slower,
        };
        let costs = of_baseline.total.zip(of_target.total).map(|(a, b)| [cost(a), cost(b)]);
        let costs = costs.filter(|costs| costs.iter().all(|cost| cost.is_finite() && *cost > 0.0));
        let RoundValue { round, start, started_ns, .. } = *of_target;
        let at_s = started_ns as f64 / 1e9;
        pairs.push(Pair { round, baseline_start: of_baseline.start, start, at_s, d, costs, batches });
    }
    if pairs.is_empty() {
        return Err(NoPairs::NoCommonRound);
    }
    Ok(Pairs { pairs, reached: target.reached.min(baseline.reached), resolution: 0.0 })
}

/// Computes the typical difference between neighbouring batches of two trials that took turns: whatever hits both cancels out.
///
/// It is the pseudo-median, and not the median: where the first of two neighbours takes longer than the second, and each side is first
/// in half of the batches, the differences lie in two groups, and a median is at random in one of them.
fn neighbours_difference(baseline: &RoundValue, target: &RoundValue) -> Option<f64> {
    let is_one = baseline.each.len() == target.each.len() && !target.each.is_empty();
    let ratios = baseline.each.iter().zip(&target.each).map(|(a, b)| libm::log(*b) - libm::log(*a));
    let ratios: Vec<f64> = ratios.filter(|ratio| ratio.is_finite()).collect();
    (is_one && !ratios.is_empty()).then(|| hodges_lehmann(&sort_values(&ratios)))
}

/// A row's values before they are judged, environment by environment.
pub(crate) struct RowSeries {
    pub own: Vec<Series>,
    /// Values of the partner from trials that took turns with the environment's; none where none did.
    pub partner: Vec<Option<Series>>,
}

impl RowSeries {
    /// Returns the values that an environment's are compared with: its partner's, or those of another one's trials alone.
    pub fn against<'s>(&'s self, target: usize, other: &'s Series) -> &'s Series {
        self.partner[target].as_ref().unwrap_or(other)
    }
}

/// Selects the trials that took turns with those of another environment, and those that ran alone, one a round; all, where no other
/// is named.
pub(crate) fn select_trials<'a>(trials: &[&'a Trial], other: Option<&str>) -> Vec<&'a Trial> {
    let Some(name) = other else { return trials.to_vec() };
    let is_wanted = |trial: &&&Trial| trial.partner.as_deref().is_none_or(|partner| partner == name);
    let mut wanted: Vec<&Trial> = trials.iter().filter(is_wanted).copied().collect();
    // If a round has both, the trial that took turns counts, which is sorted behind the one that ran alone.
    wanted.reverse();
    wanted.dedup_by_key(|trial| trial.round);
    wanted.reverse();
    wanted
}

/// Reads an environment's values from the trials that [`select_trials`] selects.
pub(crate) fn read_against(trials: &[&Trial], metrics: &[Metric], other: Option<&str>) -> Vec<Series> {
    read_series_against(&select_trials(trials, other), metrics, other)
}

/// Lists the values of rounds in which both gave one; those of a series are in order of rounds.
pub(crate) fn common_rounds<'a>(
    baseline: &'a Series,
    target: &'a Series,
) -> impl Iterator<Item = (&'a RoundValue, &'a RoundValue)> {
    let mut of_baseline = baseline.values.iter().peekable();
    target.values.iter().filter_map(move |of_target| {
        while of_baseline.next_if(|value| value.round < of_target.round).is_some() {}
        of_baseline.peek().filter(|value| value.round == of_target.round).map(|value| (*value, of_target))
    })
}

/// The differences of a cell by independent units: rounds, or the starts that several rounds share.
///
/// Rounds of one start differ less from each other than starts do; taken as separate they would promise a precision
/// that another start does not keep (Kalibera and Jones 2013). That holds for starts of the baseline as well: the unit
/// is a start of the side that was started less often.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Units {
    /// Round, number of the unit, difference; in order of rounds.
    rounds: Vec<(u32, usize, f64)>,
    /// Costs of the rounds on both sides; empty where they are not known of all of them.
    costs: Vec<[f64; 2]>,
    /// When each unit began, in seconds; empty where that is not known.
    began_s: Vec<f64>,
    /// Number of units.
    count: usize,
}

/// The joining of units that follow each other and are alike.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Blocks {
    /// Units that began within this many seconds are first taken for one; 0 where each counts.
    pub slice_s: f64,
    /// Number of them that make a block; 1 where they are not alike.
    pub length: usize,
}

impl Blocks {
    /// Chooses how units are joined, and tells whether all units are of one sign: then no likeness takes the direction away, and blocks
    /// are as long as a verdict lets them be.
    ///
    /// A state may last longer than a cell was measured closely, at first, and be seen only later, when it was watched now and then. So
    /// likeness is looked for in slices of time as well, by a test that leaves no doubt.
    pub fn choose(units: &Units) -> (Blocks, bool) {
        let values = units.in_order(u32::MAX);
        let is_one_sided = values.iter().all(|d| *d > 0.0) || values.iter().all(|d| *d < 0.0);
        let choose = |slice_s: f64, values: &[f64], length: usize| {
            let longest = if is_one_sided { values.len() / FEWEST_STARTS } else { values.len() };
            let blocks = Blocks { slice_s, length: length.min(longest).max(1) };
            (blocks, values.len() / blocks.length)
        };
        let (by_unit, count) = choose(0.0, &values, serial::block_length(&values, FEWEST_IN_DOUBT));
        let by_time = units.usual_gap_s().map(|slice_s| {
            let values = units.clone().into_slices(slice_s).in_order(u32::MAX);
            choose(slice_s, &values, serial::block_length_beyond_doubt(&values))
        });
        let fewer = by_time.filter(|(blocks, of_time)| blocks.length > 1 && *of_time < count);
        (fewer.map_or(by_unit, |(blocks, _)| blocks), is_one_sided)
    }
}

impl Units {
    pub fn from_pairs(pairs: &[Pair]) -> Units {
        let distinct = |start: fn(&Pair) -> u32| {
            let mut starts: Vec<u32> = pairs.iter().map(start).collect();
            starts.sort_unstable();
            starts.dedup();
            starts
        };
        let (of_baseline, of_target) = (distinct(|pair| pair.baseline_start), distinct(|pair| pair.start));
        let (starts, start): (_, fn(&Pair) -> u32) = if of_baseline.len() < of_target.len() {
            (of_baseline, |pair| pair.baseline_start)
        } else {
            (of_target, |pair| pair.start)
        };
        let number = |pair: &Pair| starts.partition_point(|known| *known < start(pair));
        let rounds: Vec<_> = pairs.iter().map(|pair| (pair.round, number(pair), pair.d)).collect();
        let costs = pairs.iter().map(|pair| pair.costs).collect::<Option<_>>().unwrap_or_default();
        let mut first: Vec<_> =
            pairs.iter().zip(&rounds).map(|(pair, (_, unit, _))| (*unit, pair.at_s)).collect();
        first.sort_by_key(|(unit, _)| *unit);
        first.dedup_by_key(|(unit, _)| *unit);
        let began_s = first.into_iter().map(|(_, at_s)| at_s).collect();
        Units { rounds, costs, began_s, count: starts.len() }
    }

    /// Makes every round a unit, as if it had a start for itself: the result holds for these starts only.
    pub fn by_round(&self) -> Units {
        let rounds = self.rounds.iter().enumerate().map(|(at, (round, _, d))| (*round, at, *d));
        Units { rounds: rounds.collect(), began_s: Vec::new(), count: self.rounds.len(), ..self.clone() }
    }

    /// Joins units to blocks that follow each other; the last takes those that are left over.
    pub fn into_blocks(self, Blocks { slice_s, length }: Blocks) -> Units {
        let sliced = if slice_s > 0.0 { self.into_slices(slice_s) } else { self };
        let count = (sliced.count / length).max(1);
        sliced.join(count, |unit| (unit / length).min(count - 1))
    }

    /// Joins the units that began in the same slice of time.
    pub fn into_slices(self, slice_s: f64) -> Units {
        let from_s = self.began_s.iter().copied().fold(f64::INFINITY, f64::min);
        let slices: Vec<u64> = self.began_s.iter().map(|at_s| ((at_s - from_s) / slice_s) as u64).collect();
        let mut taken = slices.clone();
        taken.sort_unstable();
        taken.dedup();
        self.join(taken.len(), |unit| taken.partition_point(|slice| *slice < slices[unit]))
    }

    /// Finds the time between two units in which half of the session's time lies: that of its sparser part, where a cell was
    /// measured more often at first than later. None where it is not known.
    pub fn usual_gap_s(&self) -> Option<f64> {
        let mut gaps: Vec<f64> = self.began_s.windows(2).map(|at_s| (at_s[1] - at_s[0]).max(0.0)).collect();
        gaps.sort_by(f64::total_cmp);
        let mut rest_s = gaps.iter().sum::<f64>() / 2.0;
        let is_half = |gap: &&f64| {
            rest_s -= **gap;
            rest_s <= 0.0
        };
        gaps.iter().rev().find(is_half).copied().filter(|gap| *gap > 0.0)
    }

    fn join(self, count: usize, joined: impl Fn(usize) -> usize) -> Units {
        let rounds = self.rounds.into_iter().map(|(round, unit, d)| (round, joined(unit), d)).collect();
        Units { rounds, count, ..self }
    }

    /// Tells whether rounds share units.
    pub fn are_shared(&self) -> bool {
        self.count < self.rounds.len()
    }

    /// Computes the mean difference of each unit, over its rounds before this one, sorted.
    pub fn differences_before(&self, round: u32) -> Vec<f64> {
        sort_values(&self.in_order(round))
    }

    /// Computes the mean differences in the order of the units.
    pub fn in_order(&self, round: u32) -> Vec<f64> {
        let known = self.rounds[..self.rounds_before(round)].iter();
        if !self.are_shared() {
            return known.map(|(.., d)| *d).collect();
        }
        let mut sums = vec![(0.0, 0u32); self.count];
        for (_, unit, d) in known {
            sums[*unit].0 += d;
            sums[*unit].1 += 1;
        }
        let there = sums.iter().filter(|(_, rounds)| *rounds > 0);
        there.map(|(sum, rounds)| sum / f64::from(*rounds)).collect()
    }

    /// Counts the rounds before this one.
    pub fn rounds_before(&self, round: u32) -> usize {
        self.rounds.partition_point(|(at, ..)| *at < round)
    }

    /// Adds up the costs of each unit on both sides, over its rounds before this one; empty where they are
    /// not known.
    pub fn costs_before(&self, round: u32) -> Vec<[f64; 2]> {
        if self.costs.is_empty() {
            return Vec::new();
        }
        let mut sums = vec![[0.0; 2]; self.count];
        for ((_, unit, _), cost) in self.rounds.iter().zip(&self.costs).take(self.rounds_before(round)) {
            sums[*unit][0] += cost[0];
            sums[*unit][1] += cost[1];
        }
        sums.retain(|[baseline, _]| *baseline > 0.0);
        sums
    }

    /// Lists the differences of each unit, unit by unit.
    pub fn differences_by_unit(&self) -> Vec<Vec<f64>> {
        let mut groups = vec![Vec::new(); self.count];
        self.rounds.iter().for_each(|(_, unit, d)| groups[*unit].push(*d));
        groups
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pairs(starts: impl Fn(u32) -> (u32, u32)) -> Vec<Pair> {
        let pair = |round| {
            let (baseline_start, start) = starts(round);
            let at_s = f64::from(round);
            Pair {
                batches: None,
                round,
                baseline_start,
                start,
                at_s,
                d: f64::from(round),
                costs: Some([1.0, 2.0]),
            }
        };
        (0..12).map(pair).collect()
    }

    #[test]
    fn the_first_of_two_neighbours_may_take_longer() {
        // Beside a busy program: 3.3 ms for whoever is second in a tick of the scheduler's, and 4.6 ms for whoever is first.
        let round = RoundValue {
            round: 0,
            start: 0,
            started_ns: 0,
            value: 4.0,
            total: None,
            each: Vec::new(),
            interrupted: 0,
        };
        let of = |each: Vec<f64>| RoundValue { each, ..round.clone() };
        let firsts =
            [true, true, false, true, false, true, true, false, true, false, true, false, true, false];
        let times = |is_first: bool| if is_first { 4.6 } else { 3.3 };
        let baseline = of(firsts.iter().map(|first| times(*first)).collect());
        let target = of(firsts.iter().map(|first| times(!*first)).collect());
        let found = neighbours_difference(&baseline, &target).unwrap();
        assert!(found.abs() < 1e-9, "a median has {} of them: {found}", libm::log(3.3 / 4.6));
    }

    #[test]
    fn the_side_that_was_started_less_often_makes_the_units() {
        let units = |starts: fn(u32) -> (u32, u32)| {
            Units::from_pairs(&pairs(starts)).differences_before(u32::MAX).len()
        };
        assert_eq!(units(|round| (round, round)), 12);
        assert_eq!(units(|round| (round, round / 4)), 3);
        assert_eq!(units(|round| (round / 6, round)), 2);
        assert_eq!(units(|round| (round / 6, round / 4)), 2);
        assert_eq!(units(|round| (round / 4, round / 6)), 2);
        assert_eq!(units(|_| (7, 9)), 1);
    }

    #[test]
    fn units_are_joined_to_blocks_and_none_is_left_over() {
        let of = |length| Blocks { slice_s: 0.0, length };
        let units = Units::from_pairs(&pairs(|round| (round, round)));
        assert_eq!(units.clone().into_blocks(of(1)).differences_before(12).len(), 12);
        assert_eq!(units.clone().into_blocks(of(5)).in_order(12), [2.0, 8.0]);
        assert_eq!(units.clone().into_blocks(of(50)).in_order(12), [5.5]);
        assert!(units.into_blocks(of(5)).are_shared());
        assert_eq!(
            Units::from_pairs(&pairs(|round| (round / 2, round))).into_blocks(of(3)).in_order(12),
            [2.5, 8.5]
        );
    }

    #[test]
    fn units_of_one_slice_of_time_are_joined() {
        // Six in the first second, then one a second.
        let mut all = pairs(|round| (round, round));
        let at_s = |round: u32| if round < 6 { 0.1 * f64::from(round) } else { f64::from(round - 5) };
        all.iter_mut().for_each(|pair| pair.at_s = 3.0 + at_s(pair.round));
        let units = Units::from_pairs(&all);
        assert_eq!(units.usual_gap_s(), Some(1.0));
        assert_eq!(units.clone().into_slices(1.0).in_order(12), [2.5, 6.0, 7.0, 8.0, 9.0, 10.0, 11.0]);
        let blocks = Blocks { slice_s: 1.0, length: 3 };
        assert_eq!(units.into_blocks(blocks).in_order(12), [28.0 / 8.0, 9.5]);
    }

    #[test]
    fn a_unit_is_the_mean_of_its_rounds_so_far() {
        let units = Units::from_pairs(&pairs(|round| (round / 4, round)));
        assert_eq!(units.differences_before(12), [1.5, 5.5, 9.5]);
        assert_eq!(units.differences_before(6), [1.5, 4.5]);
        assert_eq!(units.by_round().differences_before(3), [0.0, 1.0, 2.0]);
        assert_eq!(units.costs_before(6), [[4.0, 8.0], [2.0, 4.0]]);
        assert!(units.are_shared() && !units.by_round().are_shared());
    }
}
