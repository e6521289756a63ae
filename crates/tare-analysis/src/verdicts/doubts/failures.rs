//! Failures: trials that fail more often on one side than on the other, whose values may be missing because of what they would say.

use tare_data::failure::Failure;
use tare_data::session::Trial;

use crate::findings::Verdict;
use crate::statistics::binomial::fisher::compute_share_p;

/// Level at which the shares of failed trials differ between two environments.
const LEVEL: f64 = 0.01;

/// Shares of trials that failed, which differ between two environments.
pub(crate) struct UnlikeFailures {
    /// Failed trials of the environment that is compared with, and of the one that is judged.
    failed: [u64; 2],
    trials: [u64; 2],
}

impl UnlikeFailures {
    /// Compares the trials of two environments: the one that is compared with, and the one that is judged. None where both fail
    /// equally often.
    pub fn find_unlike(sides: [&[&Trial]; 2]) -> Option<UnlikeFailures> {
        let is_own = |trial: &&&Trial| trial.failure.as_ref().is_some_and(Failure::is_own);
        let failed = sides.map(|trials| trials.iter().filter(is_own).count() as u64);
        if failed == [0, 0] {
            return None;
        }
        let trials = sides.map(|trials| trials.len() as u64);
        let unlike = UnlikeFailures { failed, trials };
        (compute_share_p(failed, trials) < LEVEL).then_some(unlike)
    }

    /// Returns why a verdict cannot stand: slow trials may be among those that failed. That an environment is slower stands where
    /// more of its own trials failed, and that it is faster where more of the baseline's did.
    pub fn find_objection(&self, verdict: Verdict) -> Option<String> {
        let [[of_baseline, here], [baseline, trials]] = [self.failed, self.trials];
        let fails_more = here * baseline > of_baseline * trials;
        let stands = match verdict {
            Verdict::Slower | Verdict::SlowerInFewStarts => fails_more,
            Verdict::Faster | Verdict::FasterInFewStarts => !fails_more,
            _ => false,
        };
        (!stands)
            .then(|| format!("{here} of {trials} trials failed, in the baseline {of_baseline} of {baseline}"))
    }
}
