//! Runs for the outcome of commands: how many starts they need, and how long a run may take.

use tare_analysis::outcome::{PARTS, is_enough};
use tare_data::failure::{Failure, FailureKind};
use tare_data::names::{Case, USER};
use tare_data::session::{Plan, Role, Sides};
use tare_probes::descriptions::{LONGEST_TIMEOUT_S, run_limit_s};

use crate::session::plan::calibrated::Calibrated;

/// A run ends at this many times the baseline's slowest run, and no sooner than after these seconds.
const LIMIT_FACTOR: f64 = 10.0;
const LEAST_LIMIT_S: f64 = 10.0;
/// Parameter with the seconds that a run may take; 0 where the baseline tells.
const LIMIT: &str = "timeout_s";
/// Parameters with the steps beside a run, which have its limit.
const STEPS: [&str; 3] = ["setup", "prepare", "clean"];
/// Starts of a side where the user fixed the number of rounds, at most.
const MOST_FIXED: u32 = 10;
/// Starts of a side for all commands together, at most.
const MOST_STARTS: u32 = 60;
/// Share of the time that is left which these starts may take.
const MOST_SHARE: f64 = 0.25;

/// Tells whether the outcome of a case is compared: that of a command which works in the user's folder.
pub fn is_compared(case: &Case) -> bool {
    case.probe.starts_with(USER) && case.parameters.get_text("folder").is_ok_and(|folder| !folder.is_empty())
}

/// Tells whether the outcome of a planned case is compared; sides that have commands have them in one case.
pub fn has_outcome(plan: &Plan, case: usize) -> bool {
    is_compared(&plan.targets[0].fill_case(&plan.cases[case].case))
}

/// Tells whether a failure before the rounds is an outcome of the command itself, and not of a step beside it.
pub fn is_outcome(case: &Case, failure: &Failure) -> bool {
    let is_end = matches!(failure.kind, FailureKind::WrongWork | FailureKind::Deadline);
    is_compared(case) && is_end && !failure.reason.starts_with("--")
}

/// Limits a run by the slowest of the baseline where the user gave no limit, and no other step, such as a build, would have to keep it.
pub fn limit_run(mut case: Case, slowest_ns: Option<f64>) -> Case {
    let is_alone = STEPS.iter().all(|step| case.parameters.get_text(step).is_ok_and(|words| words == "[]"));
    if let (true, Ok("0"), Some(slowest_ns)) = (is_alone, case.parameters.get_text(LIMIT), slowest_ns) {
        let seconds = (LIMIT_FACTOR * slowest_ns / 1e9).clamp(LEAST_LIMIT_S, LONGEST_TIMEOUT_S as f64);
        case.parameters.0.insert(LIMIT.into(), (seconds.ceil() as u64).to_string());
    }
    case
}

/// Returns the longest time of a run of a case, in milliseconds.
pub fn run_limit_ms(case: &Case) -> u64 {
    run_limit_s(&case.parameters).unwrap_or(0).saturating_mul(1_000)
}

/// Chooses how many starts each side has for the outcomes of these cases, which take `round_s` on all sides; with a fixed number of
/// rounds as many as those.
pub fn choose_starts(
    (cases, subjects): (usize, usize),
    fixed: Option<u32>,
    round_s: f64,
    left_s: Option<f64>,
) -> u32 {
    let things = PARTS * cases * subjects;
    if things == 0 {
        return 0;
    }
    let wanted = (1..).find(|starts| is_enough([*starts; 2], things)).unwrap_or(MOST_FIXED);
    let wanted = fixed.map_or(wanted, |rounds| rounds.min(MOST_FIXED));
    let affordable = left_s.map_or(MOST_STARTS, |left_s| (left_s * MOST_SHARE / round_s.max(1e-3)) as u32);
    wanted.min(affordable).min(MOST_STARTS / cases as u32)
}

/// Estimates the time that the starts for outcomes take of what is left, in seconds, where the number of rounds is not fixed. Only some
/// of the environments beside the baseline may be kept, and those whose start takes no time that is known are not entered.
pub(crate) fn estimate_starts_s(
    (cases, targets): (&[Calibrated], &Sides),
    start_s: impl Fn(usize) -> Option<f64>,
    is_kept: impl Fn(usize) -> bool,
    left_s: f64,
) -> f64 {
    let compared = cases.iter().filter(|case| is_compared(&targets[0].fill_case(&case.selected.case)));
    let runs_s: Vec<f64> = compared.map(|case| case.baseline_ns().unwrap_or(0.0) / 1e9).collect();
    let subjects = || targets.list_role(Role::Subject).filter(|at| is_kept(*at));
    let sides = targets.list_role(Role::Baseline).chain(subjects());
    let (entered, starts_s) =
        sides.filter_map(start_s).fold((0, 0.0), |(count, sum), start_s| (count + 1, sum + start_s));
    let round_s = runs_s.iter().map(|run_s| starts_s + f64::from(entered) * run_s).sum();
    let subjects = if entered < 2 { 0 } else { subjects().count() };
    f64::from(choose_starts((runs_s.len(), subjects), None, round_s, Some(left_s))) * round_s
}
