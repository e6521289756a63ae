//! The outlook of a session: how many comparisons it has, and how far its time goes, by typical paces. Nothing is measured for it.

use std::collections::BTreeMap;
use std::time::Instant;

use tare_analysis::findings::sameness::FEWEST_STARTS;
use tare_analysis::verdicts::stopping::{planned_looks, rounds_before_look, units_to_leave};
use tare_data::failure::Failure;
use tare_data::request::Amount;
use tare_data::session::{Role, Side, Sides};

use crate::asked::Until;
use crate::session::plan::amount::Pace;
use crate::session::plan::budget::{RoundTime, describe_short_budget, rounds_within};
use crate::session::plan::calibrated::{Calibrated, QUICKEST_NS};
use crate::session::plan::outcomes::estimate_starts_s;
use crate::session::plan::paces::{EnvironmentPace, Paces};
use crate::session::plan::prepare::{ENDLESS, not_before};
use crate::session::plan::staging::{LeftOut, find_left_out};
use crate::session::plan::starts::{
    Start, TRIALS_A_START, describe_few_starts, rounds_with_starts, short_of_starts,
};
use crate::session::protocol::budget::Budget;
use crate::session::protocol::selection::Selection;

/// Typical time that a case takes to calibrate, besides its process: operations are doubled until they take a millisecond.
const CALIBRATION_NS: f64 = 2e6;
/// Time of an operation of a command that takes as long as one can, beside [`QUICKEST_NS`].
const SLOWEST_NS: f64 = 1e15;

/// Cells, pairs and seconds of a session that has not begun.
#[derive(Clone, Debug, PartialEq)]
pub struct Outlook {
    pub cases: usize,
    /// Environments by name, the baseline first.
    pub environments: Vec<String>,
    /// True where subjects are only measured if they are ready, because nobody named them.
    pub if_ready: bool,
    pub comparisons: usize,
    /// Pairs that each comparison has before anything is decided.
    pub pairs: u32,
    /// True where that is at the end.
    pub one_look: bool,
    /// Seconds until all comparisons have these pairs, as far as times are known; none where none is known in the baseline.
    pub seconds: Option<f64>,
    pub until: Until,
    pub left_out: Vec<Absent>,
    /// Doubts about the time, in the words of the session.
    pub notes: Vec<String>,
    /// Probes and environments whose times are not known, and therefore not in the seconds.
    pub unknown_probes: Vec<String>,
    pub unknown_environments: Vec<String>,
    /// Least and most runs of a command in a trial.
    pub runs: Option<[u32; 2]>,
    /// Machine on which the paces were measured.
    pub paces_from: String,
}

/// An environment that is left out, and why.
#[derive(Clone, Debug, PartialEq)]
pub struct Absent {
    pub environment: String,
    pub lacking_s: f64,
    /// The sentence of the session.
    pub note: String,
}

/// A session as it would be planned by typical paces.
struct Forecast<'a> {
    targets: &'a Sides,
    environments: Vec<Option<EnvironmentPace>>,
    cases: Vec<Calibrated>,
    /// False where commands are explained, and nobody compares what they do.
    has_outcomes: bool,
}

