//! Trials of a round: one environment after the other, or two that take turns; each written down as it ends.

use std::collections::{BTreeMap, BTreeSet};

use tare_analysis::order;
use tare_data::batch::Batch;
use tare_data::failure::{Failure, FailureKind};
use tare_data::generator::Generator;
use tare_data::names::Case;
use tare_data::request::{Amount, TrialRequest, Turn};
use tare_data::session::declared::{Alternation, Batching};
use tare_data::session::{PlannedCase, Trial};
use tare_record::entry::{Begin, End, Pair, Side};
use tare_record::{Entry, RecordError};

use crate::asked::progress::Event;
use crate::error::LabError;
use crate::session::arena::{Outcome, Turning};
use crate::session::plan::before::trial_request;
use crate::session::plan::budget::{cut_deadline_ms, last_moment_ns};
use crate::session::plan::outcomes::{is_compared, limit_run, run_limit_ms};
use crate::session::plan::prepare::CellIndex;
use crate::session::rounds::{Rounds, Slot, Stop};
use crate::study::startup;

/// A trial may take this many times what calibration expects, and at least [`DEADLINE_LEAST_MS`].
const DEADLINE_FACTOR: f64 = 20.0;
const DEADLINE_LEAST_MS: u64 = 5_000;
const DEADLINE_MOST_MS: u64 = 1_800_000;
/// ...and a pair as long as this many of its longest steps.
const DEADLINE_STEPS: u64 = 4;
/// A step of a pair may take this many times what is expected, and at least [`PATIENCE_LEAST_MS`].
const PATIENCE_FACTOR: f64 = 20.0;
const PATIENCE_LEAST_MS: u64 = 500;
/// Bytes of a side's batches in memory that fit into a pair's line, whatever the other side has.
const LONGEST_SIDE: usize = 512 << 10;
/// Share of a batch's operations that are not timed after each hand-over.
const SETTLING: u64 = 8;
/// An operation that takes longer than this brings its own caches back.
const SETTLES_ITSELF_NS: f64 = 2e5;

