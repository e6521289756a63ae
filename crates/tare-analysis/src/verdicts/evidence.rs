//! The differences behind a judgement, which give its interval at other levels.

use crate::findings::Leading;
use crate::findings::sameness::FEWEST_STARTS;
use crate::statistics::signed_ranks::{Interval, Nulls};
use crate::verdicts::pairs::Units;
use crate::verdicts::stopping::{self, Look, Schedule};

/// The units of a cell, and the looks by which they are judged.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Evidence {
    pub units: Units,
    /// Rounds or starts, where blocks of them are the units and all of them are on one side.
    pub one_sided: Option<Units>,
    pub schedule: Schedule,
    pub leading: Leading,
    pub reached: u32,
    pub resolution: f64,
}

/// Counts the units that a verdict needs, and an interval: a round with a start for itself is a unit like any
/// other.
pub(crate) fn fewest_of(units: &Units) -> usize {
    if units.are_shared() { FEWEST_STARTS } else { 0 }
}

/// Follows units through all looks, and returns the last.
pub(crate) fn last_look(units: &Units, schedule: &Schedule, reached: u32, nulls: &mut Nulls) -> Option<Look> {
    let fewest = fewest_of(units);
    stopping::follow_looks(schedule, reached, fewest, nulls, |at| units.differences_before(at)).pop()
}

impl Evidence {
    /// Finds the interval at a share of the level.
    ///
    /// Blocks may be too few for one. Where all rounds are on one side, which gives the direction its p, they lie beyond the nearest of
    /// them by the same reasoning, and by how much is open.
    pub(crate) fn interval_at(&self, share: f64, nulls: &mut Nulls) -> Interval {
        let schedule = self.schedule.with_share(share);
        let look = last_look(&self.units, &schedule, self.reached, nulls);
        let interval = look.map_or(Interval::EVERYTHING, |look| look.interval(self.leading));
        let rounds = self.one_sided.as_ref().filter(|_| interval == Interval::EVERYTHING);
        let bound = rounds.and_then(|rounds| {
            let look = last_look(rounds, &schedule, self.reached, nulls)?;
            let has_interval = look.ranks != Interval::EVERYTHING;
            has_interval.then(|| beyond_the_nearest(&rounds.differences_before(u32::MAX)))
        });
        bound.unwrap_or(interval).widen(self.resolution)
    }

    /// Computes the p of "no effect", or of the cost nearest to it that the clocks cannot tell from the estimate.
    pub(crate) fn p_of_no_effect(&self, estimate: f64, nulls: &mut Nulls) -> f64 {
        let at = estimate.clamp(-self.resolution, self.resolution);
        let from = |rounds| self.units.differences_before(rounds).into_iter().map(|d| d - at).collect();
        let fewest = fewest_of(&self.units);
        let looks = stopping::follow_looks(&self.schedule, self.reached, fewest, nulls, from);
        looks.last().map_or(1.0, |look| look.p(self.leading))
    }
}

/// Bounds values that are all on one side of zero by the one that is nearest to it.
fn beyond_the_nearest(sorted: &[f64]) -> Interval {
    match sorted {
        [nearest, ..] if *nearest > 0.0 => Interval { low: *nearest, high: f64::INFINITY },
        [.., nearest] => Interval { low: f64::NEG_INFINITY, high: *nearest },
        [] => Interval::EVERYTHING,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::verdicts::pairs::{Blocks, Pair};
    use crate::verdicts::stopping::planned_looks;

    #[test]
    fn blocks_that_are_too_few_for_a_level_leave_a_bound_where_all_rounds_are_on_one_side() {
        let d = |round: u32| libm::log(41.7) + f64::from(round) / 1e3;
        let pairs: Vec<Pair> = (0..64).map(|round| Pair::from_difference(round, d(round))).collect();
        let rounds = Units::from_pairs(&pairs);
        let evidence = Evidence {
            units: rounds.clone().into_blocks(Blocks { slice_s: 0.0, length: 8 }),
            one_sided: Some(rounds),
            schedule: Schedule::new(&planned_looks(64), 64).with_time_over(),
            leading: Leading::HodgesLehmann,
            reached: 64,
            resolution: 0.0,
        };
        let mut nulls = Nulls::default();
        let Interval { low, high } = evidence.interval_at(1.0, &mut nulls);
        assert!(low > libm::log(41.7) && high.is_finite(), "eight blocks have an interval of their own");
        let among_many = evidence.interval_at(0.1, &mut nulls);
        assert_eq!(among_many, Interval { low: libm::log(41.7), high: f64::INFINITY });
        let either_side = Evidence { one_sided: None, ..evidence };
        assert_eq!(either_side.interval_at(0.1, &mut nulls), Interval::EVERYTHING);
    }
}
