//! The rounds of a session: case by case in the order in which they decide most, written down as they come, until every
//! comparison is decided or the time is up.
//!
//! Each case has rounds of its own, so that quick ones have many in the time of one slow one. What comes next follows from
//! the plan, its seed, the trials so far and the time that is left: a session that is resumed goes on as it would have.

mod announcing;
mod choosing;
pub(crate) mod open;
mod trials;
mod watching;

use std::collections::{BTreeMap, BTreeSet};

use tare_analysis::verdicts::stopping::rounds_before_look;
use tare_data::failure::Failure;
use tare_data::session::{Ending, Plan, RepeatedRound, Role, Session, Target, Trial};
use tare_record::{Entry, Writer};

use crate::asked::progress::{Event, Observer};
use crate::error::LabError;
use crate::session::arena::{Arena, Started};
use crate::session::plan::prepare::{CellIndex, Pilot, start_s};
use crate::session::plan::starts::{Start, seconds_a_start};
use crate::session::rounds::open::{Open, rounds_alone};

/// A disturbed round is run this often at most; after that the disturbance is how this machine is.
const MOST_ATTEMPTS: u32 = 3;
/// A round is disturbed when the hypervisor took this share of a trial's time, and at least three ticks of the counter of it.
const STEAL_SHARE: f64 = 0.25;
const STEAL_LEAST_NS: u64 = 30_000_000;
/// Rounds for each one that may be run again. Where more are disturbed, that is normal here, and half the rounds would be lost.
const ROUNDS_A_REPEAT: usize = 10;
/// A baseline without a value in this many rounds of every open case will not have one later: without it nothing can be compared.
const MOST_FAILED_ROUNDS: u32 = 10;
/// An environment whose start fails this often in a row is given up.
const MOST_LOST_STARTS: u32 = 3;
/// Rounds before which a session that lasts until all is decided gives nothing up.
const FEWEST_UNTIL_DECIDED: u32 = 300;
/// Least time of a round, in seconds, by which cases share the time.
const LEAST_ROUND_S: f64 = 1e-4;
/// Time after which what was written is synced: a crash of the machine loses this much, and one of tare nothing.
const SYNC_NS: u64 = 1_000_000_000;
/// Note of a session that is resumed in vain.
const NOTHING_LEFT: &str = "nothing is left to measure: every answer is decided, or has all its rounds";

/// A session in its rounds.
pub struct Rounds<'a> {
    pub(super) arena: &'a mut dyn Arena,
    pub(super) writer: &'a mut Writer,
    pub(super) observer: &'a mut dyn Observer,
    pub(super) session: Session,
    pub(super) pilot: Pilot,
    /// When the budget is spent, by the arena's clock.
    until_ns: Option<u64>,
    pub(super) targets: Vec<TargetState>,
    /// Time for which starts held up a round, in seconds.
    pub(super) waits_s: f64,
    /// Time of all trials so far, in seconds.
    trials_s: f64,
    /// Rounds that each case has had.
    rounds: Vec<u32>,
    /// Time of a round of each case, in seconds: by the plan, and from its first look on by its trials.
    round_s: Vec<f64>,
    open: Open,
    /// When watched cells had their last trials.
    watched_ns: BTreeMap<CellIndex, u64>,
    pub(super) next_trial: u64,
    failures: u32,
    /// Rounds in a row, of any case, without a value of the baseline.
    failed_rounds: u32,
    /// Environments whose trials run alone, as a note has said.
    pub(super) noted_alone: BTreeSet<usize>,
    synced_ns: u64,
    resumed: Resumed,
}

/// Point at which a resumed session continues: the last trial shows it, for rounds are finished one after the other.
#[derive(Debug, Default)]
struct Resumed {
    /// The case and the round that broke off, and the attempt that it is up to now.
    broken: Option<(usize, u32, u32)>,
    /// Rounds of each case before.
    rounds: Vec<u32>,
}

