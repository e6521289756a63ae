//! The time for which an answer was seen, as a state of the machine may last longer, and the batches among which.

use serde::Serialize;

use super::interval::{Interval, Position};
use super::sameness::{FAR, LASTING};

/// The rounds that an answer rests on, and the time from the first to the last.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct Span {
    pub rounds: u32,
    pub seconds: f64,
}

impl Span {
    /// Checks if a direction of this size may be one of a state that comes and goes, and has not been seen for longer than such a
    /// state lasts.
    pub(crate) fn may_be_state(self, interval: Interval) -> bool {
        !is_far(interval) && !LASTING.iter().any(|(rounds, s)| self.rounds >= *rounds && self.seconds >= *s)
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
    fn a_direction_lasts_by_rounds_and_time_or_is_far() {
        let may_be =
            |rounds, seconds, low| Span { rounds, seconds }.may_be_state(Interval::new(low, 2.0 * low));
        assert!(may_be(60, 4.9, 1.1) && may_be(59, 59.0, 1.1) && may_be(11, 600.0, 1.1));
        assert!(!may_be(60, 5.0, 1.1) && !may_be(12, 60.0, 1.1));
        assert!(!may_be(12, 1.0, 1.51) && !may_be(12, 1.0, 0.3) && may_be(12, 1.0, 0.34));
    }
}
