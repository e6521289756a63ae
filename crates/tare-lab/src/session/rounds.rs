//! The rounds of a session: trials in random order, written down as they come, until every comparison is
//! decided or the time is up.

use std::collections::{BTreeMap, BTreeSet};

use tare_analysis::order::{self, Orders};
use tare_data::batch::Batch;
use tare_data::failure::Failure;
use tare_data::generator::Generator;
use tare_data::session::{Ending, RepeatedRound, Session, Target, Trial};
use tare_record::entry::{Begin, End};
use tare_record::{Entry, Writer};

use crate::asked::progress::{Event, Observer, Standing};
use crate::error::LabError;
use crate::session::arena::{Arena, Outcome};
use crate::session::before::trial_request;
use crate::session::open::{Open, rounds_alone};
use crate::session::plan::starts::{Start, rounds_a_start};
use crate::session::prepare::{CellIndex, Pilot, start_s};
use crate::study::startup;

/// A trial may take this many times what calibration expects, and at least [`DEADLINE_LEAST_MS`].
const DEADLINE_FACTOR: f64 = 20.0;
const DEADLINE_LEAST_MS: u64 = 5_000;
const DEADLINE_MOST_MS: u64 = 1_800_000;
/// A disturbed round is run this often at most; after that the disturbance is how this machine is.
const MOST_ATTEMPTS: u32 = 3;
/// A round is disturbed when the hypervisor took this share of a trial's time, and at least three ticks of the counter of it.
const STEAL_SHARE: f64 = 0.25;
const STEAL_LEAST_NS: u64 = 30_000_000;
/// Rounds of which one may be run again. Where more are disturbed, that is normal here, and only half the rounds would be left.
const ROUNDS_A_REPEAT: usize = 10;
/// A baseline without a value in this many rounds in a row will not have one later: without it nothing can be compared.
const MOST_FAILED_ROUNDS: u32 = 10;
/// An environment whose start fails this often in a row is given up.
const MOST_LOST_STARTS: u32 = 3;

/// Rounds before which a session that lasts until all is decided gives nothing up.
const FEWEST_UNTIL_DECIDED: u32 = 300;

/// A session in its rounds.
pub struct Rounds<'a> {
    arena: &'a mut dyn Arena,
    writer: &'a mut Writer,
    observer: &'a mut dyn Observer,
    session: Session,
    pilot: Pilot,
    /// When the budget is spent, by the arena's clock.
    until_ns: Option<u64>,
    targets: Vec<TargetState>,
    /// Time of the trials of the last round, in seconds, and the time for which starts held up this one.
    round_s: f64,
    waits_s: f64,
    /// Orders of each case, by the environments of a round. Each combination has its own squares.
    orders: Vec<BTreeMap<Vec<usize>, Orders>>,
    open: Open,
    next_trial: u64,
    failures: u32,
    /// Rounds in a row without a value of the baseline.
    failed_rounds: u32,
    resumed: Resumed,
}

/// Position of a trial in its session.
#[derive(Clone, Copy)]
struct Slot {
    round: u32,
    /// 0 for the first; a round that was disturbed is run again as a whole.
    attempt: u32,
    /// Place in the order of its round, from 0.
    position: u32,
}

/// Point at which a resumed session continues. Rounds are finished one after the other, so the last trial
/// shows it.
#[derive(Debug, Default)]
struct Resumed {
    round: u32,
    /// Cases that had this round before the session broke off.
    done: BTreeSet<String>,
    /// The case that broke off in it, and the attempt that it is up to now.
    broken: Option<(String, u32)>,
}

impl Resumed {
    fn after(trials: &[Trial]) -> Self {
        let Some(last) = trials.last() else { return Resumed::default() };
        let same_round = trials.iter().filter(|t| t.round == last.round && t.case != last.case);
        Resumed {
            round: last.round,
            done: same_round.map(|t| t.case.clone()).collect(),
            broken: Some((last.case.clone(), last.attempt + 1)),
        }
    }
}