impl Outlook {
    /// Looks ahead to the session of a selection in these environments, the baseline first.
    pub(super) fn foresee_session(
        selection: &Selection,
        targets: &Sides,
        if_ready: bool,
        paces: &Paces,
    ) -> Outlook {
        let mut forecast = Forecast::from_paces(selection, targets, paces);
        let runs = forecast.count_runs();
        let has_known = forecast.cases.iter().any(|case| case.paces[0].is_ok());
        let unknown_probes = forecast.list_unknown_probes();
        let unknown_environments = forecast.list_unknown_environments();
        let least_rounds = selection.study.least_rounds.unwrap_or(0);
        let begin_s = forecast.estimate_beginning_s();
        let (mut left_out, mut notes) = (Vec::new(), Vec::new());
        let (looks, rounds_s) = match selection.until {
            Until::Rounds(rounds) => (vec![rounds], forecast.estimate_fixed_rounds_s(rounds)),
            Until::Decided => {
                let looks = not_before(least_rounds, planned_looks(ENDLESS));
                let s = forecast.estimate_rounds_s(1.0, looks[0], FEWEST_STARTS as u32);
                (looks, s)
            }
            Until::Budget(whole) => {
                let left_s = (Budget::for_session(whole, Instant::now()).seconds() - begin_s).max(1.0);
                left_out = forecast.leave_out((begin_s, left_s));
                let outcomes_s = forecast.estimate_outcomes_s(left_s);
                let left_s = left_s - outcomes_s;
                let starts = forecast.list_starts();
                let name = |(at, starts): (usize, u32)| describe_few_starts(&targets[at].name, starts);
                notes = short_of_starts(&starts, left_s).into_iter().map(name).collect();
                let round = |scale| RoundTime::estimate_round(&forecast.cases, targets, scale);
                let (scale, rounds) = rounds_within(left_s, &starts, round);
                let looks = match has_known {
                    true => not_before(least_rounds, planned_looks(rounds)),
                    // Nobody knows how many rounds fit.
                    false if least_rounds > 0 => vec![rounds_before_look(0)],
                    false => planned_looks(ENDLESS),
                };
                match &looks[..] {
                    // It has all the time, and the horizon is further away.
                    [_] if has_known => {
                        let fit = rounds_with_starts(&starts, round(scale).all_s, left_s).max(1.0);
                        (vec![fit as u32], outcomes_s + left_s)
                    }
                    looks => {
                        let rounds_s = forecast.estimate_rounds_s(scale, looks[0], FEWEST_STARTS as u32);
                        (looks.to_vec(), outcomes_s + rounds_s)
                    }
                }
            }
        };
        let is_left_out = |target: &&Side| left_out.iter().any(|out: &Absent| out.environment == target.name);
        let shown = targets.iter().filter(|target| target.repeats.is_none() && !is_left_out(target));
        let environments: Vec<String> = shown.map(|target| target.name.clone()).collect();
        Outlook {
            cases: forecast.cases.len(),
            comparisons: forecast.cases.len() * (environments.len() - 1),
            environments,
            if_ready,
            pairs: looks[0],
            one_look: looks.len() == 1,
            seconds: has_known.then_some(begin_s + rounds_s),
            until: selection.until,
            left_out,
            notes,
            unknown_probes,
            unknown_environments,
            runs,
            paces_from: paces.machine.clone(),
        }
    }

    /// Says that the budget is too short for the first look, as far as times are known.
    pub(super) fn describe_short_budget(&self) -> Option<String> {
        let Until::Budget(whole) = self.until else { return None };
        let has_s = Budget::for_session(whole, Instant::now()).seconds();
        Some(describe_short_budget(self.seconds.filter(|needed_s| *needed_s > has_s)?))
    }
}