impl Rounds<'_> {
    /// Runs one attempt at a round of a case: pairs with those that can take turns, and the others one after the other.
    /// Returns the new trials.
    pub(super) fn run_attempt(&mut self, slot: Slot, targets: &[usize]) -> Result<Vec<Trial>, Stop> {
        let plan = &self.course.session.plan;
        let case = &plan.cases[slot.case];
        let order = order::shuffle_targets(plan.seed, &case.id, (slot.round, slot.attempt), targets);
        let turning: BTreeMap<usize, ([usize; 2], Turning)> = order
            .iter()
            .filter_map(|target| Some((*target, self.find_turning(slot.case, *target)?)))
            .collect();
        let plan = &self.course.session.plan;
        let partners: Vec<Option<usize>> =
            order.iter().map(|target| plan.targets.partner_of(*target)).collect();
        // An environment that no pair measures has a trial for those that are measured alone.
        let is_alone = |at: usize| !turning.contains_key(&order[at]) && partners[at].is_some();
        let wanted: BTreeSet<usize> =
            (0..order.len()).filter(|at| is_alone(*at)).filter_map(|at| partners[at]).collect();
        let is_single = partners.iter().all(Option::is_none);
        let mut trials = Vec::new();
        for (target, partner) in order.into_iter().zip(partners) {
            if self.is_time_up() || self.outlasts_budget(CellIndex { case: slot.case, target }) {
                return Err(Stop::Budget);
            }
            match turning.get(&target) {
                Some((pair, turning)) => trials.extend(self.run_pair(slot, *pair, *turning)?),
                None if partner.is_some() || is_single || wanted.contains(&target) => {
                    let position = trials.len() as u32;
                    trials.push(self.run_trial(slot, target, position)?);
                }
                None => {}
            }
        }
        Ok(trials)
    }

    /// Tells whether a trial or a pair would go on when the session has taken twice its budget.
    fn outlasts_budget(&self, cell: CellIndex) -> bool {
        let cost_ns = self.course.pilot.cost_ns.get(&cell).copied().unwrap_or(0.0);
        let ends_ns = self.arena.now_ns() as f64 + cost_ns;
        self.course.until_ns.is_some_and(|until_ns| ends_ns > last_moment_ns(until_ns) as f64)
    }

    /// Finds the pair of an environment in a case, and how its two sides take turns; none where it is measured alone.
    fn find_turning(&mut self, case: usize, target: usize) -> Option<([usize; 2], Turning)> {
        let plan = &self.course.session.plan;
        let is_planned = plan.cases[case].pairs.contains_key(&plan.targets[target].name);
        let pair = [target, plan.targets.partner_of(target).filter(|_| is_planned)?];
        if pair.iter().any(|side| self.course.pilot.started[*side].is_err()) {
            return None;
        }
        match self.arena.prove_turns(pair) {
            Ok(turning) => Some((pair, turning)),
            Err(failure) => {
                let name = self.course.session.plan.targets[target].name.clone();
                if self.noted_alone.insert(target) {
                    let note = format!("{name}: its trials run alone: {}", failure.reason);
                    self.observer.observe_event(Event::Note(note));
                }
                None
            }
        }
    }

    pub(super) fn check_room(&mut self) -> Result<(), Stop> {
        if self.writer.has_room() {
            return Ok(());
        }
        let note = "the record has reached its maximum size: the session ends";
        self.observer.observe_event(Event::Note(note.into()));
        Err(Stop::Budget)
    }

    /// Runs a pair, and writes it as one line.
    fn run_pair(&mut self, slot: Slot, pair: [usize; 2], turning: Turning) -> Result<[Trial; 2], Stop> {
        self.announce(CellIndex { case: slot.case, target: pair[0] }, slot.round);
        self.check_room()?;
        // The side that comes first in the record is drawn, as each batch's is.
        let flips = self.draw(slot, "first side").draw_below(2) == 1;
        let pair = if flips { [pair[1], pair[0]] } else { pair };
        let subject = if flips { pair[1] } else { pair[0] };
        let numbers = [self.next_trial, self.next_trial + 1];
        self.next_trial += 2;
        let started_ns = self.arena.now_ns();
        let turn = self.plan_turn(slot, subject, turning);
        let mut requests = Vec::with_capacity(2);
        for (at, target) in pair.into_iter().enumerate() {
            let turn = Turn { is_second: at == 1, ..turn.clone() };
            requests.push(self.make_request(slot, target, numbers[at], Some((subject, turn))));
        }
        let outcomes = match <[_; 2]>::try_from(requests) {
            Ok([Ok(first), Ok(second)]) => self.arena.run_pair(pair, [first, second]),
            Ok(failed) => failed.map(|request| {
                let failure = request.err().unwrap_or_else(partner_failed);
                (Outcome { failure: Some(failure), ..Outcome::default() }, Vec::new())
            }),
            Err(_) => unreachable!("a pair has two sides"),
        };
        self.arena.host_failure().map_or(Ok(()), |error| Err(Stop::from(error)))?;
        if outcomes.iter().any(|(outcome, _)| outcome.interrupted) {
            return Err(Stop::Interrupted);
        }
        let outside = outcomes[0].0.outside.clone();
        let mut sides = Vec::with_capacity(2);
        for ((target, number), (outcome, batches)) in pair.into_iter().zip(numbers).zip(outcomes) {
            let start = self.course.targets[target].number;
            self.course.targets[target].cases.insert(slot.case);
            if outcome.lost {
                self.course.targets[target].lost = 0;
                self.enter_again(target)?;
            }
            sides.push(Side {
                trial: number,
                target: self.course.session.plan.targets[target].name.clone(),
                start,
                host_elapsed_ns: outcome.host_elapsed_ns,
                agent_elapsed_ns: outcome.agent_elapsed_ns,
                batches,
                inside: outcome.inside,
                failure: outcome.failure,
                notes: outcome.notes,
            });
        }
        let Ok(sides) = <[Side; 2]>::try_from(sides) else { unreachable!("a pair has two sides") };
        let case = self.course.session.plan.cases[slot.case].id.clone();
        let mut line = Pair { case, round: slot.round, attempt: slot.attempt, started_ns, sides, outside };
        let from = self.writer.bytes();
        if let Err(error) = self.writer.append(&Entry::Pair(Box::new(line.clone()))) {
            let RecordError::TooLongLine { .. } = error else { return Err(LabError::from(error).into()) };
            leave_out_too_long(&mut line.sides);
            self.writer.append(&Entry::Pair(Box::new(line.clone()))).map_err(LabError::from)?;
        }
        let trials = line.into_trials().map(|(mut trial, batches)| {
            trial.batches = self.writer.keep_batches(trial.number, from, batches);
            trial
        });
        self.sync_now_and_then()?;
        Ok(trials)
    }

    /// Plans the turns of a pair: how patient its sides are, and on which processor they run.
    fn plan_turn(&self, slot: Slot, subject: usize, turning: Turning) -> Turn {
        let case = &self.course.session.plan.cases[slot.case];
        let (batch, batches) = match pair_amount(case, &self.course.session.plan.targets[subject].name) {
            Amount::Operations { batch, batches } => (batch, batches),
            Amount::Calibrate | Amount::Duration { .. } | Amount::Outcome => (1, 1),
        };
        let cell = CellIndex { case: slot.case, target: subject };
        let step_ns =
            self.course.pilot.cost_ns.get(&cell).copied().unwrap_or(0.0) / f64::from(batches.max(1));
        let operation_ns = step_ns / 2.0 / batch as f64;
        let settle = match case.declared.batching {
            // Each batch has new processes, or is a run of a command.
            Batching::Placed | Batching::Runs => 0,
            Batching::Short | Batching::Long if batch > 1 => (batch / SETTLING).max(1),
            Batching::Short | Batching::Long => u64::from(operation_ns < SETTLES_ITSELF_NS),
        };
        let on_one =
            turning == Turning::OneProcessor && case.declared.alternation == Alternation::OneProcessor;
        // A disk that others write to may take seconds for a sync.
        let least_ms = if case.case.place.is_some() { DEADLINE_LEAST_MS } else { PATIENCE_LEAST_MS };
        let processors = self.arena.list_processors();
        let drawn = self.draw(slot, "processor").draw_below(processors.len().max(1) as u64);
        Turn {
            path: String::new(),
            descriptor: None,
            is_second: false,
            patience_ms: ((step_ns * PATIENCE_FACTOR / 1e6) as u64)
                .max(least_ms)
                .max(self.limit_ms(slot.case)),
            settle,
            processor: processors.get(drawn as usize).copied().filter(|_| on_one),
        }
    }

    /// Returns the time that a step with a run needs at most, so that a run which takes too long is ended by itself.
    fn limit_ms(&self, case: usize) -> u64 {
        // All sides of a case have one limit.
        let limited = self.limit_case(case, 0);
        if is_compared(&limited) { run_limit_ms(&limited) + DEADLINE_LEAST_MS } else { 0 }
    }

    /// Limits the runs of a case on a side.
    fn limit_case(&self, case: usize, target: usize) -> Case {
        let (plan, slowest_ns) =
            (&self.course.session.plan, self.course.pilot.slowest_ns.get(&case).copied());
        limit_run(plan.targets[target].fill_case(&plan.cases[case].case), slowest_ns)
    }

    /// Draws for an attempt at a round.
    fn draw(&self, slot: Slot, what: &str) -> Generator {
        let plan = &self.course.session.plan;
        let part = format!("{what} of {} {} {}", plan.cases[slot.case].id, slot.round, slot.attempt);
        Generator::for_part(plan.seed, &part)
    }

    /// Makes the request of a trial; `turn` is that of a pair, with the environment whose pair it is.
    fn make_request(
        &self,
        slot: Slot,
        target: usize,
        number: u64,
        turn: Option<(usize, Turn)>,
    ) -> Result<TrialRequest, Failure> {
        let plan = &self.course.session.plan;
        let case = &plan.cases[slot.case];
        let started = self.course.pilot.started[target].as_ref().map_err(Failure::clone)?;
        let subject = turn.as_ref().map_or(target, |(subject, _)| *subject);
        let expected_ns = self
            .course
            .pilot
            .cost_ns
            .get(&CellIndex { case: slot.case, target: subject })
            .copied()
            .unwrap_or(0.0);
        let deadline_ms =
            ((expected_ns * DEADLINE_FACTOR / 1e6) as u64).clamp(DEADLINE_LEAST_MS, DEADLINE_MOST_MS);
        // A side waits for its partner's step, and a first one may take longer.
        let patience_ms = turn.as_ref().map_or(0, |(_, turn)| turn.patience_ms);
        let deadline_ms = deadline_ms.max(DEADLINE_STEPS * patience_ms).max(self.limit_ms(slot.case));
        let deadline_ms = cut_deadline_ms(deadline_ms, self.course.until_ns, self.arena.now_ns());
        let seed = Generator::for_part(plan.seed, &format!("{} {}", case.id, slot.round)).next_u64();
        let amount = match &turn {
            Some((subject, _)) => pair_amount(case, &plan.targets[*subject].name),
            None => case.amount,
        };
        let limited = self.limit_case(slot.case, target);
        let mut request = trial_request(number, &limited, amount, started, seed, deadline_ms)?;
        request.turn = turn.map(|(_, turn)| turn);
        Ok(request)
    }

    /// Runs one trial, from its first line in the record to its last.
    fn run_trial(&mut self, slot: Slot, target: usize, position: u32) -> Result<Trial, Stop> {
        let cell = CellIndex { case: slot.case, target };
        self.announce(cell, slot.round);
        self.check_room()?;
        let trial = self.next_trial;
        self.next_trial += 1;
        let plan = &self.course.session.plan;
        let case = &plan.cases[cell.case];
        if startup::is_start(&case.case) {
            self.course.targets[cell.target].number += 1;
        }
        let begin = Begin {
            trial,
            case: case.id.clone(),
            target: plan.targets[cell.target].name.clone(),
            round: slot.round,
            attempt: slot.attempt,
            position,
            start: self.course.targets[cell.target].number,
            started_ns: self.arena.now_ns(),
        };
        self.writer.append(&Entry::Begin(begin.clone())).map_err(LabError::from)?;
        let (from, mut batches) = (self.writer.bytes(), Vec::new());
        let outcome = self.measure(slot, target, trial, &mut batches)?;
        let state = &mut self.course.targets[cell.target];
        let is_first = state.cases.is_empty();
        state.cases.insert(cell.case);
        if is_first && outcome.failure.is_none() {
            // Waits of only the first trial of a start, such as for gVisor's clock to be measured, belong to the start.
            let trial_ns = outcome.host_elapsed_ns + begin.started_ns;
            let waited_s = self.arena.now_ns().saturating_sub(trial_ns) as f64 / 1e9;
            state.start.s += waited_s;
            self.waits_s += waited_s;
        }
        if outcome.interrupted {
            return Err(Stop::Interrupted);
        }
        if outcome.lost {
            self.course.targets[cell.target].lost = 0;
            self.enter_again(cell.target)?;
        }
        let end = End {
            trial,
            host_elapsed_ns: outcome.host_elapsed_ns,
            agent_elapsed_ns: outcome.agent_elapsed_ns,
            inside: outcome.inside,
            outside: outcome.outside,
            failure: outcome.failure,
            notes: outcome.notes,
        };
        let batches = self.writer.keep_batches(trial, from, batches);
        self.writer.append(&Entry::End(end.clone())).map_err(LabError::from)?;
        self.sync_now_and_then()?;
        Ok(Trial { batches, ..end.complete_trial(begin.into_trial()) })
    }

    /// Has the arena run a trial; every batch is in the record before anything else sees it.
    fn measure(
        &mut self,
        slot: Slot,
        target: usize,
        trial: u64,
        batches: &mut Vec<Batch>,
    ) -> Result<Outcome, Stop> {
        let request = match self.make_request(slot, target, trial, None) {
            Ok(request) => request,
            Err(failure) => return Ok(Outcome { failure: Some(failure), ..Default::default() }),
        };
        let mut written = Ok(());
        let outcome = self.arena.run_trial(target, &request, &mut |batch| {
            if written.is_ok() {
                written = self.writer.append(&Entry::Batch { trial, batch: batch.clone() });
            }
            batches.push(batch.clone());
        });
        written.map_err(LabError::from)?;
        self.arena.host_failure().map_or(Ok(outcome), |error| Err(error.into()))
    }
}

