//! Runs of a command, one by one, as a session measured them.

use tare_data::batch::{ENDED, Phase, RunEnd, Sample};
use tare_data::session::{Session, Trial};

use crate::verdicts::summary::list_counted_trials;

/// A run of a command: its times in nanoseconds, and its end.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Run {
    pub elapsed_ns: f64,
    pub user_ns: f64,
    pub system_ns: f64,
    pub end: RunEnd,
}

/// Lists the runs of a case in an environment that are values, in order; empty where the record does not state how they ended.
pub fn list_runs(session: &Session, case: &str, target: &str) -> Vec<Run> {
    let wanted = |trial: &Trial| trial.case == case && trial.target == target && trial.failure.is_none();
    let trials = list_counted_trials(&session.trials, &session.repeated, wanted);
    trials.into_iter().flat_map(runs_of).collect()
}

/// Reads the runs of a trial; none where its series do not have a value for each.
fn runs_of(trial: &Trial) -> Vec<Run> {
    let [elapsed, user, system] = ["run", "user", "system"].map(|series| warm_values(trial, series));
    let ends = trial.batches.iter_series(ENDED).filter(|batch| batch.phase == Phase::Warm);
    let ends: Vec<RunEnd> = ends.filter_map(|batch| RunEnd::from_batch(&batch)).collect();
    if [&elapsed, &user, &system].iter().any(|values| values.len() != ends.len()) {
        return Vec::new();
    }
    let runs = elapsed.into_iter().zip(user).zip(system).zip(ends);
    runs.map(|(((elapsed_ns, user_ns), system_ns), end)| Run { elapsed_ns, user_ns, system_ns, end })
        .collect()
}

/// Reads the value of each warm batch of a series.
fn warm_values(trial: &Trial, series: &str) -> Vec<f64> {
    let warm = trial.batches.iter_series(series).filter(|batch| batch.phase == Phase::Warm);
    let values = warm.flat_map(|batch| match &batch.sample {
        Sample::Gauge { value } => vec![*value],
        timed => {
            timed.iter_timed().map(|timed| timed.elapsed_ns as f64 / timed.operations.max(1) as f64).collect()
        }
    });
    values.filter(|value| value.is_finite()).collect()
}
