//! The reach of an answer: whether it holds for work that lasts, or for the short stretches alone that were timed.

use serde::{Serialize, Serializer};
use tare_data::session::limits::Quota;

use super::lasting::Estimate;

/// The kinds of work that an answer holds for.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub enum Reach {
    /// Work that lasts as well: stretches of it excluded that it takes a tenth more or less.
    Lasting,
    /// Stretches as short as those that were timed; of work that lasts nothing is known.
    #[default]
    Short,
    /// Short stretches, as far as is known: work that lasts was looked at, and nothing was excluded.
    Open,
    /// Short stretches alone: work that lasts takes this many times as long as in the baseline, which is another factor.
    Differs(Estimate),
    /// Short stretches alone: a limit stopped the environment meanwhile, and work that lasts waits for it.
    Stopped(Stop),
}

/// Stops of an environment by a limit of processor time that its baseline does not have.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Stop {
    periods: u64,
    stopped: u64,
    quota: Option<Quota>,
    measured: Option<Estimate>,
}

impl Reach {
    /// All names, the farthest reach first.
    pub const NAMES: [&str; 5] = ["lasting", "short", "open", "differs", "stopped"];

    /// Returns the name that programs read.
    pub const fn name(self) -> &'static str {
        Reach::NAMES[self.rank()]
    }

    const fn rank(self) -> usize {
        match self {
            Reach::Lasting => 0,
            Reach::Short => 1,
            Reach::Open => 2,
            Reach::Differs(_) => 3,
            Reach::Stopped(_) => 4,
        }
    }

    /// Returns how often it was stopped; none where it was not, or nobody counted.
    pub const fn stop(self) -> Option<Stop> {
        match self {
            Reach::Stopped(stop) => Some(stop),
            Reach::Lasting | Reach::Short | Reach::Open | Reach::Differs(_) => None,
        }
    }

    /// Tells whether work that lasts was seen to take another factor than short stretches, or to be stopped.
    pub const fn is_overturned(self) -> bool {
        matches!(self, Reach::Differs(_) | Reach::Stopped(_))
    }

    /// Returns the shorter reach of two, which holds for what rests on both.
    pub(crate) const fn join(self, other: Reach) -> Reach {
        if other.rank() > self.rank() { other } else { self }
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
        (stopped > 0).then(|| Stop { stopped, periods: periods.max(stopped), quota, measured: None })
    }

    /// Returns the same stop with the factor that stretches of work that lasts have, where there were some.
    pub const fn with_measured(self, measured: Option<Estimate>) -> Stop {
        Stop { measured, ..self }
    }

    /// Computes the share of the periods in which work was stopped.
    pub fn share(self) -> f64 {
        self.stopped as f64 / self.periods as f64
    }

    /// Returns how many times as long work that lasts takes: as measured, or, without an interval, what the quota leaves to one thread
    /// that computes without a pause. None where that is not known or a whole processor.
    pub fn factor(self) -> Option<Estimate> {
        let by_quota = |quota: Quota| Estimate::without_interval(1.0 / quota.processors());
        self.measured.or_else(|| self.quota.map(by_quota).filter(|factor| factor.ratio > 1.0))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::findings::Interval;

    #[test]
    fn what_rests_on_two_answers_reaches_as_far_as_the_shorter() {
        let differs = Reach::Differs(Estimate::without_interval(5.0));
        let all = [Reach::Lasting, Reach::Short, Reach::Open, differs];
        assert_eq!(all.map(Reach::name), Reach::NAMES[..4]);
        for (at, shorter) in all.into_iter().enumerate() {
            for longer in &all[..=at] {
                assert_eq!([shorter.join(*longer), longer.join(shorter)], [shorter; 2]);
            }
        }
        assert_eq!(all.map(Reach::is_overturned), [false, false, false, true]);
    }

    #[test]
    fn a_stop_has_a_share_and_the_factor_of_one_busy_processor() {
        let quota = |quota_us| Quota { quota_us, period_us: 100_000 };
        let fifth = Stop::from_periods(94, 100, Some(quota(20_000))).unwrap();
        assert_eq!((fifth.share(), fifth.factor()), (0.94, Some(Estimate::without_interval(5.0))));
        let measured = Estimate { ratio: 5.1, interval: Interval::new(4.9, 5.2) };
        assert_eq!(fifth.with_measured(Some(measured)).factor(), Some(measured));
        let wide = Stop::from_periods(1, 4, Some(quota(150_000))).unwrap();
        assert_eq!((wide.share(), wide.factor()), (0.25, None));
        assert_eq!(Stop::from_periods(3, 0, None).unwrap().share(), 1.0, "hostile counts end as a share");
        assert_eq!(Stop::from_periods(0, 100, None), None);
    }
}
