//! The verdict of an interval at a margin, and the number of rounds or starts that would decide it.

use crate::findings::{Needed, Verdict};
use crate::statistics::normal::{Z_80, Z_975, upper_tail, upper_tail_at};
use crate::statistics::signed_ranks::Interval;

/// Rounds that signed ranks need beyond the normal formula, for skewed and heavy-tailed differences and for
/// looking more than once; found by simulation over the noise models of the tests.
const RANK_FACTOR: f64 = 1.35;

/// Beyond this many times a cell's units, no session of the kind will decide it.
const MOST_TIMES: usize = 10;

/// The border between the same and a difference, as logarithms of ratios.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Margin {
    /// The study's margin, above 0.
    pub planned: f64,
    /// The false difference that a control shows, at least 0.
    floor: f64,
}

impl Margin {
    /// Makes a margin for sessions whose control is not off.
    pub fn from_planned(margin: f64) -> Margin {
        Margin { planned: margin, floor: 0.0 }
    }

    /// Raises the margin for a control that is off by so much.
    pub(crate) fn raise_floor(self, floor: f64) -> Margin {
        Margin { floor: self.floor.max(floor), ..self }
    }

    /// Gives the edge within which it is the same: an error of the control may hide as much of a cost as it
    /// may feign.
    pub(crate) fn sameness_edge(self) -> f64 {
        self.planned - self.floor
    }

    /// Gives the edge beyond which it is a difference.
    pub(crate) fn difference_edge(self) -> f64 {
        self.planned.max(self.floor)
    }
}

/// Decides among the three regions at once: slower, faster, the same. Testing all three costs no further
/// error, because the truth is in one of them only (Goeman, Solari and Stijnen 2010).
///
/// `interval` and `margin` are logarithms of the cost ratio.
pub(crate) fn decide_verdict(interval: Interval, margin: Margin) -> Verdict {
    let Interval { low, high } = interval;
    if low >= margin.difference_edge() {
        Verdict::Slower
    } else if high <= -margin.difference_edge() {
        Verdict::Faster
    } else if -margin.sameness_edge() <= low && high <= margin.sameness_edge() {
        match (low > margin.floor, high < -margin.floor) {
            (true, _) => Verdict::SlightlySlower,
            (_, true) => Verdict::SlightlyFaster,
            _ => Verdict::Same,
        }
    } else if low > 0.0 {
        Verdict::SlowerUnclear
    } else if high < 0.0 {
        Verdict::FasterUnclear
    } else {
        Verdict::Inconclusive
    }
}

/// The distribution of a cell's units: their number, centre and spread.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Scatter {
    pub units: usize,
    pub estimate: f64,
    pub deviation: f64,
}

impl Scatter {
    /// Describes units whose mean is known with this standard error.
    pub fn of_mean(units: usize, estimate: f64, error: f64) -> Scatter {
        Scatter { units, estimate, deviation: error * (units as f64 / RANK_FACTOR).sqrt() }
    }

    /// Computes the standard error of the estimate after a number of units.
    pub fn standard_error(&self, units: usize) -> f64 {
        self.deviation * (RANK_FACTOR / units as f64).sqrt()
    }

    /// Computes the chance that one look after a number of units decides at a margin, if the truth is the
    /// estimate.
    pub fn power(&self, units: usize, margin: Margin) -> f64 {
        let error = self.standard_error(units).max(f64::MIN_POSITIVE);
        let above = |edge: f64| upper_tail(Z_975 - (self.estimate.abs() - edge) / error);
        let inside = |edge: f64| upper_tail(Z_975 - edge / error);
        let size = self.estimate.abs();
        let same = inside(margin.sameness_edge() - size) + inside(margin.sameness_edge() + size) - 1.0;
        above(margin.difference_edge()) + same.max(0.0)
    }

    /// Finds the units with which one look decides with 80 % power; none where ten times these would not.
    pub fn units_to_decide(&self, margin: Margin) -> Option<usize> {
        self.least(|units| self.power(units, margin) >= 0.8)
    }

    /// Finds the units with which one look has 80 % power to find the estimate beyond an edge at a level; none where ten
    /// times these would not.
    pub fn units_to_pass(&self, level: f64, edge: f64) -> Option<usize> {
        let size = self.estimate.abs() - edge;
        self.least(|units| size >= (upper_tail_at(level / 2.0) + Z_80) * self.standard_error(units))
    }