/// Returns the amount of the pairs of an environment in a case.
fn pair_amount(case: &PlannedCase, subject: &str) -> Amount {
    case.pairs.get(subject).copied().unwrap_or(case.amount)
}

/// Fails the sides of a pair that are too long for its line: an environment may send more than any probe does.
fn leave_out_too_long(sides: &mut [Side; 2]) {
    for side in sides {
        side.notes.clear();
        if side.batches.iter().map(Batch::held_bytes).sum::<usize>() > LONGEST_SIDE {
            side.batches.clear();
            let reason = "its samples are too long for the line of a pair";
            side.failure.get_or_insert(Failure::new(FailureKind::WrongWork, reason));
        }
    }
}

fn partner_failed() -> Failure {
    Failure::new(FailureKind::Partner, "the other side of the pair could not begin")
}

#[cfg(test)]
mod tests {
    use tare_data::batch::{Phase, Sample};
    use tare_data::session::Interference;
    use tare_record::entry::{from_line, to_line};

    use super::*;

    #[test]
    fn a_side_that_floods_its_pair_fails_alone() {
        let side = |number: u64, batches: usize| {
            let sample = Sample::Stretches {
                operations: 1,
                bytes: 0,
                elapsed_ns: vec![u64::MAX; 1_000],
                histogram: None,
            };
            let batch = Batch { series: "a".into(), phase: Phase::Warm, started_ns: 0, sample };
            Side {
                trial: number,
                target: "e".into(),
                start: 0,
                host_elapsed_ns: 1,
                agent_elapsed_ns: Some(1),
                batches: vec![batch; batches],
                inside: Interference::default(),
                failure: None,
                notes: vec!["n".into(); 10],
            }
        };
        let mut sides = [side(0, 1), side(1, 300)];
        leave_out_too_long(&mut sides);
        assert_eq!((sides[0].batches.len(), &sides[0].failure), (1, &None));
        assert!(sides[1].batches.is_empty());
        assert_eq!(sides[1].failure.as_ref().map(|failure| failure.kind), Some(FailureKind::WrongWork));
        // Two sides that are just short enough fit into a line.
        let mut longest = [side(0, 60), side(1, 60)];
        leave_out_too_long(&mut longest);
        let outside = Interference::default();
        let pair = Pair { case: "c".into(), round: 0, attempt: 0, started_ns: 0, sides: longest, outside };
        let line = to_line(&Entry::Pair(Box::new(pair)));
        assert!(line.len() < 4 << 20 && from_line(line.as_bytes()).is_some(), "{}", line.len());
    }
}
