//! The budget of a session: a deadline from the start of the program on.

use std::time::{Duration, Instant};

use tare_data::budget::reserve;

/// Shortest time that is left for measuring.
const SHORTEST: Duration = Duration::from_secs(1);
/// Longest budget: a clock cannot be asked for any later moment.
const LONGEST: Duration = Duration::from_secs(366 * 24 * 3600);

/// The time in which a session enters its environments and measures.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Budget {
    began: Instant,
    pub(crate) until: Instant,
}

impl Budget {
    /// Starts a budget for the whole session, part of which is kept for its end.
    pub(crate) fn for_session(whole: Duration, began: Instant) -> Budget {
        Budget::from_length(whole.saturating_sub(reserve(whole)).max(SHORTEST), began)
    }

    /// Starts the budget that a plan holds, in seconds. A record may hold any number, and some of them are not a length of time.
    pub(crate) fn of_plan(budget_s: Option<f64>, began: Instant) -> Option<Budget> {
        let length = budget_s.map(|s| Duration::try_from_secs_f64(s).ok());
        Some(Budget::from_length(length??, began))
    }

    fn from_length(length: Duration, began: Instant) -> Budget {
        Budget { began, until: began + length.min(LONGEST) }
    }

    /// Returns the length in seconds, as plans hold it.
    pub(crate) fn seconds(self) -> f64 {
        (self.until - self.began).as_secs_f64()
    }

    /// Returns the deadline on the clock of the session, which starts with the program.
    pub(crate) fn until_ns(self) -> u64 {
        (self.until - self.began).as_nanos() as u64
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_budget_is_a_deadline_with_a_reserve() {
        let began = Instant::now();
        let minutes = Budget::for_session(Duration::from_secs(120), began);
        assert_eq!((minutes.seconds(), minutes.until_ns()), (116.0, 116_000_000_000));
        assert_eq!(minutes.until, began + Duration::from_secs(116));
        assert_eq!(
            [1, 2, 12, 60].map(|s| Budget::for_session(Duration::from_secs(s), began).seconds()),
            [1.0, 1.5, 11.4, 57.0]
        );
        assert_eq!(Budget::for_session(Duration::MAX, began).until, began + LONGEST);
        assert_eq!(Budget::of_plan(Some(116.0), began), Some(minutes));
        assert_eq!(Budget::of_plan(Some(-1.0), began), None);
        assert_eq!(Budget::of_plan(None, began), None);
    }
}
