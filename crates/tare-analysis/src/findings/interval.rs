//! The interval of a ratio, whose ends only the analysis compares with anything.

use serde::Serialize;

use crate::statistics::signed_ranks;

/// The 95 % interval of a cost ratio: 0 and infinity where there is none.
///
/// Its ends are private, so that no reader of an answer decides by them: `against` rules on a bound, and `ends` is for
/// text and for numbers that are passed on.
///
/// ```compile_fail
/// fn decides_elsewhere(interval: tare_analysis::findings::Interval) -> bool {
///     interval.low > 1.5
/// }
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Interval {
    low: f64,
    high: f64,
}

/// The position of an interval to a bound.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Position {
    /// All of it is above.
    Beyond,
    /// None of it is above.
    Within,
    /// The bound is inside, or there is no interval.
    Open,
}

impl Interval {
    /// The interval of what is not known at all.
    pub const UNKNOWN: Interval = Interval { low: 0.0, high: f64::INFINITY };

    pub const fn new(low: f64, high: f64) -> Interval {
        Interval { low, high }
    }

    /// Converts an interval of a ratio's logarithm.
    pub(crate) fn from_logarithms(interval: signed_ranks::Interval) -> Interval {
        Interval { low: libm::exp(interval.low), high: libm::exp(interval.high) }
    }

    /// Rules on a bound.
    pub fn against(self, bound: f64) -> Position {
        match self {
            Interval { low, .. } if low > bound => Position::Beyond,
            Interval { high, .. } if high <= bound => Position::Within,
            Interval { .. } => Position::Open,
        }
    }

    /// Writes both ends, the lower one first.
    pub fn ends<T>(self, write: impl FnMut(f64) -> T) -> [T; 2] {
        [self.low, self.high].map(write)
    }

    /// Checks if there is an interval at both ends.
    pub fn is_bounded(self) -> bool {
        self.low > 0.0 && self.high.is_finite()
    }

    pub fn contains(self, ratio: f64) -> bool {
        self.low <= ratio && ratio <= self.high
    }

    /// Gives both ends to the analysis, which may compute with them.
    pub(crate) const fn bounds(self) -> [f64; 2] {
        [self.low, self.high]
    }

    pub(crate) fn logarithms(self) -> signed_ranks::Interval {
        signed_ranks::Interval { low: libm::log(self.low), high: libm::log(self.high) }
    }

    /// Gives the interval of the reciprocal.
    pub(crate) fn inverse(self) -> Interval {
        Interval { low: 1.0 / self.high, high: 1.0 / self.low }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_bound_lies_below_within_or_beyond() {
        let against = |bound: f64| Interval::new(1.2, 1.5).against(bound);
        assert_eq!(
            [1.19, 1.2, 1.49, 1.5].map(against),
            [Position::Beyond, Position::Open, Position::Open, Position::Within]
        );
        assert_eq!(Interval::UNKNOWN.against(1e9), Position::Open);
        assert_eq!(Interval::new(f64::NAN, f64::NAN).against(1.0), Position::Open);
    }
}
