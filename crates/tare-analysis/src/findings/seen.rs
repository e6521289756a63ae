//! The time for which an answer was seen, as a state of the machine may last longer, and the batches among which.

use serde::Serialize;

use super::interval::{Interval, Position};
use super::sameness::{FAR, LASTING};

/// The rounds that an answer rests on, and the time from the first to the last.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct Span {
    pub rounds: u32,
    pub seconds: f64,
    /// True where they show that a direction lasts.
    pub is_lasting: bool,
}

/// Tells whether rounds that began at these times, in seconds and in order, show that a direction lasts. Each stands for the time until
/// the next, but for no more than rounds that are as many as are wanted would be apart: a burst of rounds saw one moment, however long the
/// pause after it.
pub(crate) fn is_lasting(began_s: impl Iterator<Item = f64> + Clone) -> bool {
    LASTING.iter().any(|(rounds, seconds)| {
        let apart_s = seconds / f64::from(*rounds);
        let gaps_s =
            began_s.clone().zip(began_s.clone().skip(1)).map(|(one, next)| (next - one).min(apart_s));
        apart_s + gaps_s.sum::<f64>() > seconds - apart_s / 2.0
    })
}

impl Span {
    /// Checks if a direction of this size may be one of a state that comes and goes, and has not been seen for longer than such a
    /// state lasts.
    pub(crate) fn may_be_state(self, interval: Interval) -> bool {
        !is_far(interval) && !self.is_lasting
    }
}

/// Slow batches of an environment whose trials took turns: those that take 1.5 times the usual cost.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct SlowSeen {
    pub slow: u64,
    pub batches: u64,
    /// The most that they add to the mean more than natively, as a share; infinite where too few batches were seen to say.
    pub most: f64,
}

impl SlowSeen {
    /// Computes the share of batches that may be slow where none was seen: with a larger one, 95 of 100 sessions see some (the rule of
    /// three).
    pub fn unseen_share(self) -> Option<f64> {
        (self.slow == 0 && self.batches > 0).then(|| (3.0 / self.batches as f64).min(1.0))
    }
}

/// Checks if an interval lies where no state that comes and goes takes it.
pub(crate) fn is_far(interval: Interval) -> bool {
    interval.against(FAR) == Position::Beyond || interval.against(1.0 / FAR) == Position::Within
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_direction_lasts_by_rounds_that_are_apart_or_is_far() {
        let every = |rounds: u32, apart_s: f64| (0..rounds).map(move |round| f64::from(round) * apart_s);
        assert!(
            is_lasting(every(60, 0.0834)) && is_lasting(every(12, 5.0)) && is_lasting(every(300, 0.0167))
        );
        assert!(!is_lasting(every(60, 0.08)) && !is_lasting(every(59, 0.9)) && !is_lasting(every(11, 60.0)));
        let burst = || every(60, 0.02).chain((1..=15).map(|second| 1.2 + f64::from(second)));
        assert!(!is_lasting(burst()), "a burst, and a round a second for a quarter of a minute");
        assert!(!is_lasting(std::iter::empty()));
        let may_be = |is_lasting, low| {
            Span { rounds: 60, seconds: 60.0, is_lasting }.may_be_state(Interval::new(low, 2.0 * low))
        };
        assert!(may_be(false, 1.1) && may_be(false, 0.34) && !may_be(true, 1.1));
        assert!(!may_be(false, 1.51) && !may_be(false, 0.3));
    }
}