/// An environment between rounds.
#[derive(Debug, Default)]
struct TargetState {
    /// Number of the current start.
    number: u32,
    /// Rounds that the current start has seen.
    rounds: u32,
    /// True once the current start has had a trial.
    is_used: bool,
    /// Number of starts so far, and the time of the last.
    start: Start,
    /// Starts that failed in a row.
    lost: u32,
}

/// Why the rounds end before their number.
enum Stop {
    Budget,
    BaselineFailed,
    Interrupted,
    Error(LabError),
}

impl From<LabError> for Stop {
    fn from(error: LabError) -> Self {
        Stop::Error(error)
    }
}

impl<'a> Rounds<'a> {
    /// Prepares rounds over a session that has a plan, and trials when it is resumed.
    pub fn new(
        arena: &'a mut dyn Arena,
        writer: &'a mut Writer,
        observer: &'a mut dyn Observer,
        session: Session,
        pilot: Pilot,
        until_ns: Option<u64>,
    ) -> Self {
        let orders = vec![BTreeMap::new(); session.plan.cases.len()];
        let open = Open::from_plan(&session.plan);
        let next_trial = session.trials.iter().map(|t| t.number + 1).max().unwrap_or(0);
        let targets = states(&session, &pilot);
        let round_s = pilot.cost_ns.values().sum::<f64>() / 1e9;
        let failures = session.trials.iter().filter(|trial| trial.failure.is_some()).count() as u32;
        let resumed = Resumed::after(&session.trials);
        Rounds {
            arena,
            writer,
            observer,
            session,
            pilot,
            until_ns,
            targets,
            round_s,
            waits_s: 0.0,
            orders,
            open,
            next_trial,
            failures,
            failed_rounds: 0,
            resumed,
        }
    }

    /// Runs until decided, done, out of time or stopped. The end is in the record when this returns.
    pub fn run_rounds(mut self, ended: &dyn Fn(Ending) -> Entry) -> Result<Ending, LabError> {
        let plan = &self.session.plan;
        let (cases, targets, rounds) = (plan.cases.len(), plan.targets.len(), plan.rounds);
        self.observer.observe_event(Event::Planned { cases, targets });
        if let Some((case, attempt)) = self.resumed.broken.clone() {
            let reason = "the session broke off during this round".to_owned();
            self.repeat(RepeatedRound { case, round: self.resumed.round, attempt: attempt - 1, reason })?;
        }
        let mut stopped = None;
        for round in 0..rounds {
            self.look(round);
            if self.open.is_over(&self.session.plan)
                || self.open.list_cases(&self.session.plan, round).is_empty()
            {
                break;
            }
            if let Err(stop) = self.round(round).and_then(|()| self.check_baseline(round)) {
                stopped = Some(stop);
                break;
            }
        }
        let ending = match stopped {
            None | Some(Stop::Budget) => Ending::Complete,
            Some(Stop::BaselineFailed) => Ending::BaselineFailed,
            Some(Stop::Interrupted) => Ending::Interrupted,
            Some(Stop::Error(error)) => return Err(error),
        };
        self.writer.append(&ended(ending))?;
        self.writer.sync()?;
        self.session.ending = ending;
        Ok(ending)
    }

    /// Runs one round of every open case.
    fn round(&mut self, round: u32) -> Result<(), Stop> {
        let open = self.open.list_cases(&self.session.plan, round);
        if round >= self.resumed.round {
            self.start_again(round)?;
        }
        let began_ns = self.arena.now_ns();
        self.waits_s = 0.0;
        for index in order::shuffle_cases(self.session.plan.seed, round, open.len()) {
            let case = open[index];
            let id = self.session.plan.cases[case].id.clone();
            let done_here = round == self.resumed.round && self.resumed.done.contains(&id);
            if round < self.resumed.round || done_here {
                // A resumed session: the orders move on as they did before.
                self.next_order(case, round);
                continue;
            }
            let first = match &self.resumed.broken {
                Some((broken, attempt)) if *broken == id && round == self.resumed.round => *attempt,
                _ => 0,
            };
            for attempt in first..first + MOST_ATTEMPTS {
                match self.case_round(case, round, attempt)? {
                    Some(reason) if attempt + 1 < first + MOST_ATTEMPTS && self.may_repeat(round) => {
                        self.repeat(RepeatedRound { case: id.clone(), round, attempt, reason })?;
                    }
                    _ => break,
                }
            }
            self.observer.observe_event(Event::RoundDone(&self.session));
        }
        if round > self.resumed.round {
            self.round_s = (self.arena.now_ns() - began_ns) as f64 / 1e9 - self.waits_s;
        }
        Ok(())
    }

