//! Sessions made up for the analysis, and what a look says of one.

use tare_analysis::change::Judged;
use tare_analysis::findings::Interval;
use tare_analysis::verdicts::stopping::planned_looks;
use tare_analysis::{Look, Options, Progress};
use tare_data::session::{PlannedCase, Role, Session};
use tare_specimen::{make_plan, make_sides};

pub use tare_specimen::{
    MARGIN, Outcome, compute_jitter, make_case, make_metric, make_timed_case, make_trial, run_rounds,
};

/// Builds a session with environments `native` (baseline), `again` (control) and these subjects, and no
/// trials yet.
pub fn make_session(subjects: &[&str], cases: Vec<PlannedCase>, rounds: u32) -> Session {
    let natives = [("native", Role::Baseline), ("again", Role::Control)];
    let targets = make_sides(natives.into_iter().chain(subjects.iter().map(|name| (*name, Role::Subject))));
    tare_specimen::make_session(make_plan(targets, cases, planned_looks(rounds)))
}

/// Finds the environments that need no more rounds of a case at a look; none do between looks.
pub fn find_finished(session: &Session, case: &str, rounds: u32) -> Vec<bool> {
    let options = Options::default();
    let look = Look::take(Progress::from_session(session), case, rounds, &options);
    look.map_or_else(|| vec![false; session.plan.targets.len()], |look| look.find_finished())
}

/// Reads the lower end of an interval.
pub fn low(interval: Interval) -> f64 {
    interval.ends(f64::from)[0]
}

/// Reads the higher end of an interval.
pub fn high(interval: Interval) -> f64 {
    interval.ends(f64::from)[1]
}

/// Judges a session, which stays as it is.
pub fn judge(session: &Session) -> Judged {
    Judged::of_session(session.clone())
}
