//! The cost of work that lasts, by stretches in which all environments but one were left, and what it is beyond that of short turns.

use serde::Serialize;
use tare_data::session::lasting::LastingWork;

use super::interval::{Interval, Position};

/// The factor up to which the cost of lasting work must be known for answers of short turns to hold for it.
const KNOWN_WITHIN: f64 = 1.1;

/// A ratio with its interval.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Estimate {
    pub ratio: f64,
    #[serde(flatten)]
    pub interval: Interval,
}

impl Estimate {
    /// Makes an estimate of which nobody knows how close it is.
    pub const fn without_interval(ratio: f64) -> Estimate {
        Estimate { ratio, interval: Interval::UNKNOWN }
    }
}

/// Outcomes of lasting work for answers that short turns gave, the best first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Outcome {
    /// They hold for it: it takes no tenth more or less.
    Excludes,
    /// Nothing is excluded.
    Open,
    /// They do not hold: it takes more, or less, by more than the margin.
    Differs,
}

impl Outcome {
    /// Judges the interval of what lasting work takes beyond short turns, at a margin that is a ratio.
    pub(crate) fn from_excess(interval: Interval, margin: f64) -> Outcome {
        let is_beyond = interval.against(margin) == Position::Beyond;
        let [low, high] = interval.bounds();
        if is_beyond || high < 1.0 / margin {
            Outcome::Differs
        } else if 1.0 / KNOWN_WITHIN <= low && high <= KNOWN_WITHIN {
            Outcome::Excludes
        } else {
            Outcome::Open
        }
    }
}

/// The cost of a kind of work that lasts in an environment.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct LastingCost {
    #[serde(rename = "environment")]
    pub target: String,
    pub work: LastingWork,
    /// Stretches that have one of the baseline's beside them, and their time.
    pub stretches: u32,
    pub seconds: f64,
    /// Time of an operation over the baseline's, all time over all operations; none of fewer than four stretches.
    pub ratio: Option<Estimate>,
    /// That ratio over the one of short slices of the same work.
    pub excess: Option<Estimate>,
    /// None where there is no excess.
    pub outcome: Option<Outcome>,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_excess_excludes_differs_or_leaves_open() {
        let judge = |low, high| Outcome::from_excess(Interval::new(low, high), 1.02);
        assert_eq!([judge(0.98, 1.02), judge(0.91, 1.1), judge(1.02, 1.1)], [Outcome::Excludes; 3]);
        assert_eq!([judge(0.9, 1.0), judge(1.0, 1.11), judge(0.5, 0.981)], [Outcome::Open; 3]);
        assert_eq!([judge(1.021, 1.05), judge(4.9, 5.2), judge(0.5, 0.98)], [Outcome::Differs; 3]);
        assert_eq!(Outcome::from_excess(Interval::UNKNOWN, 1.02), Outcome::Open);
        assert_eq!(judge(f64::NAN, f64::NAN), Outcome::Open);
        assert_eq!(Outcome::from_excess(Interval::new(1.12, 1.15), 1.2), Outcome::Open, "a wide margin");
    }
}
