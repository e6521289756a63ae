//! Answers to the question "is this environment slower?", and what each leaves open.

use serde::{Serialize, Serializer};
use tare_data::named;

use super::interval::{Interval, Position};
use super::reach::Reach;
use super::sameness::LARGEST_BOUND;
use super::verdict::Verdict;

/// The answer to "is it slower?", with the reason why it says no more.
///
/// The analysis alone makes one, from a verdict and the interval that is shown; whoever prints it decides nothing.
///
/// ```compile_fail
/// use tare_analysis::findings::{Answer, Kind};
/// let decided_elsewhere = Answer { kind: Kind::Slower, why: None, reach: Default::default() };
/// ```
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Answer {
    kind: Kind,
    why: Option<Why>,
    reach: Reach,
}

named! {
    /// Kinds of answers, in the order in which they are listed.
    pub enum Kind {
        /// The interval lies beyond the margin.
        Slower = "slower",
        /// Slower, and beyond the lower end of an interval without an upper one.
        AtLeast = "at_least",
        Faster = "faster",
        /// The interval lies within the margin.
        Same = "same",
        /// Not decided, and a slowdown beyond the interval's small upper end is excluded. A speedup may be open.
        AtMost = "at_most",
        NotSure = "not_sure",
        /// Nothing was compared.
        None = "none",
    }
}

named! {
    /// Reasons why an answer says no more.
    pub enum Why {
        /// Too few rounds for this much noise.
        Rounds = "rounds",
        /// Seen in a few starts, and another may differ.
        Starts = "starts",
        /// A direction that was seen for so short a time that a state of the machine may have made it.
        Seen = "seen",
        /// Short states of one side make its rounds alike, so that they count as few.
        States = "states",
        /// The typical cost is known closely enough, and what slow batches add is not.
        Tail = "tail",
        /// The bound is of the typical cost alone: that of the mean is not known, or too high to be one.
        Typical = "typical",
        /// It may be chance, as one of many cells.
        Cells = "cells",
        /// The direction is known, and the size is not.
        Size = "size",
        /// The typical cost is the same, and the mean cost may not be.
        Mean = "mean",
        /// A value that is never compared, such as a maximum.
        Observed = "observed",
        /// There is a value, and comparing it would mislead.
        NotComparable = "not_comparable",
        NotMeasured = "not_measured",
    }
}

/// Returns the highest slowdown that is given as a bound.
pub(crate) fn largest_bound(margin: f64) -> f64 {
    LARGEST_BOUND.max(1.0 + 2.0 * (margin - 1.0))
}

impl Answer {
    /// Returns the answer of a verdict, the interval that is shown, and a margin, which is a ratio.
    ///
    /// The verdict has compared the interval with the margin, and knows besides whether the rounds, the starts and the
    /// other cells let that count.
    pub(crate) fn from_verdict(verdict: Verdict, interval: Interval, margin: f64) -> Answer {
        let made = |kind: Kind, why: Option<Why>| Answer { kind, why, reach: Reach::Short };
        let settled = |kind: Kind| made(kind, None);
        let bound = largest_bound(margin);
        // An interval of speedups alone bounds no slowdown: its size is the open question.
        let is_within = |bound: f64| interval.against(bound) == Position::Within;
        let is_bounded = !is_within(1.0 / margin) && is_within(bound);
        let kind = if is_bounded { Kind::AtMost } else { Kind::NotSure };
        let open = |why: Why| made(kind, Some(why));
        match verdict {
            Verdict::Slower if interval.against(1.0) == Position::Beyond && !interval.is_bounded() => {
                made(Kind::AtLeast, Some(Why::Size))
            }
            Verdict::Slower => settled(Kind::Slower),
            Verdict::Faster => settled(Kind::Faster),
            Verdict::Same | Verdict::SlightlySlower | Verdict::SlightlyFaster => settled(Kind::Same),
            Verdict::TypicallySame => made(Kind::Same, Some(Why::Mean)),
            Verdict::SlowerUnclear | Verdict::FasterUnclear => open(Why::Size),
            Verdict::SlowerInFewStarts | Verdict::FasterInFewStarts => open(Why::Starts),
            Verdict::SlowerUnconfirmed | Verdict::FasterUnconfirmed => open(Why::Cells),
            Verdict::Inconclusive => open(Why::Rounds),
        }
    }

