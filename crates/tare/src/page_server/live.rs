//! What is known of a record that grows: one thread reads on, those that answer a browser wait for it.

use std::path::Path;
use std::sync::{Condvar, Mutex, MutexGuard};
use std::time::{Duration, Instant};

use tare_data::session::Session;
use tare_record::{Follower, RecordError};
use tare_report::html::live::Standing;

/// The record, and the number of times that it was seen to grow.
pub struct Live {
    inner: Mutex<Inner>,
    grown: Condvar,
}

struct Inner {
    follower: Follower,
    version: u64,
}

impl Live {
    pub fn open(path: &Path) -> Result<Self, RecordError> {
        let inner = Inner { follower: Follower::open(path)?, version: 0 };
        Ok(Live { inner: Mutex::new(inner), grown: Condvar::new() })
    }

    /// A thread that panicked with the lock left a record that is as good as before.
    fn lock(&self) -> MutexGuard<'_, Inner> {
        self.inner.lock().unwrap_or_else(|poisoned| poisoned.into_inner())
    }

    /// Reads what was appended, and wakes those who wait for it.
    pub fn catch_up(&self) -> Result<(), RecordError> {
        let mut inner = self.lock();
        if inner.follower.catch_up()? {
            inner.version += 1;
            self.grown.notify_all();
        }
        Ok(())
    }

    /// The session as far as it is written, and whether it may continue. No session before its plan is written.
    pub fn session(&self) -> (Option<Session>, bool) {
        let inner = self.lock();
        (inner.follower.session().ok(), inner.follower.ending().is_none())
    }

    /// How the session stands, once that is newer than `version`; none where nothing came for `most`.
    pub fn wait(&self, version: Option<u64>, most: Duration) -> Option<(u64, Standing)> {
        let until = Instant::now() + most;
        let mut inner = self.lock();
        while version == Some(inner.version) {
            let left = until.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return None;
            }
            inner = match self.grown.wait_timeout(inner, left) {
                Ok((inner, _)) => inner,
                Err(poisoned) => poisoned.into_inner().0,
            };
        }
        Some((inner.version, standing(&inner.follower)))
    }
}

/// Counts only: findings are computed when a page is requested, not beside every trial.
fn standing(follower: &Follower) -> Standing {
    let trials = follower.trials();
    let plan = follower.plan();
    let label = |id: &str| {
        let case = plan.and_then(|plan| plan.cases.iter().find(|case| case.id == id));
        case.map_or_else(|| id.to_owned(), |case| case.label.clone())
    };
    let running = follower.running();
    let last = running.or(trials.last());
    Standing {
        planned: plan.is_some(),
        trials: trials.len(),
        failures: trials.iter().filter(|trial| trial.failure.is_some()).count(),
        repeated: follower.repeated().len(),
        round: last.map_or(0, |trial| trial.round.saturating_add(1)),
        rounds: plan.filter(|plan| plan.budget_s.is_none() && !plan.until_decided).map(|plan| plan.rounds),
        elapsed_s: trials.last().map_or(0.0, |t| t.started_ns.saturating_add(t.host_elapsed_ns) as f64 / 1e9),
        budget_s: plan.and_then(|plan| plan.budget_s),
        label: running.map(|trial| label(&trial.case)),
        target: running.map(|trial| trial.target.clone()),
        ending: follower.ending(),
    }
}
