//! Starts for the outcome of commands, before the rounds: each side is entered afresh for one run that is not timed, by turns.

use std::collections::{BTreeMap, BTreeSet};

use tare_analysis::outcome::{fails, is_enough};
use tare_data::batch::RunEnd;
use tare_data::failure::{Failure, FailureKind};
use tare_data::generator::Generator;
use tare_data::request::Amount;
use tare_data::session::outcome::{Lines, OutcomeRun, Part};
use tare_data::session::{Role, Trial};
use tare_record::{Entry, Writer};

use crate::asked::progress::{Event, Observer};
use crate::error::LabError;
use crate::session::arena::{Arena, Started};
use crate::session::plan::before::trial_request;
use crate::session::plan::budget::cut_deadline_ms;
use crate::session::plan::outcomes::{choose_starts, has_outcome, limit_run, run_limit_ms};
use crate::session::plan::prepare::CellIndex;
use crate::session::rounds::course::Course;
use crate::session::rounds::masking::list_parts;
use crate::session::rounds::stop::Stop;

/// A side has no more runs of a command after this many that were ended because they took too long.
const MOST_OVERDUE: u32 = 4;
/// Time of the other steps of a run, and of entering an environment that was slow to end, in ms.
const BESIDE_MS: u64 = 60_000;
/// Expected times in seconds from which on they are said.
const LONG_S: f64 = 10.0;
/// Lines of a part that are kept in clear, and their longest: as many as a report shows, and some for a choice.
const MOST_SHOWN: usize = 8;
const LONGEST_SHOWN: usize = 120;

/// Starts for outcomes, in a session that has a plan.
pub struct Visits<'a> {
    pub arena: &'a mut dyn Arena,
    pub writer: &'a mut Writer,
    pub observer: &'a mut dyn Observer,
    pub course: &'a mut Course,
}

