//! The reach of an answer: whether it holds for work that lasts, or for the short stretches alone that were timed.

use serde::{Serialize, Serializer};
use tare_data::session::limits::Quota;

/// The kinds of work that an answer holds for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Reach {
    /// Stretches as short as those that were timed; work that lasts was not looked at.
    #[default]
    Short,
    /// Short stretches alone: a limit stopped the environment meanwhile, and work that lasts waits for it.
    Stopped(Stop),
}

/// Stops of an environment by a limit of processor time that its baseline does not have.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Stop {
    periods: u64,
    stopped: u64,
    quota: Option<Quota>,
}

impl Reach {
    /// Returns the name that programs read.
    pub const fn name(self) -> &'static str {
        match self {
            Reach::Short => "short",
            Reach::Stopped(_) => "stopped",
        }
    }

    /// Returns how often it was stopped; none where it was not, or nobody counted.
    pub const fn stop(self) -> Option<Stop> {
        match self {
            Reach::Short => None,
            Reach::Stopped(stop) => Some(stop),
        }
    }
}

impl Serialize for Reach {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.name())
    }
}

impl Stop {
    /// Makes a stop of the periods that were counted; none where work was stopped in none of them.
    pub fn from_periods(stopped: u64, periods: u64, quota: Option<Quota>) -> Option<Stop> {
        (stopped > 0).then(|| Stop { stopped, periods: periods.max(stopped), quota })
    }

    /// Computes the share of the periods in which work was stopped.
    pub fn share(self) -> f64 {
        self.stopped as f64 / self.periods as f64
    }

    /// Computes about how many times as long one thread takes that computes without a pause; none where the quota is not known or
    /// leaves it a whole processor.
    pub fn factor(self) -> Option<f64> {
        self.quota.map(|quota| 1.0 / quota.processors()).filter(|factor| *factor > 1.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_stop_has_a_share_and_the_factor_of_one_busy_processor() {
        let quota = |quota_us| Quota { quota_us, period_us: 100_000 };
        let fifth = Stop::from_periods(94, 100, Some(quota(20_000))).unwrap();
        assert_eq!((fifth.share(), fifth.factor()), (0.94, Some(5.0)));
        let wide = Stop::from_periods(1, 4, Some(quota(150_000))).unwrap();
        assert_eq!((wide.share(), wide.factor()), (0.25, None));
        assert_eq!(Stop::from_periods(3, 0, None).unwrap().share(), 1.0, "hostile counts end as a share");
        assert_eq!(Stop::from_periods(0, 100, None), None);
    }
}