impl<'a> Forecast<'a> {
    fn from_paces(selection: &Selection, targets: &'a Sides, paces: &Paces) -> Forecast<'a> {
        let (environments, cases) = paces.estimate_cases(&selection.selected, targets);
        Forecast { targets, environments, cases, has_outcomes: !selection.counts_demand }
    }

    /// Lists the probes without a known time, apart from commands.
    fn list_unknown_probes(&self) -> Vec<String> {
        let environment = |at: usize| self.environments[at].is_some();
        let is_unknown =
            |case: &&Calibrated| (0..self.targets.len()).any(|at| environment(at) && case.paces[at].is_err());
        let cases = self.cases.iter().filter(|case| !case.is_command() && is_unknown(case));
        let mut probes: Vec<String> = cases.map(|case| case.selected.case.probe.clone()).collect();
        probes.sort_unstable();
        probes.dedup();
        probes
    }

    fn list_unknown_environments(&self) -> Vec<String> {
        let both = self.targets.iter().zip(&self.environments);
        let unknown = both.filter(|(target, pace)| target.repeats.is_none() && pace.is_none());
        unknown.map(|(target, _)| target.name.clone()).collect()
    }

    /// Counts the least and the most runs of a command in a trial, which depend on its time; none without a command.
    fn count_runs(&self) -> Option<[u32; 2]> {
        let command = self.cases.iter().find(|case| case.is_command())?;
        let count = |operation_ns: f64| {
            let pace = Pace { operation_ns, overhead_ns: 0.0, fixed_ns: None };
            let paces = command.paces.iter().map(|_| Ok(pace)).collect();
            let timed = Calibrated { selected: command.selected.clone(), paces, ..command.clone() };
            let planned = timed.plan(1.0, self.targets, &BTreeMap::new());
            let batches = |amount: &Amount| match amount {
                Amount::Operations { batches, .. } => *batches,
                Amount::Duration { .. } | Amount::Calibrate | Amount::Outcome => 0,
            };
            let alone = (planned.pairs.len() + 1 < self.targets.len()).then_some(planned.amount);
            planned.pairs.values().chain(&alone).map(batches).collect::<Vec<u32>>()
        };
        let runs = [count(SLOWEST_NS), count(QUICKEST_NS)].concat();
        Some([*runs.iter().min()?, *runs.iter().max()?])
    }

    fn start_s(&self, at: usize) -> f64 {
        self.find_start_s(at).unwrap_or(0.0)
    }

    fn find_start_s(&self, at: usize) -> Option<f64> {
        Some(self.environments[at]?.start_s)
    }

    /// Estimates the time of the starts for outcomes.
    fn estimate_outcomes_s(&self, left_s: f64) -> f64 {
        let start_s = |at: usize| self.find_start_s(at);
        estimate_starts_s((&self.cases[..], self.targets), start_s, |_| self.has_outcomes, left_s)
    }

    /// Estimates the time of entering everything, and of a calibration of each case in all but controls.
    fn estimate_beginning_s(&self) -> f64 {
        let enter_s: f64 = (0..self.targets.len()).map(|at| self.start_s(at)).sum();
        let is_calibrated = |(target, _): &(&Side, &Result<Pace, Failure>)| target.repeats.is_none();
        let calibrated =
            self.cases.iter().flat_map(|case| self.targets.iter().zip(&case.paces).filter(is_calibrated));
        let ns = |pace: &Pace| pace.overhead_ns + pace.operation_ns.max(CALIBRATION_NS);
        enter_s + calibrated.filter_map(|(_, pace)| pace.as_ref().ok()).map(ns).sum::<f64>() / 1e9
    }

    /// Leaves out the environments for which a budget has no time, of which this much is over and left when all are entered.
    fn leave_out(&mut self, time_s: (f64, f64)) -> Vec<Absent> {
        let is_known = |at: usize| self.environments[at].is_some();
        let cases: Vec<Calibrated> =
            self.cases.iter().map(|case| case.clone().assume_quickest(is_known)).collect();
        let start_s = |at: usize| self.find_start_s(at);
        let left_out = find_left_out((&cases[..], self.targets), start_s, self.has_outcomes, time_s);
        for out in &left_out {
            let is_its = |at: &usize| *at == out.target || self.targets.partner_of(*at) == Some(out.target);
            for at in (0..self.targets.len()).filter(is_its) {
                self.environments[at] = None;
                self.cases.iter_mut().for_each(|case| case.paces[at] = Err(out.to_failure()));
            }
        }
        let absent = |out: LeftOut| {
            let environment = self.targets[out.target].name.clone();
            Absent { note: out.describe(&environment), environment, lacking_s: out.lacking_s }
        };
        left_out.into_iter().map(absent).collect()
    }

    /// Lists the starts of all environments; none where each trial is a start.
    fn list_starts(&self) -> Vec<Start> {
        let all_are_starts = self.cases.iter().all(Calibrated::is_start);
        let start = |at: usize| Start { made: 0, s: self.start_s(at) };
        if all_are_starts { Vec::new() } else { (0..self.targets.len()).map(start).collect() }
    }

    /// Estimates the time of rounds, in the first of which everything starts.
    fn estimate_rounds_s(&self, scale: f64, rounds: u32, first: u32) -> f64 {
        let round_s = RoundTime::estimate_round(&self.cases, self.targets, scale).all_s;
        let start_s: f64 = self.list_starts().iter().map(|start| start.s).sum();
        f64::from(rounds) * round_s + f64::from(rounds.min(first)) * start_s
    }

    /// Estimates the time of a fixed number of rounds: in those of the starts that a cell needs to leave everything starts, and
    /// later trials have the time of starts that goes with them.
    fn estimate_fixed_rounds_s(&self, rounds: u32) -> f64 {
        let subjects = self.targets.of_role(Role::Subject).count();
        let first = units_to_leave(subjects * self.cases.len());
        let later = if self.list_starts().is_empty() { 0 } else { rounds.saturating_sub(first) };
        self.estimate_rounds_s(1.0, rounds, first) + self.estimate_rounds_s(1.0, later, 0) / TRIALS_A_START
    }
}

#[cfg(test)]
mod tests {
    use std::path::PathBuf;
    use std::time::Duration;

