//! Failures: trials that fail more often on one side than on the other, whose values may be missing because of what they would say.

use tare_data::failure::{BROKE_OFF, Failure};
use tare_data::session::Trial;

use crate::findings::{Answer, Kind, Verdict};
use crate::statistics::binomial::at_least;
use crate::statistics::binomial::fisher::compute_share_p;
use crate::statistics::level::ALPHA;

/// Level at which the shares of failed trials are known to differ between two environments...
const LEVEL: f64 = 0.01;
/// ...and at which they may, so that nothing is the same.
const LEVEL_IN_DOUBT: f64 = 0.05;
/// Share of trials that may fail on one side alone where the two are the same: the share of stalls that 29 rounds exclude.
const MOST_ON_ONE_SIDE: f64 = 0.1;

/// Failed trials of two environments.
pub(crate) struct FailedTrials {
    /// In the environment that is compared with, and in the one that is judged.
    failed: [u64; 2],
    trials: [u64; 2],
}

impl FailedTrials {
    /// Counts the failed trials of two environments: the reference, and the one that is judged against it.
    pub fn count_failed(sides: [&[&Trial]; 2]) -> FailedTrials {
        let is_own = |failure: &Failure| failure.is_own() && failure.reason != BROKE_OFF;
        let is_failed = |trial: &&&Trial| trial.failure.as_ref().is_some_and(is_own);
        let failed = sides.map(|trials| trials.iter().filter(is_failed).count() as u64);
        FailedTrials { failed, trials: sides.map(|trials| trials.len() as u64) }
    }

    /// Returns why an answer cannot stand: slow trials may be among those that failed. That an environment is slower stands where
    /// more of its own trials failed, and that it is faster where more of the baseline's did.
    pub fn find_objection(&self, verdict: Verdict, answer: Answer) -> Option<String> {
        let [[of_baseline, here], [baseline, trials]] = [self.failed, self.trials];
        let fails_more = here * baseline > of_baseline * trials;
        let stands = match verdict {
            Verdict::Slower | Verdict::SlowerInFewStarts => fails_more || !self.differ(LEVEL),
            Verdict::Faster | Verdict::FasterInFewStarts => !fails_more || !self.differ(LEVEL),
            _ if answer.kind() == Kind::Same => !self.may_differ(),
            _ => !self.differ(LEVEL),
        };
        (!stands)
            .then(|| format!("{here} of {trials} trials failed, in the baseline {of_baseline} of {baseline}"))
    }

    fn differ(&self, level: f64) -> bool {
        self.failed != [0, 0] && compute_share_p(self.failed, self.trials) < level
    }

    /// Tells whether one side may have failures that the other has not.
    fn may_differ(&self) -> bool {
        let is_open = |failed: u64, trials: u64| 1.0 - at_least(trials, failed + 1, MOST_ON_ONE_SIDE) > ALPHA;
        let of_one_side = match self.failed {
            [0, 0] => false,
            [0, here] => is_open(here, self.trials[1]),
            [there, 0] => is_open(there, self.trials[0]),
            _ => false,
        };
        of_one_side || self.differ(LEVEL_IN_DOUBT)
    }
}