    /// Ends a session whose baseline fails round after round.
    fn check_baseline(&mut self, round: u32) -> Result<(), Stop> {
        let Some(baseline) = self.session.baseline() else { return Ok(()) };
        let of_round = self.session.trials.iter().rev().take_while(|trial| trial.round == round);
        let mut failed = of_round.filter(|trial| trial.target == baseline.name).map(|t| t.failure.is_some());
        let all_failed = failed.next().map(|first| first && failed.all(|failed| failed));
        self.failed_rounds = match all_failed {
            None => self.failed_rounds,
            Some(true) => self.failed_rounds + 1,
            Some(false) => 0,
        };
        if self.failed_rounds < MOST_FAILED_ROUNDS { Ok(()) } else { Err(Stop::BaselineFailed) }
    }

    /// Tells whether one more round may be run again. By count alone, blind to the measurements.
    fn may_repeat(&self, round: u32) -> bool {
        let rounds = (round as usize + 1) * self.session.plan.cases.len();
        self.session.repeated.len() < 1 + rounds / ROUNDS_A_REPEAT
    }

    /// Writes down that an attempt at a round does not count.
    fn repeat(&mut self, repeated: RepeatedRound) -> Result<(), LabError> {
        self.writer.append(&Entry::Repeated(repeated.clone()))?;
        self.session.repeated.push(repeated);
        Ok(())
    }

    /// Enters environments afresh whose starts have seen their share of rounds.
    fn start_again(&mut self, round: u32) -> Result<(), Stop> {
        if self.pilot.trials_are_starts {
            return Ok(());
        }
        let plan = &self.session.plan;
        let wanted: BTreeSet<usize> =
            (0..plan.cases.len()).flat_map(|case| self.open.list_targets(plan, case, round)).collect();
        let entered = |index: usize| self.pilot.started[index].is_ok() && wanted.contains(&index);
        let are_entered: Vec<bool> = (0..self.targets.len()).map(entered).collect();
        let starts = self.targets.iter().zip(&are_entered);
        let starts: Vec<Start> = starts
            .map(|(state, is_entered)| if *is_entered { state.start } else { Start::default() })
            .collect();
        let shared = rounds_a_start(&starts, self.round_s, self.left_s(), plan.count_comparisons());
        for index in 0..self.targets.len() {
            let every = self.open.round_spacing(index);
            let is_used = round > 0 && self.targets[index].rounds.saturating_mul(every) >= shared[index];
            // The last seconds are for trials: a start that leaves no time for any adds nothing.
            let has_time = self.left_s().is_none_or(|left_s| starts[index].s < left_s);
            if are_entered[index] && is_used && has_time {
                self.enter(index)?;
            }
            self.targets[index].rounds += u32::from(are_entered[index]);
        }
        Ok(())
    }

    fn left_s(&self) -> Option<f64> {
        self.until_ns.map(|until_ns| until_ns.saturating_sub(self.arena.now_ns()) as f64 / 1e9)
    }

    /// Enters an environment afresh; gives it up when that fails too often in a row.
    fn enter(&mut self, index: usize) -> Result<(), Stop> {
        while self.targets[index].lost < MOST_LOST_STARTS {
            let began_ns = self.arena.now_ns();
            let state = &mut self.targets[index];
            state.number += 1;
            match self.arena.enter_environment(index) {
                Ok(started) => {
                    self.pilot.started[index] = Ok(started);
                    // With what leaving the one before takes.
                    state.start.s = (self.arena.now_ns() - began_ns) as f64 / 1e9;
                    state.start.made += 1;
                    (state.rounds, state.lost, state.is_used) = (0, 0, false);
                    return Ok(());
                }
                Err(failure) => {
                    self.arena.host_failure().map_or(Ok(()), Err)?;
                    if self.arena.is_interrupted() {
                        return Err(Stop::Interrupted);
                    }
                    let state = &mut self.targets[index];
                    state.lost += 1;
                    if state.lost == MOST_LOST_STARTS {
                        let target = &self.session.plan.targets[index].name;
                        self.observer.observe_event(Event::Note(format!("{target} is given up: {failure}")));
                        self.pilot.started[index] = Err(failure);
                    }
                }
            }
        }
        Ok(())
    }