    use super::*;
    use crate::asked::{Measured, Request};
    use crate::session::enter::sides::name_sides;
    use crate::study::Study;
    use crate::study::user_command::UserCommand;

    const TABLE: &str = "machine = 'm'
        [cases]
        'sys.getppid' = { operation_us = 0.1, overhead_ms = 1 }
        [environments]
        native = { operation = 1, overhead = 1, start_s = 0.01, takes_turns = true }
        container = { operation = 1, overhead = 1, start_s = 0.01, takes_turns = true }
        gvisor = { operation = 5, overhead = 10, start_s = 1, takes_turns = false }";

    fn foresee(measured: Measured, only: &[&str], subjects: &[&str], until: Until) -> Outlook {
        let owned = |texts: &[&str]| texts.iter().map(|&text| text.to_owned()).collect::<Vec<_>>();
        let request = Request {
            only: owned(only),
            until: Some(until),
            ..Request::new(measured, "native", PathBuf::new())
        };
        let targets = name_sides("native", &owned(subjects)).unwrap();
        let paces = toml::from_str(TABLE).unwrap();
        Outlook::foresee_session(&request.make_selection().unwrap(), &targets, false, &paces)
    }

    fn foresee_quick(only: &[&str], subjects: &[&str], until: Until) -> Outlook {
        foresee(Measured::Named("quick".into()), only, subjects, until)
    }

    fn command() -> Study {
        let text = "name = 'x'\ntitle = 'x'\nabout = ''\nbudget = '1m'\n[probe.x]\ncommand = ['true']\n";
        Study::parse(text, "x").unwrap()
    }

    #[test]
    fn rounds_take_the_time_of_their_pairs_and_starts() {
        let outlook = foresee_quick(&["sys.getppid"], &["container"], Until::Rounds(3));
        assert_eq!((outlook.cases, outlook.comparisons, outlook.pairs), (1, 1, 3));
        assert_eq!(outlook.environments, ["native", "container"]);
        // Three starts and two calibrations; then two pairs of 5 ms and three starts a round.
        let expected_s = 0.03 + 0.006 + 3.0 * (0.01 + 0.03);
        assert!((outlook.seconds.unwrap() / expected_s - 1.0).abs() < 0.01, "{:?}", outlook.seconds);
        // From the twelfth on, starts have a third of the time.
        let many = foresee_quick(&["sys.getppid"], &["container"], Until::Rounds(1_000));
        assert!((14.0..17.0).contains(&many.seconds.unwrap()), "{:?}", many.seconds);
    }

    #[test]
    fn a_budget_leaves_out_what_it_has_no_time_for_in_the_words_of_the_session() {
        let in_budget = |s| {
            foresee_quick(&["sys.getppid"], &["container", "gvisor"], Until::Budget(Duration::from_secs(s)))
        };
        let short = in_budget(9);
        assert_eq!((short.comparisons, short.environments.len(), short.pairs), (1, 2, 12));
        let [Absent { environment, lacking_s, note }] = &short.left_out[..] else { panic!("{short:?}") };
        assert!((lacking_s - 0.97).abs() < 0.05, "{lacking_s}");
        assert_eq!(
            (environment.as_str(), note.as_str()),
            (
                "gvisor",
                "gvisor is left out: 12 rounds of it take 1 s more than the budget has; name fewer environments, or --budget 10s"
            )
        );
        assert!(short.seconds.unwrap() < 2.0, "{:?}", short.seconds);
        assert!(in_budget(10).left_out.is_empty(), "the budget that is named would do");
        let long = in_budget(30);
        assert_eq!((long.comparisons, long.left_out.len()), (2, 0));
        // 1.05 s to begin; eight starts of 1.03 s; twelve rounds of two pairs of 5 ms, and of 3 and 20 ms alone.
        assert!((long.seconds.unwrap() - 9.68).abs() < 0.05, "{:?}", long.seconds);
    }