impl Visits<'_> {
    /// Counts the starts that each side is to have; none in a session that goes on, compares no command, or explains one.
    pub fn count_starts(&self) -> u32 {
        let session = &self.course.session;
        let cases = (0..session.plan.cases.len()).filter(|case| has_outcome(&session.plan, *case)).count();
        let sides = self.list_sides();
        // A bill does not compare what the command writes.
        let is_explained = !session.plan.demands.is_empty();
        if is_explained || !session.trials.is_empty() || !session.outcomes.is_empty() || sides.len() < 2 {
            return 0;
        }
        let left_s = self.course.left_s(self.arena.now_ns());
        let subjects = session.plan.targets.of_role(Role::Subject).count();
        let is_fixed = session.plan.budget_s.is_none() && !session.plan.until_decided;
        let fixed = is_fixed.then_some(session.plan.rounds);
        choose_starts((cases, subjects), fixed, self.estimate_round_s(), left_s)
    }

    /// Leaves all environments, and lists them.
    pub fn leave_all(&mut self) -> Vec<usize> {
        let all = 0..self.course.session.plan.targets.len();
        let entered: Vec<usize> = all.filter(|at| self.course.pilot.started[*at].is_ok()).collect();
        for target in &entered {
            self.arena.leave_environment(*target);
            self.course.targets[*target].settled_ns.clear();
        }
        entered
    }

    /// Runs every command once in each of these starts of each side. All environments are left when this returns; true where times
    /// are left to be compared.
    pub fn run(&mut self, starts: u32) -> Result<bool, Stop> {
        self.announce(starts);
        let mut runs: Vec<OutcomeRun> = Vec::new();
        let stopped = self.visit_all(starts, &mut runs).err();
        choose_shown(&mut runs);
        for run in runs {
            self.writer.append(&Entry::Outcome(run.clone())).map_err(LabError::from)?;
            self.course.session.outcomes.push(run);
        }
        stopped.map_or_else(|| Ok(self.close_cells()), Err)
    }

    fn list_cases(&self) -> Vec<usize> {
        let plan = &self.course.session.plan;
        (0..plan.cases.len()).filter(|case| has_outcome(plan, *case)).collect()
    }

    /// Visits all sides by turns, as long as that leaves half of the time: a side that hangs takes longer than was foreseen.
    fn visit_all(&mut self, starts: u32, runs: &mut Vec<OutcomeRun>) -> Result<(), Stop> {
        let half_s = self.course.left_s(self.arena.now_ns()).map(|left_s| left_s / 2.0);
        let mut failed: BTreeSet<usize> = BTreeSet::new();
        let cases = self.list_cases();
        let mut generator = Generator::for_part(self.course.session.plan.seed, "starts for outcomes");
        for start in 0..starts {
            if self.course.left_s(self.arena.now_ns()) < half_s {
                let note =
                    format!("{start} of {starts} runs of each side for the outcome: they take too long");
                self.observer.observe_event(Event::Note(note));
                break;
            }
            for case in &cases {
                let mut sides = self.list_sides();
                generator.shuffle(&mut sides);
                for target in sides {
                    if failed.contains(&target)
                        || count_overdue(runs, self.names((*case, target))) >= MOST_OVERDUE
                    {
                        continue;
                    }
                    match self.visit((*case, target), start)? {
                        Ok(run) => runs.push(run),
                        Err(failure) => {
                            failed.insert(target);
                            let name = &self.course.session.plan.targets[target].name;
                            let note = format!("{name}: its outcomes are not compared: {failure}");
                            self.observer.observe_event(Event::Note(note));
                        }
                    }
                }
            }
        }
        Ok(())
    }

    /// Enters an environment, runs a command once, and leaves.
    fn visit(
        &mut self,
        (case, target): (usize, usize),
        start: u32,
    ) -> Result<Result<OutcomeRun, Failure>, Stop> {
        let plan = &self.course.session.plan;
        self.observer.observe_event(Event::Outcome { target: &plan.targets[target].name });
        let ran = self.run_entered(case, target);
        self.arena.leave_environment(target);
        if let Some(error) = self.arena.host_failure() {
            return Err(error.into());
        }
        if self.arena.is_interrupted() {
            return Err(Stop::Interrupted);
        }
        let (case, target) = self.names((case, target));
        let (case, target) = (case.to_owned(), target.to_owned());
        Ok(ran.map(|(end, parts)| OutcomeRun { case, target, start, end, parts }))
    }

    fn run_entered(
        &mut self,
        case: usize,
        target: usize,
    ) -> Result<(RunEnd, BTreeMap<Part, Lines>), Failure> {
        let started = self.arena.enter_environment(target)?;
        let plan = &self.course.session.plan;
        let slowest_ns = self.course.pilot.slowest_ns.get(&case).copied();
        let limited = limit_run(plan.targets[target].fill_case(&plan.cases[case].case), slowest_ns);
        // Prepare and conclude have as long as the command.
        let deadline_ms = 3 * run_limit_ms(&limited) + BESIDE_MS;
        let deadline_ms = cut_deadline_ms(deadline_ms, self.course.until_ns, self.arena.now_ns());
        let request = trial_request(0, &limited, Amount::Outcome, &started, plan.seed, deadline_ms)?;
        let mut end = None;
        let sink = &mut |batch: &_| end = end.or(RunEnd::from_batch(batch));
        let outcome = self.arena.run_trial(target, &request, sink);
        let Some(end) = end else {
            let nothing = || Failure::new(FailureKind::Broken, "a run sent no end");
            return Err(outcome.failure.unwrap_or_else(nothing));
        };
        let shares = self.shares_folder(target);
        Ok((end, outcome.said.filter(|_| !shares).map(list_parts).unwrap_or_default()))
    }

    /// Tells whether a side works in the folder itself, with what others wrote there.
    fn shares_folder(&self, target: usize) -> bool {
        let work = self.course.session.plan.inside.work.as_ref();
        let keeps = |started: &Started| started.outside.get("root.changes").is_some();
        work.is_some_and(|work| work.shared) || self.course.pilot.started[target].as_ref().is_ok_and(keeps)
    }

    /// Lists the baseline and all that are compared, if they can be entered.
    fn list_sides(&self) -> Vec<usize> {
        let plan = &self.course.session.plan;
        let is_compared = |at: &usize| matches!(plan.targets.role(*at), Role::Baseline | Role::Subject);
        let all = (0..plan.targets.len()).filter(is_compared);
        all.filter(|at| self.course.pilot.started[*at].is_ok()).collect()
    }

    fn names(&self, (case, target): (usize, usize)) -> (&str, &str) {
        let plan = &self.course.session.plan;
        (&plan.cases[case].id, &plan.targets[target].name)
    }

    /// Estimates the time of one start of every side for every command.
    fn estimate_round_s(&self) -> f64 {
        let plan = &self.course.session.plan;
        let cases = (0..plan.cases.len()).filter(|case| has_outcome(plan, *case));
        let runs_s = |case: usize| self.course.pilot.slowest_ns.get(&case).copied().unwrap_or(0.0) / 1e9;
        let of_case = |case: usize| -> f64 {
            self.list_sides().iter().map(|side| self.course.targets[*side].start.s + runs_s(case)).sum()
        };
        cases.map(of_case).sum()
    }

    /// Tells whether there are outcomes, as in a session that goes on.
    pub fn has_outcomes(&self) -> bool {
        !self.course.session.outcomes.is_empty()
    }

    /// Says what the runs take where that is long, and what so few can show.
    fn announce(&mut self, starts: u32) {
        let seconds = self.estimate_round_s() * f64::from(starts);
        if seconds >= LONG_S {
            let note = format!("{starts} runs of each side for the outcome come first, about {seconds:.0} s");
            self.observer.observe_event(Event::Note(note));
        }
        if !is_enough([starts; 2], 1) {
            let note = format!("{starts} runs each: outcomes are counts, not answers");
            self.observer.observe_event(Event::Note(note));
        }
    }

    /// Ends the comparison of times where no pair of runs can end alike, as far as enough starts show; true where any is left.
    pub fn close_cells(&mut self) -> bool {
        let cases = self.list_cases();
        let plan = &self.course.session.plan;
        let subjects: Vec<usize> = plan.targets.list_role(Role::Subject).collect();
        let all = (0..plan.cases.len()).flat_map(|case| subjects.iter().map(move |target| (case, *target)));
        let (mut closed, mut is_left) = (Vec::new(), false);
        for (case, target) in all {
            let is_known = cases.contains(&case) && self.course.pilot.started[target].is_ok();
            match is_known && self.is_vain(case, target) {
                true => closed.push(CellIndex { case, target }),
                false => is_left |= !plan.cases[case].missing.contains_key(&plan.targets[target].name),
            }
        }
        closed.into_iter().for_each(|cell| self.course.open.close(cell));
        is_left
    }

    /// Tells whether times of a command in an environment cannot be compared.
    fn is_vain(&self, case: usize, target: usize) -> bool {
        let session = &self.course.session;
        let planned = &session.plan.cases[case];
        let Some(partner) = session.plan.targets.partner_of(target) else { return false };
        let sides = [partner, target].map(|at| {
            let names = self.names((case, at));
            let of = session.outcomes.iter().filter(|run| (run.case.as_str(), run.target.as_str()) == names);
            let ends: Vec<RunEnd> = of.map(|run| run.end).collect();
            let failed = ends.iter().filter(|end| fails(planned, **end)).count();
            let overdue = ends.iter().filter(|end| **end == RunEnd::TimedOut).count();
            (ends.len(), failed, overdue as u32)
        });
        let is_enough = is_enough(sides.map(|(all, ..)| all as u32), 1);
        let is_any = planned.case.parameters.get_text("expect_exit") == Ok("any");
        let never = sides.map(|(all, failed, _)| failed == all);
        let ever = sides.map(|(_, failed, _)| failed > 0);
        let is_apart = (never[0] && !ever[1]) || (never[1] && !ever[0]);
        // A command that failed in every calibration as well has no later run to time.
        let is_missing =
            [partner, target].iter().any(|at| planned.missing.contains_key(&session.plan.targets[*at].name));
        let is_unlike = if is_any { is_apart } else { is_missing && never.contains(&true) };
        (is_enough && is_unlike) || sides.iter().any(|(.., overdue)| *overdue >= MOST_OVERDUE)
    }
}

