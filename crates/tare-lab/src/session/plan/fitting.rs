//! Fitting: which environments a budget has no room for, before they are started and while their cases are calibrated.
//!
//! Typical paces stand in for those that are not known yet, and generously: an environment that fits is never left out for them.

use std::collections::BTreeMap;

use tare_data::session::Sides;

use crate::session::plan::amount::LEAST_SCALE;
use crate::session::plan::calibrated::Calibrated;
use crate::session::plan::hopeless::find_failure_of_all;
use crate::session::plan::paces::{EnvironmentPace, Paces};
use crate::session::plan::staging::{LeftOut, find_left_out};
use crate::study::SelectedCase;

/// Cases whose calibrations show how typical paces hold in an environment.
pub(crate) const FEWEST_CALIBRATED: usize = 2;
/// Share of a typical time that a start or a case may take on another machine...
const ELSEWHERE: f64 = 0.25;
/// ...and on this one, as cases that were calibrated here show: the first in a cold sandbox take longer.
const LATER: f64 = 0.5;

/// A session's cases and environments by typical paces.
pub(crate) struct Fitting<'a> {
    sides: &'a Sides,
    typical: Vec<Calibrated>,
    environments: Vec<Option<EnvironmentPace>>,
    budget_s: f64,
    has_outcomes: bool,
}

impl<'a> Fitting<'a> {
    /// Looks up the cases of a session with this budget, which may have starts for the outcome of commands.
    pub fn new(
        selected: &[SelectedCase],
        sides: &'a Sides,
        (budget_s, has_outcomes): (f64, bool),
    ) -> Fitting<'a> {
        let (environments, typical) = Paces::read_shipped().estimate_cases(selected, sides);
        Fitting { sides, typical, environments, budget_s, has_outcomes }
    }

    /// Finds the environments that do not fit, at a moment at which the first cases are calibrated, and some starts known.
    pub fn find_unfit(
        &self,
        calibrated: &[Calibrated],
        start_s: impl Fn(usize) -> Option<f64>,
        now_s: f64,
    ) -> Vec<LeftOut> {
        let factors: Vec<f64> = (0..self.sides.len()).map(|at| self.factor(calibrated, at)).collect();
        let rest = self.typical.iter().skip(calibrated.len()).map(|typical| {
            let is_known = |at: usize| self.environments[at].is_some();
            let mut case = typical.clone().assume_quickest(is_known);
            for (at, (pace, factor)) in case.paces.iter_mut().zip(&factors).enumerate() {
                if let Some(failure) = find_failure_of_all(calibrated, at) {
                    *pace = Err(failure.clone());
                } else if let Ok(pace) = pace {
                    pace.operation_ns *= factor;
                    pace.overhead_ns *= factor;
                    pace.fixed_ns = pace.fixed_ns.map(|ns| ns * factor);
                }
            }
            case
        });
        let cases: Vec<Calibrated> = calibrated.iter().cloned().chain(rest).collect();
        let typical_s = |at: usize| self.environments[at].map(|pace| pace.start_s * ELSEWHERE);
        let start_s = |at: usize| start_s(at).or_else(|| typical_s(at));
        let time_s = (now_s, self.budget_s - now_s);
        find_left_out((&cases[..], self.sides), start_s, self.has_outcomes, time_s)
    }

    /// Computes the share of their typical times that further cases take in an environment at least.
    fn factor(&self, calibrated: &[Calibrated], at: usize) -> f64 {
        let trial_ns = |case: &Calibrated| -> Option<f64> {
            case.trials_ns(LEAST_SCALE).into_iter().collect::<BTreeMap<_, _>>().get(&at).copied()
        };
        let both = calibrated.iter().zip(&self.typical);
        let known: Vec<(f64, f64)> =
            both.filter_map(|(seen, typical)| Some((trial_ns(seen)?, trial_ns(typical)?))).collect();
        let sum = known.iter().fold((0.0, 0.0), |sum, of| (sum.0 + of.0, sum.1 + of.1));
        if known.len() < FEWEST_CALIBRATED || sum.1 <= 0.0 { ELSEWHERE } else { LATER * sum.0 / sum.1 }
    }
}

#[cfg(test)]
mod tests {
    use tare_data::failure::{Failure, FailureKind};

    use super::*;
    use crate::session::enter::sides::name_sides;
    use crate::study::Study;

    /// Lists the environments that do not fit, where two cases are calibrated that take this many times their typical times.
    fn unfit(budget_s: f64, calibrated: Option<f64>) -> Vec<String> {
        let sides = name_sides("native", &["container".into(), "qemu".into()]).unwrap();
        let selected = Study::from_name("quick").unwrap().expand_cases(None, None).unwrap();
        let fitting = Fitting::new(&selected, &sides, (budget_s, true));
        let slower = |case: &Calibrated| {
            let mut case = case.clone();
            for pace in case.paces.iter_mut().skip(1).flatten() {
                pace.operation_ns *= calibrated.unwrap_or(1.0);
                pace.overhead_ns *= calibrated.unwrap_or(1.0);
            }
            case
        };
        let two = if calibrated.is_some() { &fitting.typical[..FEWEST_CALIBRATED] } else { &[] };
        let known: Vec<Calibrated> = two.iter().map(slower).collect();
        let found = fitting.find_unfit(&known, |_| None, 1.0);
        found.into_iter().map(|out| sides[out.target].name.clone()).collect()
    }

    #[test]
    fn what_cannot_fit_even_on_a_quicker_machine_is_not_started() {
        assert_eq!(unfit(6.0, None), ["qemu"]);
        assert!(unfit(150.0, None).is_empty());
    }

    #[test]
    fn an_environment_that_fails_takes_no_time_from_the_next() {
        let sides = name_sides("native", &["qemu".into(), "uml".into()]).unwrap();
        let selected = Study::from_name("quick").unwrap().expand_cases(None, None).unwrap();
        let is_left_out = |budget_s: f64, is_failing: bool| {
            let fitting = Fitting::new(&selected, &sides, (budget_s, true));
            let mut known = fitting.typical[..FEWEST_CALIBRATED].to_vec();
            let failure = Failure::new(FailureKind::Died, "no boot");
            let of_qemu = known.iter_mut().map(|case| &mut case.paces[2]).filter(|_| is_failing);
            of_qemu.for_each(|pace| *pace = Err(failure.clone()));
            fitting.find_unfit(&known, |_| Some(0.0), 1.0).iter().any(|out| sides[out.target].name == "uml")
        };
        let short_s = (1..1_000).rev().map(f64::from).find(|s| is_left_out(*s, false)).unwrap();
        assert!(!is_left_out(short_s, true), "{short_s}");
    }

    #[test]
    fn two_cases_show_that_an_environment_is_slower_than_is_typical() {
        assert!(unfit(150.0, Some(1.0)).is_empty());
        assert_eq!(unfit(150.0, Some(30.0)), ["qemu"]);
    }
}