    /// Runs one round of one case: a trial in every environment that is still open, in the order of its
    /// Williams row. Returns the disturbance, if there was one.
    fn case_round(&mut self, case: usize, round: u32, attempt: u32) -> Result<Option<String>, Stop> {
        let order = self.next_order(case, round);
        let mut disturbed = None;
        for (position, target) in (0..).zip(order) {
            if self.until_ns.is_some_and(|until_ns| self.arena.now_ns() >= until_ns) {
                return Err(Stop::Budget);
            }
            let trial = self.trial(CellIndex { case, target }, Slot { round, attempt, position })?;
            let steal_ns = trial.outside.steal_ns.unwrap_or(0);
            if steal_ns >= STEAL_LEAST_NS && steal_ns as f64 > trial.host_elapsed_ns as f64 * STEAL_SHARE {
                disturbed = Some(format!("the hypervisor took {} ms of a trial", steal_ns / 1_000_000));
            }
            self.failures += u32::from(trial.failure.is_some());
            self.session.trials.push(trial);
        }
        Ok(disturbed)
    }

    /// Runs one trial, from its first line in the record to its last.
    fn trial(&mut self, cell: CellIndex, slot: Slot) -> Result<Trial, Stop> {
        self.announce(cell, slot.round);
        if !self.writer.has_room() {
            self.observer.observe_event(Event::Note(
                "the record has reached its maximum size: the session ends".into(),
            ));
            return Err(Stop::Budget);
        }
        let trial = self.next_trial;
        self.next_trial += 1;
        let plan = &self.session.plan;
        let case = &plan.cases[cell.case];
        if startup::is_start(&case.case) {
            self.targets[cell.target].number += 1;
        }
        let begin = Begin {
            trial,
            case: case.id.clone(),
            target: plan.targets[cell.target].name.clone(),
            round: slot.round,
            attempt: slot.attempt,
            position: slot.position,
            start: self.targets[cell.target].number,
            started_ns: self.arena.now_ns(),
        };
        self.writer.append(&Entry::Begin(begin.clone())).map_err(LabError::from)?;
        let (from, mut batches) = (self.writer.bytes(), Vec::new());
        let outcome = self.measure(cell, trial, slot.round, &mut batches)?;
        let state = &mut self.targets[cell.target];
        if !std::mem::replace(&mut state.is_used, true) && outcome.failure.is_none() {
            // What only the first trial of a start waits for, as for gVisor's clock to be measured, belongs to the start.
            let trial_ns = outcome.host_elapsed_ns + begin.started_ns;
            let waited_s = self.arena.now_ns().saturating_sub(trial_ns) as f64 / 1e9;
            state.start.s += waited_s;
            self.waits_s += waited_s;
        }
        if outcome.interrupted {
            return Err(Stop::Interrupted);
        }
        if outcome.lost {
            self.targets[cell.target].lost = 0;
            self.enter(cell.target)?;
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
        self.writer.sync().map_err(LabError::from)?;
        Ok(Trial { batches, ..end.complete_trial(begin.into_trial()) })
    }

    /// Has the arena run a trial; every batch is in the record before anything else sees it.
    fn measure(
        &mut self,
        cell: CellIndex,
        trial: u64,
        round: u32,
        batches: &mut Vec<Batch>,
    ) -> Result<Outcome, Stop> {
        let gave_up = |failure: Failure| Outcome { failure: Some(failure), ..Default::default() };
        let case = &self.session.plan.cases[cell.case];
        let started = match &self.pilot.started[cell.target] {
            Ok(started) => started,
            Err(failure) => return Ok(gave_up(failure.clone())),
        };
        let expected_ns = self.pilot.cost_ns.get(&cell).copied().unwrap_or(0.0);
        let deadline_ms =
            ((expected_ns * DEADLINE_FACTOR / 1e6) as u64).clamp(DEADLINE_LEAST_MS, DEADLINE_MOST_MS);
        let seed = Generator::for_part(self.session.plan.seed, &format!("{} {round}", case.id)).next_u64();
        let request = match trial_request(trial, &case.case, case.amount, started, seed, deadline_ms) {
            Ok(request) => request,
            Err(failure) => return Ok(gave_up(failure)),
        };
        let mut written = Ok(());
        let outcome = self.arena.run_trial(cell.target, &request, &mut |batch| {
            if written.is_ok() {
                written = self.writer.append(&Entry::Batch { trial, batch: batch.clone() });
            }
            batches.push(batch.clone());
        });
        written.map_err(LabError::from)?;
        self.arena.host_failure().map_or(Ok(outcome), |error| Err(error.into()))
    }

    /// Shows how far the session is, before a trial.
    fn announce(&mut self, cell: CellIndex, round: u32) {
        let plan = &self.session.plan;
        let elapsed_s = self.arena.now_ns() as f64 / 1e9;
        // The number of rounds is a promise only where it was fixed; else it lies beyond what time allows.
        let fixed = Some(plan.rounds).filter(|_| plan.budget_s.is_none() && plan.looks.len() == 1);
        let by_rounds_s = |rounds: u32| elapsed_s * f64::from(rounds - round) / f64::from(round + 1);
        let left_s = self.left_s().or_else(|| fixed.map(by_rounds_s));
        let (decided, cells) = self.open.count_decided(plan);
        self.observer.observe_event(Event::Trial(Standing {
            case: &plan.cases[cell.case].label,
            target: &plan.targets[cell.target].name,
            round: round + 1,
            rounds: fixed,
            decided,
            cells,
            failures: self.failures,
            repeated: self.session.repeated.len() as u32,
            elapsed_s,
            left_s,
        }));
    }

    /// Draws the order of the environments in which a round measures a case.
    fn next_order(&mut self, case: usize, round: u32) -> Vec<usize> {
        let plan = &self.session.plan;
        let targets = self.open.list_targets(plan, case, round);
        let names = targets.iter().map(|target| plan.targets[*target].name.as_str());
        let label = format!("{} in {}", plan.cases[case].id, names.collect::<Vec<_>>().join(", "));
        let orders = self.orders[case].entry(targets.clone());
        orders.or_insert_with(|| Orders::new(plan.seed, &label)).draw_next(&targets)
    }

    /// Takes an interim look at the data after this many rounds, if one is planned there.
    fn look(&mut self, rounds: u32) {
        let left_s = self.left_s();
        let Rounds { open, session, pilot, targets, resumed, .. } = self;
        let reachable = |cell: CellIndex| match (session.plan.until_decided, left_s) {
            // What five times as many rounds would most likely not decide is left undecided.
            (true, _) => (rounds >= FEWEST_UNTIL_DECIDED).then(|| rounds.saturating_mul(5)),
            // What a session gave up before it was resumed, its new time may decide.
            (false, Some(left_s)) if rounds >= resumed.round => {
                let start_s = |target: usize| targets[target].start.s;
                let more = rounds_alone(&session.plan, &pilot.cost_ns, start_s, cell, left_s);
                Some(rounds.saturating_add(more))
            }
            _ => None,
        };
        open.take_look(session, rounds, reachable);
    }
}

/// Describes the environments as a session finds them, with their starts before it was resumed.
fn states(session: &Session, pilot: &Pilot) -> Vec<TargetState> {
    let next = session.trials.iter().map(|trial| trial.start + 1).max().unwrap_or(0);
    let state = |target: &Target, started| {
        let of_target = session.trials.iter().filter(|trial| trial.target == target.name);
        let before: BTreeSet<u32> = of_target.map(|trial| trial.start).collect();
        let start = Start { made: before.len() as u32 + 1, s: start_s(started) };
        TargetState { number: next, start, ..Default::default() }
    };
    session.plan.targets.iter().zip(&pilot.started).map(|(target, started)| state(target, started)).collect()
}