fn count_overdue(runs: &[OutcomeRun], of: (&str, &str)) -> u32 {
    let overdue = runs.iter().filter(|run| (run.case.as_str(), run.target.as_str()) == of);
    overdue.filter(|run| run.end == RunEnd::TimedOut).count() as u32
}

/// Keeps in clear a few short lines that not all runs of a command have, and the last of one that failed.
fn choose_shown(runs: &mut [OutcomeRun]) {
    let mut counts: BTreeMap<(String, Part, u64), usize> = BTreeMap::new();
    for run in runs.iter() {
        for (part, lines) in &run.parts {
            let distinct: BTreeSet<u64> = lines.hashes.iter().map(|[hash, _]| *hash).collect();
            distinct
                .into_iter()
                .for_each(|hash| *counts.entry((run.case.clone(), *part, hash)).or_default() += 1);
        }
    }
    let mut sizes: BTreeMap<String, usize> = BTreeMap::new();
    runs.iter().for_each(|run| *sizes.entry(run.case.clone()).or_default() += 1);
    for run in runs {
        let all = sizes[&run.case];
        for (part, lines) in &mut run.parts {
            let last = lines.hashes.last().map(|[hash, _]| *hash).filter(|_| run.end != RunEnd::ExitCode(0));
            let is_common = |hash: u64| counts.get(&(run.case.clone(), *part, hash)) == Some(&all);
            let mut chosen: Vec<u64> = lines.hashes.iter().map(|[hash, _]| *hash).collect();
            let is_short =
                |hash: &u64| lines.shown.get(hash).is_some_and(|text| text.chars().count() <= LONGEST_SHOWN);
            chosen.retain(|hash| !is_common(*hash) && is_short(hash));
            chosen.truncate(MOST_SHOWN);
            chosen.extend(last.filter(is_short));
            lines.shown.retain(|hash, _| chosen.contains(hash));
        }
    }
}