    fn least(&self, is_enough: impl Fn(usize) -> bool) -> Option<usize> {
        let (mut too_few, mut enough) = (self.units, self.units * MOST_TIMES);
        if !is_enough(enough) {
            return None;
        }
        while enough - too_few > 1 {
            let middle = too_few + (enough - too_few) / 2;
            if is_enough(middle) { enough = middle } else { too_few = middle }
        }
        Some(enough)
    }

    /// Computes the smallest difference of logarithms that these units find with 80 % power at 5 %.
    pub fn smallest_effect(&self) -> f64 {
        smallest_effect(self.units, self.deviation)
    }
}

/// Computes the number of units from which all of one sign can exclude "no effect" at a level: two in 2^n.
pub(crate) fn units_that_can(level: f64) -> usize {
    (1.0 - libm::log2(level)).ceil().max(1.0) as usize
}

/// Converts units to rounds or starts. `starts_a_unit` where rounds share starts.
pub(crate) fn convert_units(
    units: Option<usize>,
    rounds_a_unit: f64,
    starts_a_unit: Option<usize>,
) -> Needed {
    match (units, starts_a_unit) {
        (None, _) => Needed::LessNoise,
        (Some(units), Some(starts)) => Needed::Starts((units * starts) as u32),
        (Some(units), None) => Needed::Rounds((units as f64 * rounds_a_unit).ceil() as u32),
    }
}

/// Computes the smallest difference of logarithms that n units of this spread find with 80 % power at 5 %.
pub fn smallest_effect(units: usize, deviation: f64) -> f64 {
    (Z_975 + Z_80) * deviation * (RANK_FACTOR / units as f64).sqrt()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(low: f64, high: f64) -> Verdict {
        decide_verdict(Interval { low, high }, Margin::from_planned(0.02))
    }

    #[test]
    fn a_control_that_is_off_makes_both_claims_harder() {
        let margin = Margin::from_planned(0.02).raise_floor(0.015);
        let of = |low, high| decide_verdict(Interval { low, high }, margin);
        assert_eq!(of(-0.004, 0.004), Verdict::Same);
        assert_eq!(of(-0.01, 0.01), Verdict::Inconclusive, "the control hides up to 0.015");
        assert_eq!(of(0.001, 0.004), Verdict::Same);
        assert_eq!(of(0.021, 0.03), Verdict::Slower);
        let margin = Margin::from_planned(0.02).raise_floor(0.5);
        let of = |low, high| decide_verdict(Interval { low, high }, margin);
        assert_eq!(of(0.1, 0.3), Verdict::SlowerUnclear);
        assert_eq!(of(-0.4, 0.4), Verdict::Inconclusive);
        assert_eq!(of(0.6, 0.9), Verdict::Slower);
        assert_eq!(of(-0.001, 0.001), Verdict::Inconclusive, "nothing is the same beside such a control");
    }

    #[test]
    fn each_region_has_its_word() {
        assert_eq!(at(0.02, 0.5), Verdict::Slower);
        assert_eq!(at(-0.5, -0.02), Verdict::Faster);
        assert_eq!(at(-0.02, 0.02), Verdict::Same);
        assert_eq!(at(0.001, 0.019), Verdict::SlightlySlower);
        assert_eq!(at(-0.019, -0.001), Verdict::SlightlyFaster);
        assert_eq!(at(0.001, 0.021), Verdict::SlowerUnclear);
        assert_eq!(at(-0.021, -0.001), Verdict::FasterUnclear);
        assert_eq!(at(-0.021, 0.001), Verdict::Inconclusive);
        assert_eq!(at(0.0, 0.021), Verdict::Inconclusive, "zero itself is not excluded");
        assert_eq!(at(f64::NEG_INFINITY, f64::INFINITY), Verdict::Inconclusive);
    }

    #[test]
    fn the_distance_to_the_nearest_edge_says_how_many_are_needed() {
        let needed = |estimate| {
            let scatter = Scatter { units: 20, estimate, deviation: 0.04 };
            scatter.units_to_decide(Margin::from_planned(0.02))
        };
        // Normal theory: 1.35 (1.96 + 1.28)^2 (0.04/0.02)^2 for the same, 0.84 in place of 1.28 on one side.
        assert_eq!(needed(0.0), Some(57));
        assert_eq!(needed(0.05), Some(21), "as many as there are, and one");
        assert_eq!(needed(0.035), Some(76));
        assert_eq!(needed(-0.035), Some(76));
        assert_eq!(needed(0.011), None, "beside the edge, at this noise, none will do");
    }

    #[test]
    fn units_that_can_pass_a_level_follow_from_their_signs() {
        assert_eq!([0.05, 0.01, 0.05 / 180.0].map(units_that_can), [6, 8, 13]);
    }
}