impl Resumed {
    fn after(session: &Session) -> Self {
        let ids = session.plan.cases.iter().map(|case| case.id.as_str());
        let cases: BTreeMap<&str, usize> = ids.zip(0..).collect();
        let mut rounds = vec![0; session.plan.cases.len()];
        for trial in &session.trials {
            if let Some(case) = cases.get(trial.case.as_str()) {
                rounds[*case] = trial.round.saturating_add(1).max(rounds[*case]);
            }
        }
        // A complete session broke off nowhere, and a further value could change an answer that it decided.
        let last = session.trials.last().filter(|_| session.ending != Ending::Complete);
        let broken =
            last.and_then(|last| Some((*cases.get(last.case.as_str())?, last.round, last.attempt + 1)));
        if let Some((case, round, _)) = broken {
            rounds[case] = round;
        }
        Resumed { broken, rounds }
    }
}

/// An environment between rounds.
#[derive(Debug, Default)]
pub(super) struct TargetState {
    /// Number of the current start.
    pub number: u32,
    /// Time of all trials when it was entered, and the round of a case that was next then.
    since_s: f64,
    since_round: u32,
    /// Cases that the current start has had a trial of.
    pub cases: BTreeSet<usize>,
    /// When the start after it has settled, which was entered ahead.
    next_settled_ns: u64,
    /// Number of starts so far, and the time of the last.
    pub start: Start,
    /// Starts that failed in a row.
    pub lost: u32,
}

/// Place of a trial in its session.
#[derive(Clone, Copy)]
pub(super) struct Slot {
    pub case: usize,
    pub round: u32,
    /// 0 for the first; a round that was disturbed is run again as a whole.
    pub attempt: u32,
}