    #[test]
    fn a_budget_leaves_out_what_starts_for_outcomes_leave_no_time_for() {
        let in_folder = |is_explained: bool| {
            let command = UserCommand { folder: Some("/made-up".into()), ..command().commands["x"].clone() };
            let study = Study::of_commands("x", [("x".to_owned(), command)].into());
            let mut request = Request::new(Measured::Commands(study), "native", PathBuf::new());
            request.until = Some(Until::Budget(Duration::from_secs(11)));
            request.counts_demand = is_explained;
            let targets = name_sides("native", &["container".into(), "gvisor".into()]).unwrap();
            let paces = toml::from_str(TABLE).unwrap();
            Outlook::foresee_session(&request.make_selection().unwrap(), &targets, false, &paces)
        };
        // Eight starts of gVisor take 8 of the 9.4 s that entering all leaves, and two more for outcomes take 2 s.
        let left_out = |outlook: &Outlook| -> Vec<String> {
            outlook.left_out.iter().map(|out| out.environment.clone()).collect()
        };
        let outlook = in_folder(false);
        assert_eq!(left_out(&outlook), ["gvisor"], "{outlook:?}");
        assert_eq!((outlook.pairs, outlook.one_look), (12, false), "nobody knows how many pairs fit");
        assert_eq!(left_out(&in_folder(true)), [""; 0], "a bill has no outcomes");
    }

    #[test]
    fn a_budget_that_is_too_short_names_one_that_is_not() {
        let in_budget = |s| {
            let until = Until::Budget(Duration::from_secs(s));
            foresee_quick(&["sys.getppid"], &["gvisor"], until).describe_short_budget()
        };
        assert_eq!(
            in_budget(10).as_deref(),
            Some("the budget is too short to decide everything: --budget 15s has room for 12 rounds of it")
        );
        assert_eq!(in_budget(60), None);
    }

    #[test]
    fn a_ladder_has_the_pairs_that_the_budget_has_room_for() {
        let study = Study { least_rounds: Some(u32::MAX), ..Study::from_name("quick").unwrap() };
        let until = Until::Budget(Duration::from_secs(24));
        let outlook = foresee(Measured::Read(study), &["sys.getppid"], &["container"], until);
        assert!(outlook.one_look);
        // Two thirds of 22.8 s in rounds of 10 ms.
        assert!((1_450..1_550).contains(&outlook.pairs), "{}", outlook.pairs);
        assert!(
            (outlook.seconds.unwrap() - 22.8).abs() < 1e-6,
            "all of it but the reserve: {:?}",
            outlook.seconds
        );
    }

    #[test]
    fn a_time_that_nobody_measured_is_named_and_left_out_of_the_seconds() {
        let outlook =
            foresee_quick(&["sys.getppid", "file.sync"], &["container", "docker"], Until::Rounds(3));
        assert_eq!((outlook.cases, outlook.comparisons), (2, 4));
        assert_eq!(outlook.unknown_environments, ["docker"]);
        assert_eq!(outlook.unknown_probes, ["file.sync"]);
        let known = foresee_quick(&["sys.getppid"], &["container"], Until::Rounds(3));
        assert_eq!(outlook.seconds, known.seconds);
    }

    #[test]
    fn the_time_of_a_command_is_not_known_but_the_bounds_of_its_runs() {
        let runs = |subjects: &[&str]| {
            let outlook = foresee(Measured::Read(command()), &[], subjects, Until::Decided);
            assert_eq!((outlook.seconds, outlook.unknown_probes.len()), (None, 0));
            outlook.runs
        };
        assert_eq!(runs(&["container"]), Some([3, 25]), "in turns");
        assert_eq!(runs(&["gvisor"]), Some([1, 25]), "alone, and in turns with the control");
        let once = foresee(Measured::Commands(command()), &[], &["container"], Until::Rounds(5));
        assert_eq!((once.runs, once.pairs), (Some([1, 1]), 5));
    }
}
