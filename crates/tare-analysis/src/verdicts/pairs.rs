//! Pairs: rounds in which an environment and the baseline both gave a value, and the units that are compared.

use tare_data::metric::Metric;
use tare_data::session::Trial;
use tare_data::unit::Direction;

use crate::statistics::signed_ranks::{hodges_lehmann, sort_values};
use crate::statistics::slow_batches::{SlowBatches, TailDifference};
use crate::verdicts::summary::{RoundValue, Series, read_series_against};

/// A round in which both the environment and the baseline gave a value.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Pair {
    pub round: u32,
    /// Which start of the baseline, and which of the environment, it ran in.
    pub baseline_start: u32,
    pub start: u32,
    /// ln of the cost ratio: above 0 the environment is slower.
    pub d: f64,
    /// Cost of all timed work, in the baseline and in the environment; none where only a typical value is
    /// known.
    pub costs: Option<[f64; 2]>,
    /// Slow batches of both; none where their trials did not take turns.
    pub slow: Option<[SlowBatches; 2]>,
}

/// The paired rounds of a cell, in order, and how many rounds both have run, failures included.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Pairs {
    pub pairs: Vec<Pair>,
    pub reached: u32,
    /// Limit on the error that the ticks of both clocks leave in every difference; 0 where neither ticks.
    pub resolution: f64,
    /// Time from the first to the last, in seconds; none where it is not known.
    pub spread_s: Option<f64>,
}

impl Pairs {
    /// Sums up the slow batches of the rounds before this one; none where trials did not take turns.
    pub(crate) fn tail_before(&self, round: u32) -> Option<TailDifference> {
        let known = self.pairs.iter().take_while(|pair| pair.round < round);
        TailDifference::from_pairs(&known.map(|pair| pair.slow).collect::<Option<Vec<_>>>()?)
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
        let (slower, slow) = match neighbours_difference(of_baseline, of_target) {
            Some(slower) => {
                let costs =
                    |value: &RoundValue| value.each.iter().map(|each| cost(*each)).collect::<Vec<_>>();
                let slow = [of_baseline, of_target]
                    .map(|value| SlowBatches::count_slow(&costs(value), value.interrupted));
                // A single pass has no batches among which one is slow.
                (slower, Some(slow).filter(|_| of_target.each.len() > 1))
            }
            None => (libm::log(of_target.value) - libm::log(of_baseline.value), None),
        };
        let d = match direction {
            Direction::Lower => slower,
            Direction::Higher => -slower,
        };
        let costs = of_baseline.total.zip(of_target.total).map(|(a, b)| [cost(a), cost(b)]);
        let costs = costs.filter(|costs| costs.iter().all(|cost| cost.is_finite() && *cost > 0.0));
        let (round, start) = (of_target.round, of_target.start);
        pairs.push(Pair { round, baseline_start: of_baseline.start, start, d, costs, slow });
    }
    if pairs.is_empty() {
        return Err(NoPairs::NoCommonRound);
    }
    Ok(Pairs { pairs, reached: target.reached.min(baseline.reached), resolution: 0.0, spread_s: None })
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
    // Of a round that has both, the trial that took turns, which is sorted behind the one that ran alone.
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
#[derive(Clone, Debug)]
pub(crate) struct Units {
    /// Round, number of the unit, difference; in order of rounds.
    rounds: Vec<(u32, usize, f64)>,
    /// Costs of the rounds on both sides; empty where they are not known of all of them.
    costs: Vec<[f64; 2]>,
    /// Number of units.
    count: usize,
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
        Units { rounds, costs, count: starts.len() }
    }

    /// Makes every round a unit, as if it had a start for itself: the result holds for these starts only.
    pub fn by_round(&self) -> Units {
        let rounds = self.rounds.iter().enumerate().map(|(at, (round, _, d))| (*round, at, *d));
        Units { rounds: rounds.collect(), costs: self.costs.clone(), count: self.rounds.len() }
    }

    /// Joins units to blocks of this many that follow each other; the last takes those that are left over.
    pub fn into_blocks(self, length: usize) -> Units {
        let count = (self.count / length).max(1);
        let block = |unit: usize| (unit / length).min(count - 1);
        let rounds = self.rounds.into_iter().map(|(round, unit, d)| (round, block(unit), d)).collect();
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
            Pair { slow: None, round, baseline_start, start, d: f64::from(round), costs: Some([1.0, 2.0]) }
        };
        (0..12).map(pair).collect()
    }

    #[test]
    fn the_first_of_two_neighbours_may_take_longer() {
        // Beside a busy program: 3.3 ms for whoever is second in a tick of the scheduler's, and 4.6 ms for whoever is first.
        let of =
            |each: Vec<f64>| RoundValue { round: 0, start: 0, value: 4.0, total: None, each, interrupted: 0 };
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
        let units = Units::from_pairs(&pairs(|round| (round, round)));
        assert_eq!(units.clone().into_blocks(1).differences_before(12).len(), 12);
        assert_eq!(units.clone().into_blocks(5).in_order(12), [2.0, 8.0]);
        assert_eq!(units.clone().into_blocks(50).in_order(12), [5.5]);
        assert!(units.into_blocks(5).are_shared());
        assert_eq!(
            Units::from_pairs(&pairs(|round| (round / 2, round))).into_blocks(3).in_order(12),
            [2.5, 8.5]
        );
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
