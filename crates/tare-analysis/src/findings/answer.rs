//! Answers that a verdict and its interval give to the question "is this environment slower?".

use serde::{Serialize, Serializer};

use super::verdict::Verdict;

/// The highest slowdown that is given as a bound where the margin is small: beyond it "at most" says too little.
const LARGEST_BOUND: f64 = 1.10;

/// The answer to "is it slower?".
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Answer {
    /// The interval lies beyond the margin.
    Slower,
    Faster,
    /// The interval lies within the margin.
    Same,
    /// Not decided, and a slowdown beyond the interval's small upper end is excluded. A speedup may be open.
    AtMost,
    NotSure,
    /// Nothing was compared.
    None,
}

impl Answer {
    pub const ALL: [Answer; 6] =
        [Answer::Slower, Answer::Faster, Answer::Same, Answer::AtMost, Answer::NotSure, Answer::None];

    /// Returns the answer of a verdict at a margin, both ratios; `high` is the upper end of the interval.
    ///
    /// The verdict has compared the interval with the margin, and knows besides whether the rounds, the starts and the
    /// other cells let that count.
    pub fn from_verdict(verdict: Verdict, high: f64, margin: f64) -> Answer {
        match verdict {
            Verdict::Slower => Answer::Slower,
            Verdict::Faster => Answer::Faster,
            Verdict::Same | Verdict::SlightlySlower | Verdict::SlightlyFaster | Verdict::TypicallySame => {
                Answer::Same
            }
            Verdict::SlowerUnclear
            | Verdict::SlowerInFewStarts
            | Verdict::SlowerUnconfirmed
            | Verdict::FasterUnclear
            | Verdict::FasterInFewStarts
            | Verdict::FasterUnconfirmed
            | Verdict::Inconclusive => {
                let bound = LARGEST_BOUND.max(1.0 + 2.0 * (margin - 1.0));
                // An interval of speedups alone bounds no slowdown: its size is the open question.
                if high > 1.0 / margin && high <= bound { Answer::AtMost } else { Answer::NotSure }
            }
        }
    }

    /// Checks if the question is settled: a bound is not an answer to it.
    pub const fn is_decided(self) -> bool {
        match self {
            Answer::Slower | Answer::Faster | Answer::Same => true,
            Answer::AtMost | Answer::NotSure | Answer::None => false,
        }
    }

    /// Returns the name that programs read.
    pub const fn name(self) -> &'static str {
        match self {
            Answer::Slower => "slower",
            Answer::Faster => "faster",
            Answer::Same => "same",
            Answer::AtMost => "at_most",
            Answer::NotSure => "not_sure",
            Answer::None => "none",
        }
    }
}

impl Serialize for Answer {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.name())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn answer(verdict: Verdict, high: f64) -> Answer {
        Answer::from_verdict(verdict, high, 1.02)
    }

    #[test]
    fn each_region_has_its_answer() {
        assert_eq!(answer(Verdict::Slower, 1.05), Answer::Slower);
        assert_eq!(answer(Verdict::Faster, 0.9), Answer::Faster);
        assert_eq!(answer(Verdict::SlightlySlower, 1.015), Answer::Same);
        assert_eq!(answer(Verdict::TypicallySame, 1.01), Answer::Same);
        assert_eq!(answer(Verdict::Inconclusive, 1.01), Answer::AtMost, "too few rounds to say the same");
        assert_eq!(answer(Verdict::SlowerUnconfirmed, 1.10), Answer::AtMost);
        assert_eq!(answer(Verdict::SlowerUnconfirmed, 1.101), Answer::NotSure);
        assert_eq!(answer(Verdict::SlowerInFewStarts, f64::INFINITY), Answer::NotSure);
        assert_eq!(answer(Verdict::Inconclusive, f64::NAN), Answer::NotSure);
        assert_eq!(answer(Verdict::FasterUnconfirmed, 0.9), Answer::NotSure, "no slowdown to bound");
    }

    #[test]
    fn a_wide_margin_has_a_wider_bound() {
        let at = |high| Answer::from_verdict(Verdict::Inconclusive, high, 1.2);
        assert_eq!([at(1.4), at(1.41)], [Answer::AtMost, Answer::NotSure]);
    }

    #[test]
    fn what_ends_the_rounds_is_decided_and_a_bound_is_not() {
        for verdict in Verdict::ALL {
            for high in [0.5, 1.0, 1.09, 2.0, f64::INFINITY] {
                let answer = answer(*verdict, high);
                assert!(answer.is_decided() || !verdict.is_settled(), "{verdict:?} {high}");
                assert_ne!(answer, Answer::None);
            }
        }
        let decided: Vec<Answer> = Answer::ALL.into_iter().filter(|answer| answer.is_decided()).collect();
        assert_eq!(decided, [Answer::Slower, Answer::Faster, Answer::Same]);
    }
}
