//! The rounds of a session: case by case in the order in which they decide most, written down as they come, until every
//! comparison is decided or the time is up.
//!
//! Each case has rounds of its own, so that quick ones have many in the time of one slow one. What comes next follows from
//! the plan, its seed, the trials so far and the time that is left: a session that is resumed goes on as it would have.

mod announcing;
pub(super) mod course;
pub(super) mod lasting;
mod masking;
mod open;
mod outcomes;
mod stop;
mod trials;

use std::collections::{BTreeMap, BTreeSet};

use tare_data::failure::Failure;
use tare_data::session::lasting::{LastingWork, Stretch};
use tare_data::session::limits::LimitCounts;
use tare_data::session::{Ending, RepeatedRound, Role, Session, Trial};
use tare_record::{Entry, Writer};

use crate::asked::progress::{Event, Observer};
use crate::error::LabError;
use crate::session::arena::{Arena, Started};
use crate::session::plan::prepare::{CellIndex, Pilot};
use crate::session::plan::starts::{Start, seconds_a_start};
use crate::session::rounds::course::{Course, is_own_failure};
use crate::session::rounds::lasting::{Block, Lasting, Wanted, make_stretch_request, read_stretch};
use crate::session::rounds::outcomes::{Overdue, Visits};
use crate::session::rounds::stop::Stop;

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
/// Starts that are entered ahead where a start has to settle: gVisor's takes a second, and a verdict needs eight.
const STARTS_AHEAD: usize = 3;
/// Time after which what was written is synced: a crash of the machine loses this much, and one of tare nothing.
const SYNC_NS: u64 = 1_000_000_000;
/// Time after which limits are counted again: of a session that is killed, the rest is not known.
const COUNT_NS: u64 = 10_000_000_000;
/// Note of a session that is resumed in vain.
const NOTHING_LEFT: &str = "nothing is left to measure: every answer is decided, or has all its rounds";

/// A session in its rounds.
pub struct Rounds<'a> {
    arena: &'a mut dyn Arena,
    writer: &'a mut Writer,
    observer: &'a mut dyn Observer,
    course: Course,
    lasting: Lasting,
    overdue: Overdue,
    /// Time for which starts held up a round, in seconds.
    waits_s: f64,
    /// Time of all trials so far, in seconds.
    trials_s: f64,
    next_trial: u64,
    /// Rounds in a row, of any case, without a value of the baseline.
    failed_rounds: u32,
    /// Environments whose trials run alone, as a note has said.
    noted_alone: BTreeSet<usize>,
    synced_ns: u64,
    counted_ns: u64,
    resumed: Resumed,
    ends_early: bool,
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
        let last =
            session.trials.last().filter(|_| !matches!(session.ending, Ending::Complete | Ending::Early));
        let broken =
            last.and_then(|last| Some((*cases.get(last.case.as_str())?, last.round, last.attempt + 1)));
        if let Some((case, round, _)) = broken {
            rounds[case] = round;
        }
        Resumed { broken, rounds }
    }
}

/// Place of a trial in its session.
#[derive(Clone, Copy)]
struct Slot {
    pub case: usize,
    pub round: u32,
    /// 0 for the first; a round that was disturbed is run again as a whole.
    pub attempt: u32,
}