    /// Returns the answer where nothing is compared.
    pub(crate) fn from_reason(why: Why) -> Answer {
        Answer { kind: Kind::None, why: Some(why), reach: Reach::Short }
    }

    /// Returns the same answer with another reason.
    pub(crate) const fn because(self, why: Why) -> Answer {
        Answer { why: Some(why), ..self }
    }

    /// Returns the same answer for the work that it holds for.
    pub(crate) const fn with_reach(self, reach: Reach) -> Answer {
        Answer { reach, ..self }
    }

    pub const fn kind(self) -> Kind {
        self.kind
    }

    /// Returns why it says no more; none where it says all.
    pub const fn why(self) -> Option<Why> {
        self.why
    }

    pub const fn reach(self) -> Reach {
        self.reach
    }

    /// Tells whether it says that little or nothing is lost, and work that lasts was seen to take another time.
    pub const fn is_overturned(self) -> bool {
        matches!(self.kind, Kind::Same | Kind::AtMost | Kind::Faster) && self.reach.is_overturned()
    }

    /// Tells whether it must be said to be of short operations: it is overturned, or it is the same as far as is known.
    pub const fn is_of_short(self) -> bool {
        self.is_overturned() || matches!((self.kind, self.reach), (Kind::Same, Reach::Open))
    }

    /// Checks if the question is settled: a bound from above is not an answer to it.
    pub const fn is_decided(self) -> bool {
        self.kind.is_decided()
    }
}

impl Kind {
    /// Checks if answers of this kind settle the question.
    pub const fn is_decided(self) -> bool {
        match self {
            Kind::Slower | Kind::AtLeast | Kind::Faster | Kind::Same => true,
            Kind::AtMost | Kind::NotSure | Kind::None => false,
        }
    }

    /// Checks if it says that the environment is slower, by whatever size.
    pub const fn is_slower(self) -> bool {
        matches!(self, Kind::Slower | Kind::AtLeast)
    }
}

impl Serialize for Answer {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.kind.serialize(serializer)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn answer(verdict: Verdict, high: f64) -> Kind {
        Answer::from_verdict(verdict, Interval::new(0.9, high), 1.02).kind()
    }

    #[test]
    fn each_region_has_its_answer() {
        assert_eq!(answer(Verdict::Slower, 1.05), Kind::Slower);
        assert_eq!(answer(Verdict::Faster, 0.9), Kind::Faster);
        assert_eq!(answer(Verdict::SlightlySlower, 1.015), Kind::Same);
        assert_eq!(answer(Verdict::TypicallySame, 1.01), Kind::Same);
        assert_eq!(answer(Verdict::Inconclusive, 1.01), Kind::AtMost, "too few rounds to say the same");
        assert_eq!(answer(Verdict::SlowerUnconfirmed, 1.10), Kind::AtMost);
        assert_eq!(answer(Verdict::SlowerUnconfirmed, 1.101), Kind::NotSure);
        assert_eq!(answer(Verdict::SlowerInFewStarts, f64::INFINITY), Kind::NotSure);
        assert_eq!(answer(Verdict::Inconclusive, f64::NAN), Kind::NotSure);
        assert_eq!(answer(Verdict::FasterUnconfirmed, 0.9), Kind::NotSure, "no slowdown to bound");
        let beyond =
            |low: f64| Answer::from_verdict(Verdict::Slower, Interval::new(low, f64::INFINITY), 1.02).kind();
        assert_eq!([beyond(40.0), beyond(0.0)], [Kind::AtLeast, Kind::Slower]);
    }

    #[test]
    fn a_wide_margin_has_a_wider_bound() {
        let at = |high| Answer::from_verdict(Verdict::Inconclusive, Interval::new(0.0, high), 1.2).kind();
        assert_eq!([at(1.4), at(1.41)], [Kind::AtMost, Kind::NotSure]);
    }

    #[test]
    fn what_ends_the_rounds_is_decided_and_a_bound_is_not() {
        for verdict in &Verdict::ALL {
            for high in [0.5, 1.0, 1.09, 2.0, f64::INFINITY] {
                let answer = answer(*verdict, high);
                assert!(answer.is_decided() || !verdict.is_settled(), "{verdict:?} {high}");
                assert_ne!(answer, Kind::None);
            }
        }
        let decided: Vec<Kind> = Kind::ALL.into_iter().filter(|kind| kind.is_decided()).collect();
        assert_eq!(decided, [Kind::Slower, Kind::AtLeast, Kind::Faster, Kind::Same]);
    }
}
