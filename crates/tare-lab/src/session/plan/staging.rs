//! Staging: which environments a budget leaves out, so that the others are decided.

use tare_analysis::findings::sameness::FEWEST_STARTS;
use tare_analysis::verdicts::stopping::rounds_before_look;
use tare_data::budget::name_budget;
use tare_data::failure::{Failure, FailureKind};
use tare_data::session::{Role, Side, Sides};

use crate::environments::PROVIDERS;
use crate::session::plan::amount::LEAST_SCALE;
use crate::session::plan::budget::add_up_trials;
use crate::session::plan::calibrated::Calibrated;
use crate::session::plan::outcomes::estimate_starts_s;

/// Time that an environment needs until its first look, in seconds.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Floor {
    pub target: usize,
    pub s: f64,
}

impl Floor {
    /// Estimates the floor of an environment from the times of its trials in a round of all cases, and of a start.
    pub fn from_round(target: usize, round_s: f64, start_s: f64) -> Floor {
        Floor { target, s: f64::from(rounds_before_look(0)) * round_s + FEWEST_STARTS as f64 * start_s }
    }
}

/// An environment for whose first look a budget has no time.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct LeftOut {
    pub target: usize,
    /// Seconds that the budget lacks.
    pub lacking_s: f64,
    /// Seconds of a session that has time for it, and for what was left out before it.
    pub needed_s: f64,
}

impl LeftOut {
    /// Makes the failure that a plan has in place of its cells.
    pub fn to_failure(self) -> Failure {
        let (rounds, s) = (rounds_before_look(0), self.lacking_s);
        Failure::new(
            FailureKind::LeftOut,
            format!("{rounds} rounds of it take {s:.0} s more than the budget has"),
        )
    }

    /// Says that an environment of this name is left out, and what would keep it.
    pub fn describe(self, name: &str) -> String {
        let reason = self.to_failure().reason;
        let budget = name_budget(self.needed_s);
        format!("{name} is left out: {reason}; name fewer environments, or {budget}")
    }
}

/// Finds the environments for whose first look a budget has no time, so that the others are decided. Those that stay come first, then
/// what was named first. Starts for outcomes, where there are any, come before the rounds: those that stay take time for their own. Of the
/// budget, `passed_s` are over.
pub(crate) fn find_left_out(
    (cases, targets): (&[Calibrated], &Sides),
    start_s: impl Fn(usize) -> Option<f64>,
    has_outcomes: bool,
    (passed_s, left_s): (f64, f64),
) -> Vec<LeftOut> {
    let trials_s = add_up_trials(cases, targets.len(), LEAST_SCALE);
    let is_measured = |at: &usize| targets.role(*at) == Role::Subject && trials_s[*at] > 0.0;
    let mut subjects: Vec<usize> = (0..targets.len()).filter(is_measured).collect();
    let stays = |target: &Side| {
        PROVIDERS.iter().any(|provider| provider.by_default.stays && provider.name == target.provider())
    };
    subjects.sort_by_key(|at| !stays(&targets[*at]));
    let floor = |at: usize| Floor::from_round(at, trials_s[at], start_s(at).unwrap_or(0.0));
    let floors: Vec<Floor> = subjects.into_iter().map(floor).collect();
    let before_s = |kept: &[usize]| {
        let is_kept = |at| has_outcomes && kept.contains(&at);
        estimate_starts_s((cases, targets), &start_s, is_kept, left_s)
    };
    let left_out = choose_left_out(&floors, before_s, left_s - floor(0).s);
    left_out.into_iter().map(|out| LeftOut { needed_s: passed_s + left_s + out.needed_s, ..out }).collect()
}

/// Chooses the environments that are left out: of those in this order the first stays, and each other one for which those that stay
/// leave time. `before_s` is what precedes the rounds where these environments are kept beside the baseline. What is needed is told beyond
/// what is left.
fn choose_left_out(floors: &[Floor], before_s: impl Fn(&[usize]) -> f64, left_s: f64) -> Vec<LeftOut> {
    let (mut spent_s, mut kept, mut left_out) = (0.0, Vec::new(), Vec::new());
    let (mut all_s, mut all) = (0.0, Vec::new());
    for floor in floors {
        kept.push(floor.target);
        all.push(floor.target);
        all_s += floor.s;
        let lacking_s = spent_s + floor.s + before_s(&kept) - left_s;
        if kept.len() == 1 || lacking_s <= 0.0 {
            spent_s += floor.s;
        } else {
            kept.pop();
            let needed_s = all_s + before_s(&all) - left_s;
            left_out.push(LeftOut { target: floor.target, lacking_s, needed_s });
        }
    }
    left_out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_budget_has_no_time_for_is_left_out_and_what_comes_first_stays() {
        let floor = |(target, s): (usize, f64)| Floor { target, s };
        let left_out = |floors: &[(usize, f64)], left_s: f64| -> Vec<(usize, f64, f64)> {
            let floors: Vec<Floor> = floors.iter().copied().map(floor).collect();
            choose_left_out(&floors, |_| 0.0, left_s)
                .iter()
                .map(|left| (left.target, left.lacking_s, left.needed_s))
                .collect()
        };
        assert_eq!(left_out(&[(2, 10.0), (3, 20.0)], 30.0), []);
        assert_eq!(left_out(&[(2, 10.0), (3, 90.0), (4, 15.0)], 30.0), [(3, 70.0, 70.0)]);
        assert_eq!(left_out(&[(2, 100.0), (3, 1.0)], 30.0), [(3, 71.0, 71.0)]);
        let two = left_out(&[(2, 10.0), (3, 50.0), (4, 40.0)], 30.0);
        assert_eq!(two, [(3, 30.0, 30.0), (4, 20.0, 70.0)], "with it, the one before fits as well");
    }

    #[test]
    fn time_before_the_rounds_is_that_of_what_is_kept() {
        let floors = [(2, 10.0), (3, 10.0), (4, 10.0)].map(|(target, s)| Floor { target, s });
        let of_each = |kept: &[usize]| kept.iter().map(|target| if *target == 3 { 15.0 } else { 2.0 }).sum();
        assert_eq!(choose_left_out(&floors, |_| 0.0, 30.0), []);
        let expected = LeftOut { target: 3, lacking_s: 7.0, needed_s: 7.0 };
        assert_eq!(choose_left_out(&floors, of_each, 30.0), [expected]);
    }

    #[test]
    fn an_environment_that_is_left_out_says_how_much_is_lacking_and_what_would_do() {
        let left_out = LeftOut { target: 2, lacking_s: 70.4, needed_s: 130.4 };
        assert_eq!(
            left_out.describe("gvisor"),
            "gvisor is left out: 12 rounds of it take 70 s more than the budget has; name fewer environments, or --budget 3m"
        );
    }

    #[test]
    fn a_floor_is_the_first_look_and_the_starts_of_a_verdict() {
        assert_eq!(Floor::from_round(1, 0.5, 2.0).s, 22.0);
    }
}