/// The end of the rounds, and the seconds that would settle what is open: of those that ended early, where they are known.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Ended {
    pub ending: Ending,
    pub rest_s: Option<f64>,
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
        let next_trial = session.trials.iter().map(|t| t.number + 1).max().unwrap_or(0);
        let resumed = Resumed::after(&session);
        let lasting = Lasting::new(&session.plan.lasting, &session.stretches);
        let course = Course::new(session, pilot, resumed.rounds.clone(), (arena.now_ns(), until_ns));
        Rounds {
            synced_ns: arena.now_ns(),
            counted_ns: arena.now_ns(),
            arena,
            writer,
            observer,
            lasting,
            overdue: Overdue::default(),
            course,
            waits_s: 0.0,
            trials_s: 0.0,
            next_trial,
            failed_rounds: 0,
            noted_alone: BTreeSet::new(),
            resumed,
            ends_early: false,
        }
    }

    /// Ends them as soon as what is open needs more time than the session has taken.
    pub fn ending_early(self) -> Self {
        Rounds { ends_early: true, ..self }
    }

    /// Runs until decided, done, out of time or stopped. The end is in the record when this returns.
    pub fn run_rounds(mut self, ended: &dyn Fn(Ending) -> Entry) -> Result<Ended, LabError> {
        let plan = &self.course.session.plan;
        let (cases, targets) = (plan.cases.len(), plan.targets.len());
        self.observer.observe_event(Event::Planned { cases, targets });
        self.course.look_again(self.arena.now_ns());
        if let Some((case, round, attempt)) = self.resumed.broken {
            let reason = "the session broke off during this round".to_owned();
            let case = self.course.session.plan.cases[case].id.clone();
            self.repeat(RepeatedRound { case, round, attempt: attempt - 1, reason })?;
        }
        let was_complete = matches!(self.course.session.ending, Ending::Complete | Ending::Early);
        if was_complete && self.next_case().is_none() {
            self.observer.observe_event(Event::Note(NOTHING_LEFT.into()));
        }
        self.count_all_limits(true)?;
        self.course.reserved_ns = self.lasting.estimate_missing_ns(&self.course);
        let compared = self.compare_outcomes();
        self.overdue.note_outcomes(&mut self.course);
        let is_over = matches!(compared, Ok(true));
        let mut stopped = compared.err();
        if stopped.is_none() && !is_over && !self.course.pilot.trials_are_starts {
            (0..self.course.targets.len()).for_each(|target| self.enter_ahead(target));
        }
        while stopped.is_none()
            && !is_over
            && let Some(case) = self.next_case()
        {
            if self.ends_early && self.course.is_far_from_decided(self.arena.now_ns()) {
                stopped = Some(Stop::Early);
                break;
            }
            let ran = self.run_lasting(Wanted::Due).and_then(|()| self.run_case(case));
            if let Err(stop) = ran.and_then(|()| self.check_environments()) {
                stopped = Some(stop);
                break;
            }
        }
        let ended_ns = self.arena.now_ns();
        let wanted = match stopped {
            None if is_over => None,
            None | Some(Stop::Early) => Some(Wanted::First),
            Some(Stop::Budget) => Some(Wanted::All),
            Some(_) => None,
        };
        if let Some(wanted) = wanted {
            stopped = self.run_lasting(wanted).err().or(stopped);
        }
        let ending = match stopped {
            None | Some(Stop::Budget) => Ending::Complete,
            Some(Stop::Early) => Ending::Early,
            Some(Stop::BaselineFailed) => Ending::BaselineFailed,
            Some(Stop::SubjectsFailed) => Ending::SubjectsFailed,
            Some(Stop::Interrupted) => Ending::Interrupted,
            Some(Stop::Error(error)) => return Err(error),
        };
        self.count_all_limits(false)?;
        self.writer.append(&ended(ending))?;
        self.writer.sync()?;
        self.course.session.ending = ending;
        let open = self.course.open.list_open(&self.course.session.plan);
        let rest_s =
            (ending == Ending::Early).then(|| self.course.estimate_rest_s(&open, ended_ns)).flatten();
        Ok(Ended { ending, rest_s })
    }

    /// Compares the outcomes of commands in starts of their own, and enters all environments again for the rounds. True where no times
    /// are left to be compared.
    fn compare_outcomes(&mut self) -> Result<bool, Stop> {
        let mut visits = Visits {
            arena: &mut *self.arena,
            writer: &mut *self.writer,
            observer: &mut *self.observer,
            course: &mut self.course,
        };
        let starts = visits.count_starts();
        if starts == 0 {
            return Ok(visits.has_outcomes() && !visits.close_cells());
        }
        let entered = visits.leave_all();
        let has_times = visits.run(starts)?;
        if has_times {
            entered.into_iter().try_for_each(|target| self.enter_again(target))?;
        }
        Ok(!has_times)
    }

    /// Runs the blocks of work that lasts which are wanted.
    fn run_lasting(&mut self, wanted: Wanted) -> Result<(), Stop> {
        while let Some(block) = self.lasting.find_next(self.arena.now_ns(), self.course.until_ns, wanted) {
            if self.lasting.has_pairs(&self.course) {
                self.run_block(block, wanted)?;
            }
            self.lasting.finish_block();
            self.course.reserved_ns = self.lasting.estimate_missing_ns(&self.course);
        }
        Ok(())
    }

    /// Runs a block of stretches with all environments left, and enters them again where rounds follow.
    fn run_block(&mut self, block: Block, wanted: Wanted) -> Result<(), Stop> {
        self.check_room()?;
        let entered: Vec<usize> =
            (0..self.course.targets.len()).filter(|at| self.course.pilot.started[*at].is_ok()).collect();
        for target in &entered {
            self.count_limits(*target, false)?;
            self.arena.leave_environment(*target);
            self.course.targets[*target].settled_ns.clear();
        }
        for (target, rounds) in self.lasting.draw_visits(block, &self.course) {
            if !self.lasting.is_given_up(target) {
                self.visit(target, block.0, &rounds)?;
            }
        }
        if wanted == Wanted::Due {
            entered.into_iter().try_for_each(|target| self.enter_again(target))?;
        }
        Ok(())
    }

    /// Enters an environment for stretches of these rounds, and leaves it. One that fails has no more of them.
    fn visit(&mut self, target: usize, work: LastingWork, rounds: &[u32]) -> Result<(), Stop> {
        let name = self.course.session.plan.targets[target].name.clone();
        self.observer.observe_event(Event::Lasting { target: &name });
        let entered = self.arena.enter_environment(target);
        self.arena.host_failure().map_or(Ok(()), Err)?;
        self.count_limits(target, true)?;
        let mut failure = entered.err();
        for round in rounds {
            if failure.is_none() {
                failure = self.run_stretch(target, work, *round)?;
            }
        }
        if self.arena.is_interrupted() {
            return Err(Stop::Interrupted);
        }
        if let Some(failure) = failure {
            let note = format!("{name}: no stretch of work that lasts: {failure}");
            self.observer.observe_event(Event::Note(note));
            self.lasting.give_up(target);
        }
        // Limits are not counted again: what they stopped here was no turn, and its cost is what a stretch measures.
        self.arena.leave_environment(target);
        self.sync_now_and_then()
    }

    /// Runs a stretch, and writes it down; returns why there is none.
    fn run_stretch(&mut self, target: usize, work: LastingWork, round: u32) -> Result<Option<Failure>, Stop> {
        let (number, processors) = (self.next_trial, self.arena.list_processors().len());
        let request = match make_stretch_request((number, &self.course), target, work, processors) {
            Ok(request) => request,
            Err(failure) => return Ok(Some(failure)),
        };
        let mut batches = Vec::new();
        let outcome = self.arena.run_trial(target, &request, &mut |batch| batches.push(batch.clone()));
        self.arena.host_failure().map_or(Ok(()), Err)?;
        if outcome.interrupted {
            return Err(Stop::Interrupted);
        }
        if let (None, Some((operations, elapsed_ns, slice_ns))) = (&outcome.failure, read_stretch(&batches)) {
            let target = self.course.session.plan.targets[target].name.clone();
            let stretch = Stretch { target, work, round, operations, elapsed_ns, slice_ns };
            self.writer.append(&Entry::Stretch(stretch.clone())).map_err(LabError::from)?;
            self.course.session.stretches.push(stretch);
        }
        Ok(outcome.failure)
    }

    /// Runs the next round of a case, and looks at it where that is planned.
    fn run_case(&mut self, case: usize) -> Result<(), Stop> {
        let round = self.course.rounds[case];
        let due = self.course.list_due(self.arena.now_ns());
        let targets = self.course.open.list_targets(&self.course.session.plan, case, round, &due);
        if !targets.is_empty() {
            if self.is_time_up() {
                return Err(Stop::Budget);
            }
            self.start_again(case, round)?;
            let id = self.course.session.plan.cases[case].id.clone();
            let first = match self.resumed.broken {
                Some((broken, at, attempt)) if (broken, at) == (case, round) => attempt,
                _ => 0,
            };
            let began_ns = self.arena.now_ns();
            self.waits_s = 0.0;
            for attempt in first..first + MOST_ATTEMPTS {
                let trials = self.run_attempt(Slot { case, round, attempt }, &targets)?;
                let disturbed = trials.iter().find_map(find_disturbance);
                self.course.failures += trials.iter().filter(|trial| is_own_failure(trial)).count() as u32;
                self.overdue.note_trials(case, &trials, &mut self.course);
                self.course.session.trials.extend(trials);
                match disturbed {
                    Some(reason) if attempt + 1 < first + MOST_ATTEMPTS && self.may_repeat() => {
                        self.repeat(RepeatedRound { case: id.clone(), round, attempt, reason })?;
                    }
                    _ => break,
                }
            }
            self.trials_s += (self.arena.now_ns() - began_ns) as f64 / 1e9 - self.waits_s;
            self.observer.observe_event(Event::RoundDone(&self.course.session));
        }
        self.course.rounds[case] += 1;
        let now_ns = self.arena.now_ns();
        self.course.take_look(case, self.course.rounds[case], true, now_ns);
        self.course.look_at_watched(case, &due, now_ns);
        Ok(())
    }

    /// Ends a session whose baseline fails round after round, or whose other environments were all given up. A fleet compares baselines.
    fn check_environments(&mut self) -> Result<(), Stop> {
        let subjects = self.course.session.plan.targets.list_role(Role::Subject);
        let subjects: Vec<_> = subjects.filter_map(|at| self.course.pilot.started.get(at)).collect();
        let is_of_fleet = self.course.session.header.fleet.is_some();
        if !is_of_fleet && !subjects.is_empty() && subjects.iter().all(|started| started.is_err()) {
            return Err(Stop::SubjectsFailed);
        }
        self.check_baseline()
    }

    /// Ends a session whose baseline fails round after round.
    fn check_baseline(&mut self) -> Result<(), Stop> {
        let Some(baseline) = self.course.session.baseline() else { return Ok(()) };
        let Some(last) = self.course.session.trials.last() else { return Ok(()) };
        let of_round = self.course.session.trials.iter().rev();
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
        let open = (0..self.course.rounds.len()).filter(|case| {
            self.course.open.is_case_open(&self.course.session.plan, *case, self.course.rounds[*case])
        });
        let most = MOST_FAILED_ROUNDS.saturating_mul(open.count().max(1) as u32);
        if self.failed_rounds < most { Ok(()) } else { Err(Stop::BaselineFailed) }
    }

    /// Tells whether one more round may be run again. By count alone, blind to the measurements.
    fn may_repeat(&self) -> bool {
        let rounds: u32 = self.course.rounds.iter().sum();
        self.course.session.repeated.len() < 1 + rounds as usize / ROUNDS_A_REPEAT
    }

    /// Writes down that an attempt at a round does not count.
    fn repeat(&mut self, repeated: RepeatedRound) -> Result<(), LabError> {
        self.writer.append(&Entry::Repeated(repeated.clone()))?;
        self.course.session.repeated.push(repeated);
        Ok(())
    }

    /// Enters environments afresh whose starts have seen their share of the time, also those that rest in this round.
    fn start_again(&mut self, case: usize, round: u32) -> Result<(), Stop> {
        if self.course.pilot.trials_are_starts {
            return Ok(());
        }
        let is_open = |target: &usize| {
            self.course.pilot.started[*target].is_ok()
                && self.course.open.is_target_open(&self.course.session.plan, *target)
        };
        let open: Vec<usize> = (0..self.course.targets.len()).filter(is_open).collect();
        let starts: Vec<Start> = open.iter().map(|target| self.course.targets[*target].start).collect();
        let shares = seconds_a_start(
            &starts,
            self.course.left_s(self.arena.now_ns()),
            self.course.session.plan.count_comparisons(),
        );
        for (target, share) in open.into_iter().zip(shares) {
            let state = &self.course.targets[target];
            let since_s = self.trials_s - state.since_s;
            let is_settled = state.settled_ns.front().is_none_or(|at_ns| self.arena.now_ns() >= *at_ns);
            let is_due = match self.course.until_ns {
                Some(_) if !is_settled => false,
                Some(_) => {
                    since_s >= share.most_s
                        || since_s >= share.least_s && self.course.has_had_all(target, self.arena.now_ns())
                }
                // Without a limit of time every round has its own start.
                None => round > state.since_round,
            };
            // A case that this start has not seen yet gains nothing from another.
            let is_seen = state.cases.contains(&case);
            // The last seconds are for trials: a start that leaves no time for any adds nothing.
            let has_time =
                self.course.left_s(self.arena.now_ns()).is_none_or(|left_s| state.start.s < left_s);
            if is_seen && is_due && has_time {
                self.enter_again(target)?;
                self.course.targets[target].since_round = round;
            }
        }
        Ok(())
    }

    /// Shows how far the session is, before a trial.
    fn announce(&mut self, cell: CellIndex, round: u32) {
        let standing = self.course.describe_standing(cell, round, self.arena.now_ns());
        self.observer.observe_event(Event::Trial(standing));
    }

    fn next_case(&mut self) -> Option<usize> {
        let now_ns = self.arena.now_ns();
        self.course.wake_resting(now_ns);
        self.course.next_case(now_ns)
    }

    fn is_time_up(&self) -> bool {
        self.course.left_ns(self.arena.now_ns()) == Some(0)
    }

    /// Syncs what was written when a second has passed since the last time.
    fn sync_now_and_then(&mut self) -> Result<(), Stop> {
        let now_ns = self.arena.now_ns();
        if now_ns.saturating_sub(self.synced_ns) >= SYNC_NS {
            self.writer.sync().map_err(LabError::from)?;
            self.synced_ns = now_ns;
        }
        if now_ns.saturating_sub(self.counted_ns) >= COUNT_NS {
            self.count_all_limits(false)?;
            self.counted_ns = now_ns;
        }
        Ok(())
    }

    /// Writes down the counts of every environment's control groups.
    fn count_all_limits(&mut self, begins: bool) -> Result<(), LabError> {
        (0..self.course.session.plan.targets.len()).try_for_each(|index| self.count_limits(index, begins))
    }

    /// Writes down the counts of an environment's control groups and its processor time beside others, if they show. A baseline that is entered twice is counted once.
    fn count_limits(&mut self, index: usize, begins: bool) -> Result<(), LabError> {
        let targets = &self.course.session.plan.targets;
        let is_compared = matches!(targets.role(index), Role::Baseline | Role::Subject);
        let (groups, idle) = match is_compared {
            true => (self.arena.read_limits(index), self.arena.take_idle(index)),
            false => (None, None),
        };
        if groups.is_some() || idle.is_some() {
            let (target, groups) = (targets[index].name.clone(), groups.unwrap_or_default());
            let counts = LimitCounts { target, begins, groups, idle };
            self.writer.append(&Entry::Limits(counts.clone()))?;
            self.course.session.limits.push(counts);
        }
        Ok(())
    }

    /// Enters the next starts of an environment ahead, where starts of it settle: they wait without computing, and do so together.
    fn enter_ahead(&mut self, index: usize) {
        let Ok(Started { settling_ns, .. }) = self.course.pilot.started[index] else { return };
        while self.course.targets[index].settled_ns.len() < STARTS_AHEAD {
            self.arena.enter_ahead(index);
            self.course.targets[index].settled_ns.push_back(self.arena.now_ns() + settling_ns);
        }
    }

    /// Enters an environment afresh; gives it up when that fails too often in a row.
    fn enter_again(&mut self, index: usize) -> Result<(), Stop> {
        while self.course.targets[index].lost < MOST_LOST_STARTS {
            let began_ns = self.arena.now_ns();
            self.count_limits(index, false)?;
            let state = &mut self.course.targets[index];
            state.number += 1;
            match self.arena.enter_environment(index) {
                Ok(started) => {
                    self.course.pilot.started[index] = Ok(started);
                    self.count_limits(index, true)?;
                    self.course.targets[index].settled_ns.pop_front();
                    self.enter_ahead(index);
                    let state = &mut self.course.targets[index];
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
                    let state = &mut self.course.targets[index];
                    state.lost += 1;
                    if state.lost == MOST_LOST_STARTS {
                        let target = &self.course.session.plan.targets[index].name;
                        self.observer.observe_event(Event::Note(format!("{target} is given up: {failure}")));
                        self.course.pilot.started[index] = Err(failure);
                    }
                }
            }
        }
        Ok(())
    }
}

/// Describes the disturbance of a trial, if there was one.
fn find_disturbance(trial: &Trial) -> Option<String> {
    let steal_ns = trial.outside.steal_ns.unwrap_or(0);
    let is_disturbed =
        steal_ns >= STEAL_LEAST_NS && steal_ns as f64 > trial.host_elapsed_ns as f64 * STEAL_SHARE;
    is_disturbed.then(|| format!("the hypervisor took {} ms of a trial", steal_ns / 1_000_000))
}