/// Why the rounds end before their number.
pub(super) enum Stop {
    Budget,
    BaselineFailed,
    SubjectsFailed,
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
        let open = Open::from_plan(&session.plan);
        let next_trial = session.trials.iter().map(|t| t.number + 1).max().unwrap_or(0);
        let targets = states(&session, &pilot);
        let failures = session.trials.iter().filter(|trial| is_own_failure(trial)).count() as u32;
        let resumed = Resumed::after(&session);
        let now_ns = arena.now_ns();
        let cases = 0..session.plan.cases.len();
        Rounds {
            rounds: resumed.rounds.clone(),
            round_s: cases.map(|case| planned_round_s(&session.plan, &pilot, case)).collect(),
            arena,
            writer,
            observer,
            session,
            pilot,
            until_ns,
            targets,
            waits_s: 0.0,
            trials_s: 0.0,
            open,
            watched_ns: BTreeMap::new(),
            next_trial,
            failures,
            failed_rounds: 0,
            noted_alone: BTreeSet::new(),
            synced_ns: now_ns,
            resumed,
        }
    }

    /// Runs until decided, done, out of time or stopped. The end is in the record when this returns.
    pub fn run_rounds(mut self, ended: &dyn Fn(Ending) -> Entry) -> Result<Ending, LabError> {
        let plan = &self.session.plan;
        let (cases, targets) = (plan.cases.len(), plan.targets.len());
        self.observer.observe_event(Event::Planned { cases, targets });
        self.look_again();
        if let Some((case, round, attempt)) = self.resumed.broken {
            let reason = "the session broke off during this round".to_owned();
            let case = self.session.plan.cases[case].id.clone();
            self.repeat(RepeatedRound { case, round, attempt: attempt - 1, reason })?;
        }
        if self.session.ending == Ending::Complete && self.next_case().is_none() {
            self.observer.observe_event(Event::Note(NOTHING_LEFT.into()));
        }
        if !self.pilot.trials_are_starts {
            (0..self.targets.len()).for_each(|target| self.enter_ahead(target));
        }
        let mut stopped = None;
        while let Some(case) = self.next_case() {
            if let Err(stop) = self.run_case(case).and_then(|()| self.check_environments()) {
                stopped = Some(stop);
                break;
            }
        }
        let ending = match stopped {
            None | Some(Stop::Budget) => Ending::Complete,
            Some(Stop::BaselineFailed) => Ending::BaselineFailed,
            Some(Stop::SubjectsFailed) => Ending::SubjectsFailed,
            Some(Stop::Interrupted) => Ending::Interrupted,
            Some(Stop::Error(error)) => return Err(error),
        };
        self.writer.append(&ended(ending))?;
        self.writer.sync()?;
        self.session.ending = ending;
        Ok(ending)
    }

    /// Runs the next round of a case, and looks at it where that is planned.
    fn run_case(&mut self, case: usize) -> Result<(), Stop> {
        let round = self.rounds[case];
        let due = self.list_due();
        let targets = self.open.list_targets(&self.session.plan, case, round, &due);
        if !targets.is_empty() {
            if self.is_time_up() {
                return Err(Stop::Budget);
            }
            self.start_again(case, round)?;
            let id = self.session.plan.cases[case].id.clone();
            let first = match self.resumed.broken {
                Some((broken, at, attempt)) if (broken, at) == (case, round) => attempt,
                _ => 0,
            };
            let began_ns = self.arena.now_ns();
            self.waits_s = 0.0;
            for attempt in first..first + MOST_ATTEMPTS {
                let trials = self.run_attempt(Slot { case, round, attempt }, &targets)?;
                let disturbed = trials.iter().find_map(find_disturbance);
                self.failures += trials.iter().filter(|trial| is_own_failure(trial)).count() as u32;
                self.session.trials.extend(trials);
                match disturbed {
                    Some(reason) if attempt + 1 < first + MOST_ATTEMPTS && self.may_repeat() => {
                        self.repeat(RepeatedRound { case: id.clone(), round, attempt, reason })?;
                    }
                    _ => break,
                }
            }
            self.trials_s += (self.arena.now_ns() - began_ns) as f64 / 1e9 - self.waits_s;
            self.observer.observe_event(Event::RoundDone(&self.session));
        }
        self.rounds[case] += 1;
        self.take_look(case, self.rounds[case], true);
        self.look_at_watched(case, &due);
        Ok(())
    }

    /// Ends a session whose baseline fails round after round, or whose other environments were all given up. A fleet compares baselines.
    fn check_environments(&mut self) -> Result<(), Stop> {
        let subjects = self.session.plan.targets.iter().zip(&self.pilot.started);
        let mut subjects = subjects.filter(|(target, _)| target.role == Role::Subject).peekable();
        let is_of_fleet = self.session.header.fleet.is_some();
        if !is_of_fleet && subjects.peek().is_some() && subjects.all(|(_, started)| started.is_err()) {
            return Err(Stop::SubjectsFailed);
        }
        self.check_baseline()
    }

    /// Ends a session whose baseline fails round after round.
    fn check_baseline(&mut self) -> Result<(), Stop> {
        let Some(baseline) = self.session.baseline() else { return Ok(()) };
        let Some(last) = self.session.trials.last() else { return Ok(()) };
        let of_round = self.session.trials.iter().rev();
        let of_round = of_round.take_while(|trial| trial.round == last.round && trial.case == last.case);
        let (mut values, mut failures) = (0, 0);
        for trial in of_round.filter(|trial| trial.target == baseline.name) {
            values += u32::from(trial.failure.is_none());
            failures += u32::from(is_own_failure(trial));
        }
        self.failed_rounds = match (values, failures) {
            (0, 0) => self.failed_rounds,
            (0, _) => self.failed_rounds + 1,
            _ => 0,
        };
        let open = (0..self.rounds.len())
            .filter(|case| self.open.is_case_open(&self.session.plan, *case, self.rounds[*case]));
        let most = MOST_FAILED_ROUNDS.saturating_mul(open.count().max(1) as u32);
        if self.failed_rounds < most { Ok(()) } else { Err(Stop::BaselineFailed) }
    }

    /// Tells whether one more round may be run again. By count alone, blind to the measurements.
    fn may_repeat(&self) -> bool {
        let rounds: u32 = self.rounds.iter().sum();
        self.session.repeated.len() < 1 + rounds as usize / ROUNDS_A_REPEAT
    }

    /// Writes down that an attempt at a round does not count.
    fn repeat(&mut self, repeated: RepeatedRound) -> Result<(), LabError> {
        self.writer.append(&Entry::Repeated(repeated.clone()))?;
        self.session.repeated.push(repeated);
        Ok(())
    }

    /// Enters environments afresh whose starts have seen their share of the time, also those that rest in this round.
    fn start_again(&mut self, case: usize, round: u32) -> Result<(), Stop> {
        if self.pilot.trials_are_starts {
            return Ok(());
        }
        let is_open = |target: &usize| {
            self.pilot.started[*target].is_ok() && self.open.is_target_open(&self.session.plan, *target)
        };
        let open: Vec<usize> = (0..self.targets.len()).filter(is_open).collect();
        let starts: Vec<Start> = open.iter().map(|target| self.targets[*target].start).collect();
        let shares = seconds_a_start(&starts, self.left_s(), self.session.plan.count_comparisons());
        for (target, share) in open.into_iter().zip(shares) {
            let state = &self.targets[target];
            let since_s = self.trials_s - state.since_s;
            let is_settled = self.arena.now_ns() >= state.next_settled_ns;
            let is_due = match self.until_ns {
                Some(_) if !is_settled => false,
                Some(_) => since_s >= share.most_s || since_s >= share.least_s && self.has_had_all(target),
                // Without a limit of time every round has its own start.
                None => round > state.since_round,
            };
            // A case that this start has not seen yet gains nothing from another.
            let is_seen = state.cases.contains(&case);
            // The last seconds are for trials: a start that leaves no time for any adds nothing.
            let has_time = self.left_s().is_none_or(|left_s| state.start.s < left_s);
            if is_seen && is_due && has_time {
                self.enter_again(target)?;
                self.targets[target].since_round = round;
            }
        }
        Ok(())
    }

    /// Tells whether the current start of an environment has had a trial of every case that is open there.
    fn has_had_all(&self, target: usize) -> bool {
        let is_open =
            |case: &usize| self.open.is_open_in(&self.session.plan, CellIndex { case: *case, target });
        let mut open = (0..self.rounds.len()).filter(|case| self.has_rounds(*case)).filter(is_open);
        open.all(|case| self.targets[target].cases.contains(&case))
    }

    fn left_s(&self) -> Option<f64> {
        self.until_ns.map(|until_ns| until_ns.saturating_sub(self.arena.now_ns()) as f64 / 1e9)
    }

    pub(super) fn is_time_up(&self) -> bool {
        self.until_ns.is_some_and(|until_ns| self.arena.now_ns() >= until_ns)
    }

    /// Syncs what was written when a second has passed since the last time.
    pub(super) fn sync_now_and_then(&mut self) -> Result<(), Stop> {
        let now_ns = self.arena.now_ns();
        if now_ns.saturating_sub(self.synced_ns) >= SYNC_NS {
            self.writer.sync().map_err(LabError::from)?;
            self.synced_ns = now_ns;
        }
        Ok(())
    }

    /// Enters the next start of an environment ahead, where starts of it settle.
    fn enter_ahead(&mut self, index: usize) {
        if let Ok(Started { settling_ns, .. }) = self.pilot.started[index] {
            self.arena.enter_ahead(index);
            self.targets[index].next_settled_ns = self.arena.now_ns() + settling_ns;
        }
    }

    /// Enters an environment afresh; gives it up when that fails too often in a row.
    pub(super) fn enter_again(&mut self, index: usize) -> Result<(), Stop> {
        while self.targets[index].lost < MOST_LOST_STARTS {
            let began_ns = self.arena.now_ns();
            let state = &mut self.targets[index];
            state.number += 1;
            match self.arena.enter_environment(index) {
                Ok(started) => {
                    self.pilot.started[index] = Ok(started);
                    self.enter_ahead(index);
                    let state = &mut self.targets[index];
                    // With what leaving the one before takes.
                    state.start.s = (self.arena.now_ns() - began_ns) as f64 / 1e9;
                    state.start.made += 1;
                    state.lost = 0;
                    state.cases.clear();
                    state.since_s = self.trials_s;
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

    /// Takes the looks of a resumed session again, which decided what it left.
    fn look_again(&mut self) {
        for case in 0..self.rounds.len() {
            let (looks, rounds) = (self.session.plan.looks.clone(), self.rounds[case]);
            for look in looks.into_iter().take_while(|look| *look <= rounds) {
                self.take_look(case, look, false);
            }
        }
    }

    /// Takes an interim look at a case after this many rounds, if one is planned there.
    fn take_look(&mut self, case: usize, rounds: u32, gives_up: bool) {
        let left_s = self.left_s();
        let Rounds { open, session, pilot, targets, .. } = self;
        let reachable = |cell: CellIndex| match (session.plan.until_decided, left_s) {
            // What five times as many rounds would most likely not decide is left undecided.
            (true, _) => (rounds >= FEWEST_UNTIL_DECIDED).then(|| rounds.saturating_mul(5)),
            // What a session gave up before it was resumed, its new time may decide.
            (false, Some(left_s)) if gives_up => {
                let start_s = |target: usize| targets[target].start.s;
                let more = rounds_alone(&session.plan, &pilot.cost_ns, start_s, cell, left_s);
                Some(rounds.saturating_add(more))
            }
            _ => None,
        };
        open.take_look(session, case, rounds, reachable);
        // A calibration is of first trials, which take longer in a cold sandbox.
        if session.plan.looks.contains(&rounds) || rounds < rounds_before_look(0) {
            self.round_s[case] = measured_round_s(session, case, rounds);
        }
    }
}

/// Estimates the time of a round of a case, in seconds, with environments that rest in their share of rounds.
fn planned_round_s(plan: &Plan, pilot: &Pilot, case: usize) -> f64 {
    let targets = (0..plan.targets.len()).filter(|target| plan.targets[*target].role != Role::Control);
    let cost = |target| pilot.cost_ns.get(&CellIndex { case, target }).copied().unwrap_or(0.0);
    let all: f64 = targets.map(|target| cost(target) / f64::from(plan.round_interval(target))).sum();
    (all / 1e9).max(LEAST_ROUND_S)
}

/// Computes the mean time of the rounds of a case before this one, in seconds. Both sides of a pair take the same time.
pub(super) fn measured_round_s(session: &Session, case: usize, rounds: u32) -> f64 {
    let id = &session.plan.cases[case].id;
    let of_case = session.trials.iter().filter(|trial| trial.case == *id && trial.round < rounds);
    let share = |trial: &Trial| if trial.partner.is_some() { 0.5 } else { 1.0 };
    let all_ns: f64 = of_case.map(|trial| trial.host_elapsed_ns as f64 * share(trial)).sum();
    (all_ns / 1e9 / f64::from(rounds.max(1))).max(LEAST_ROUND_S)
}

/// Describes the disturbance of a trial, if there was one.
fn find_disturbance(trial: &Trial) -> Option<String> {
    let steal_ns = trial.outside.steal_ns.unwrap_or(0);
    let is_disturbed =
        steal_ns >= STEAL_LEAST_NS && steal_ns as f64 > trial.host_elapsed_ns as f64 * STEAL_SHARE;
    is_disturbed.then(|| format!("the hypervisor took {} ms of a trial", steal_ns / 1_000_000))
}

fn is_own_failure(trial: &Trial) -> bool {
    trial.failure.as_ref().is_some_and(Failure::is_own)
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