/// Runs that were ended because they took too long, and the slowest of the baseline.
#[derive(Debug, Default)]
pub struct Overdue(BTreeMap<CellIndex, u32>);

impl Overdue {
    /// Takes the runs of the starts for outcomes, with which those of the rounds are counted.
    pub fn note_outcomes(&mut self, course: &mut Course) {
        let plan = &course.session.plan;
        let cell = |run: &OutcomeRun| {
            let case = plan.cases.iter().position(|case| case.id == run.case)?;
            Some(CellIndex { case, target: plan.targets.find(&run.target)? })
        };
        let overdue = course.session.outcomes.iter().filter(|run| run.end == RunEnd::TimedOut);
        let cells: Vec<CellIndex> = overdue.filter_map(cell).collect();
        cells.into_iter().for_each(|cell| self.count(cell, 1, course));
    }

    /// Counts runs of a side: after too many it has no more of them, and neither has what is compared with it.
    fn count(&mut self, cell: CellIndex, overdue: u32, course: &mut Course) {
        let counted = self.0.entry(cell).or_default();
        *counted += overdue;
        if *counted >= MOST_OVERDUE {
            let CellIndex { case, target } = cell;
            let targets = &course.session.plan.targets;
            let is_apart = |at: &usize| *at == target || targets.partner_of(*at) == Some(target);
            let apart: Vec<usize> = (0..targets.len()).filter(is_apart).collect();
            apart.into_iter().for_each(|target| course.open.close(CellIndex { case, target }));
        }
    }

    /// Takes the trials of a round of a case.
    pub fn note_trials(&mut self, case: usize, trials: &[Trial], course: &mut Course) {
        if !has_outcome(&course.session.plan, case) {
            return;
        }
        for trial in trials {
            let Some(target) = course.session.plan.targets.find(&trial.target) else { continue };
            let runs = trial.batches.iter().filter(|batch| batch.series == "run");
            let slowest =
                runs.flat_map(|batch| batch.sample.iter_timed().map(|timed| timed.elapsed_ns).max()).max();
            if let (Role::Baseline, Some(slowest)) = (course.session.plan.targets.role(target), slowest) {
                let known = course.pilot.slowest_ns.entry(case).or_default();
                *known = known.max(slowest as f64);
            }
            let ends = trial.batches.iter().filter_map(|batch| RunEnd::from_batch(&batch));
            let overdue = ends.filter(|end| *end == RunEnd::TimedOut).count() as u32;
            self.count(CellIndex { case, target }, overdue, course);
        }
    }
}
