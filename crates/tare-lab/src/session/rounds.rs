//! The rounds of a session: trials in random order, written down as they come, until every comparison is
//! decided or the time is up.

use std::collections::{BTreeMap, BTreeSet};

use tare_analysis::verdicts::order::{self, Orders};
use tare_data::failure::Failure;
use tare_data::generator::Generator;
use tare_data::session::{Ending, PlannedCase, RepeatedRound, Role, Session, Trial};
use tare_record::entry::{Begin, End};
use tare_record::{Entry, Writer};

use crate::error::LabError;
use crate::session::arena::{Arena, Outcome};
use crate::session::prepare::{Pilot, request};
use crate::session::progress::{Event, Observer, Standing};
use crate::session::startup;

/// A trial may take this many times what calibration expects, and at least [`DEADLINE_LEAST_MS`].
const DEADLINE_FACTOR: f64 = 20.0;
const DEADLINE_LEAST_MS: u64 = 5_000;
const DEADLINE_MOST_MS: u64 = 1_800_000;
/// A disturbed round is run again so often; after that the disturbance is how this machine is.
const MOST_ATTEMPTS: u32 = 3;
/// A round is disturbed when the hypervisor took this share of a trial's time...
const STEAL_SHARE: f64 = 0.25;
/// ...and at least three ticks of the counter that says so, which sums over all processors.
const STEAL_LEAST_NS: u64 = 30_000_000;
/// One round in so many may be run again. Where more are disturbed, the disturbance is how this machine is, and
/// running everything twice would only leave half the rounds.
const ROUNDS_A_REPEAT: usize = 10;
/// An environment that cannot be started again so often in a row is given up.
const MOST_LOST_STARTS: u32 = 3;

/// A session in its rounds.
pub struct Rounds<'a> {
    pub arena: &'a mut dyn Arena,
    pub writer: &'a mut Writer,
    pub observer: &'a mut dyn Observer,
    pub session: Session,
    pub pilot: Pilot,
    /// When the budget is spent, by the arena's clock.
    pub until_ns: Option<u64>,
    targets: Vec<TargetState>,
    orders: BTreeMap<String, Orders>,
    /// Cells (case, environment) that are decided.
    decided: BTreeSet<(String, String)>,
    next_trial: u64,
    resumed: Resumed,
}

/// Where a resumed session goes on. Rounds are finished one after the other, so the last trial says all.
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
    start: u32,
    /// Rounds that the current start has seen.
    rounds: u32,
    /// Starts that failed in a row.
    lost: u32,
}

/// Why the rounds end before their number.
enum Stop {
    Budget,
    Interrupted,
    Error(LabError),
}

impl From<LabError> for Stop {
    fn from(error: LabError) -> Self {
        Stop::Error(error)
    }
}

impl<'a> Rounds<'a> {
    /// Rounds over a session that has a plan, and trials already when it is resumed.
    pub fn new(
        arena: &'a mut dyn Arena,
        writer: &'a mut Writer,
        observer: &'a mut dyn Observer,
        session: Session,
        pilot: Pilot,
        until_ns: Option<u64>,
    ) -> Self {
        let seed = session.plan.seed;
        let orders = session.plan.cases.iter().map(|c| (c.id.clone(), Orders::new(seed, &c.id))).collect();
        let next_trial = session.trials.iter().map(|t| t.number + 1).max().unwrap_or(0);
        let start = session.trials.iter().map(|t| t.start + 1).max().unwrap_or(0);
        let targets =
            session.plan.targets.iter().map(|_| TargetState { start, ..Default::default() }).collect();
        let resumed = Resumed::after(&session.trials);
        let decided = BTreeSet::new();
        Rounds {
            arena,
            writer,
            observer,
            session,
            pilot,
            until_ns,
            targets,
            orders,
            decided,
            next_trial,
            resumed,
        }
    }

    /// Runs until decided, done, out of time or stopped. The end is in the record when this returns.
    pub fn run(&mut self, now: &dyn Fn() -> String) -> Result<Ending, LabError> {
        let plan = &self.session.plan;
        let (cases, targets, rounds) = (plan.cases.len(), plan.targets.len(), plan.rounds);
        self.observer.event(Event::Planned { cases, targets, rounds });
        if let Some((case, attempt)) = self.resumed.broken.clone() {
            let reason = "the session broke off during this round".to_owned();
            self.repeat(RepeatedRound { case, round: self.resumed.round, attempt: attempt - 1, reason })?;
        }
        let mut stopped = None;
        for round in 0..rounds {
            self.look(round);
            if self.open_cases().is_empty() {
                break;
            }
            if let Err(stop) = self.round(round) {
                stopped = Some(stop);
                break;
            }
        }
        let ending = match stopped {
            None | Some(Stop::Budget) => Ending::Complete,
            Some(Stop::Interrupted) => Ending::Interrupted,
            Some(Stop::Error(error)) => return Err(error),
        };
        self.writer.append(&Entry::Ended { ending, at: now() })?;
        self.writer.sync()?;
        self.session.ending = ending;
        Ok(ending)
    }

    /// One round of every open case.
    fn round(&mut self, round: u32) -> Result<(), Stop> {
        let open: Vec<PlannedCase> = self.open_cases().into_iter().cloned().collect();
        if round >= self.resumed.round {
            self.start_again(round);
        }
        for index in order::cases(self.session.plan.seed, round, open.len()) {
            let case = &open[index];
            let done_here = round == self.resumed.round && self.resumed.done.contains(&case.id);
            if round < self.resumed.round || done_here {
                // A resumed session: the orders move on as they did before.
                self.next_order(case);
                continue;
            }
            let first = match &self.resumed.broken {
                Some((broken, attempt)) if *broken == case.id && round == self.resumed.round => *attempt,
                _ => 0,
            };
            for attempt in first..first + MOST_ATTEMPTS {
                match self.case_round(case, round, attempt)? {
                    Some(reason) if attempt + 1 < first + MOST_ATTEMPTS && self.may_repeat(round) => {
                        self.repeat(RepeatedRound { case: case.id.clone(), round, attempt, reason })?;
                    }
                    _ => break,
                }
            }
        }
        Ok(())
    }

    /// Whether so few rounds were run again that one more may be. By count alone, blind to what was measured.
    fn may_repeat(&self, round: u32) -> bool {
        let rounds = (round as usize + 1) * self.session.plan.cases.len();
        self.session.repeated.len() < 1 + rounds / ROUNDS_A_REPEAT
    }

    /// Notes that an attempt at a round does not count.
    fn repeat(&mut self, repeated: RepeatedRound) -> Result<(), LabError> {
        self.writer.append(&Entry::Repeated(repeated.clone()))?;
        self.session.repeated.push(repeated);
        Ok(())
    }

    /// Enters environments afresh whose starts have seen their share of rounds.
    fn start_again(&mut self, round: u32) {
        for index in 0..self.targets.len() {
            let share = self.pilot.rounds_a_start.get(index).copied().unwrap_or(1);
            let used = self.targets[index].rounds >= share;
            if round > 0 && used && self.pilot.started[index].is_ok() && self.is_open(index) {
                self.enter(index);
            }
            self.targets[index].rounds += 1;
        }
    }

    /// Enters an environment afresh; gives it up when that fails too often in a row.
    fn enter(&mut self, index: usize) {
        while self.targets[index].lost < MOST_LOST_STARTS {
            self.targets[index].start += 1;
            match self.arena.start(index) {
                Ok(started) => {
                    self.pilot.started[index] = Ok(started);
                    self.targets[index].rounds = 0;
                    self.targets[index].lost = 0;
                    return;
                }
                Err(failure) => {
                    self.targets[index].lost += 1;
                    if self.targets[index].lost == MOST_LOST_STARTS {
                        let target = &self.session.plan.targets[index].name;
                        self.observer.event(Event::Note(format!("{target} is given up: {failure}")));
                        self.pilot.started[index] = Err(failure);
                    }
                }
            }
        }
    }

    /// One round of one case: a trial in every environment that is still open, in the order of its Williams row.
    /// Returns why the round was disturbed, if it was.
    fn case_round(&mut self, case: &PlannedCase, round: u32, attempt: u32) -> Result<Option<String>, Stop> {
        let order = self.next_order(case);
        let mut disturbed = None;
        for (position, target) in order.into_iter().enumerate() {
            if self.until_ns.is_some_and(|until_ns| self.arena.now_ns() >= until_ns) {
                return Err(Stop::Budget);
            }
            let trial = self.trial(case, target, round, attempt, position as u32)?;
            let steal_ns = trial.outside.steal_ns.unwrap_or(0);
            if steal_ns >= STEAL_LEAST_NS && steal_ns as f64 > trial.host_elapsed_ns as f64 * STEAL_SHARE {
                disturbed = Some(format!("the hypervisor took {} ms of a trial", steal_ns / 1_000_000));
            }
            self.session.trials.push(trial);
        }
        Ok(disturbed)
    }

    /// One trial, from its first line in the record to its last.
    fn trial(
        &mut self,
        case: &PlannedCase,
        index: usize,
        round: u32,
        attempt: u32,
        position: u32,
    ) -> Result<Trial, Stop> {
        let target = self.session.plan.targets[index].name.clone();
        let trial = self.next_trial;
        self.next_trial += 1;
        self.tell(case, &target, round);
        if startup::is_start(&case.case) {
            self.targets[index].start += 1;
        }
        let start = self.targets[index].start;
        let begin = Begin {
            trial,
            case: case.id.clone(),
            target: target.clone(),
            round,
            attempt,
            position,
            start,
            started_ns: self.arena.now_ns(),
        };
        self.writer.append(&Entry::Begin(begin.clone())).map_err(LabError::from)?;
        let mut batches = Vec::new();
        let outcome = self.measure(case, index, trial, round, &mut batches)?;
        if outcome.interrupted {
            return Err(Stop::Interrupted);
        }
        if outcome.lost {
            self.targets[index].lost = 0;
            self.enter(index);
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
        self.writer.append(&Entry::End(end.clone())).map_err(LabError::from)?;
        self.writer.sync().map_err(LabError::from)?;
        Ok(Trial {
            number: trial,
            case: begin.case,
            target,
            round,
            attempt,
            position,
            start,
            started_ns: begin.started_ns,
            host_elapsed_ns: end.host_elapsed_ns,
            agent_elapsed_ns: end.agent_elapsed_ns,
            batches,
            inside: end.inside,
            outside: end.outside,
            failure: end.failure,
            notes: end.notes,
        })
    }

    /// Has the arena run a trial; every batch is in the record before anything else sees it.
    fn measure(
        &mut self,
        case: &PlannedCase,
        index: usize,
        trial: u64,
        round: u32,
        batches: &mut Vec<tare_data::batch::Batch>,
    ) -> Result<Outcome, Stop> {
        let gave_up = |failure: Failure| Outcome { failure: Some(failure), ..Default::default() };
        let started = match &self.pilot.started[index] {
            Ok(started) => started,
            Err(failure) => return Ok(gave_up(failure.clone())),
        };
        let target = &self.session.plan.targets[index].name;
        let expected_ns = self.pilot.cost_ns.get(&(case.id.clone(), target.clone())).copied().unwrap_or(0.0);
        let deadline_ms =
            ((expected_ns * DEADLINE_FACTOR / 1e6) as u64).clamp(DEADLINE_LEAST_MS, DEADLINE_MOST_MS);
        let seed = Generator::for_part(self.session.plan.seed, &format!("{} {round}", case.id)).next_u64();
        let request = match request(trial, &case.case, case.amount, started, seed, deadline_ms) {
            Ok(request) => request,
            Err(failure) => return Ok(gave_up(failure)),
        };
        let mut written = Ok(());
        let outcome = self.arena.trial(index, &request, &mut |batch| {
            if written.is_ok() {
                written = self.writer.append(&Entry::Batch { trial, batch: batch.clone() });
            }
            batches.push(batch.clone());
        });
        written.map_err(LabError::from)?;
        Ok(outcome)
    }

    fn tell(&mut self, case: &PlannedCase, target: &str, round: u32) {
        let elapsed_s = self.arena.now_ns() as f64 / 1e9;
        let rounds = self.session.plan.rounds;
        let by_rounds_s = elapsed_s * f64::from(rounds - round) / f64::from(round + 1);
        let left_s = match self.until_ns {
            Some(until_ns) => (until_ns as f64 / 1e9 - elapsed_s).max(0.0).min(by_rounds_s),
            None => by_rounds_s,
        };
        self.observer.event(Event::Trial(Standing {
            case: &case.label,
            target,
            round: round + 1,
            rounds,
            decided: self.decided_cells(),
            cells: self.cells(),
            failures: self.session.trials.iter().filter(|t| t.failure.is_some()).count() as u32,
            repeated: self.session.repeated.len() as u32,
            elapsed_s,
            left_s,
        }));
    }

    /// Cells of subjects that are decided.
    fn decided_cells(&self) -> usize {
        let subject = |target: &String| {
            self.session.plan.targets.iter().any(|l| l.name == *target && l.role == Role::Subject)
        };
        self.decided.iter().filter(|(_, target)| subject(target)).count()
    }

    /// Cells that can get a verdict.
    fn cells(&self) -> usize {
        let subject = |target: &str| {
            self.session.plan.targets.iter().any(|l| l.name == target && l.role == Role::Subject)
        };
        let subjects = self.session.plan.targets.iter().filter(|l| l.role == Role::Subject).count();
        let cases = self.session.plan.cases.iter();
        cases.map(|case| subjects - case.missing.keys().filter(|target| subject(target)).count()).sum()
    }

    /// The order of the environments in which a case is still open.
    fn next_order(&mut self, case: &PlannedCase) -> Vec<usize> {
        let open = self.open_targets(case);
        self.orders.get_mut(&case.id).expect("every planned case has an order").next(&open)
    }

    /// Environments where a case is still measured: baseline and control as long as some subject needs them.
    fn open_targets(&self, case: &PlannedCase) -> Vec<usize> {
        let targets = &self.session.plan.targets;
        let usable = |index: &usize| !case.missing.contains_key(&targets[*index].name);
        let undecided =
            |index: &usize| !self.decided.contains(&(case.id.clone(), targets[*index].name.clone()));
        let subjects = |index: &usize| targets[*index].role == Role::Subject;
        let all: Vec<usize> = (0..targets.len()).filter(usable).collect();
        let needed = all.iter().any(|index| subjects(index) && undecided(index))
            || all.iter().all(|index| !subjects(index)) && !all.is_empty();
        if !needed {
            return Vec::new();
        }
        all.into_iter().filter(|index| !subjects(index) || undecided(index)).collect()
    }

    fn open_cases(&self) -> Vec<&PlannedCase> {
        self.session.plan.cases.iter().filter(|case| !self.open_targets(case).is_empty()).collect()
    }

    /// Whether some case is still measured in an environment.
    fn is_open(&self, target: usize) -> bool {
        self.session.plan.cases.iter().any(|case| self.open_targets(case).contains(&target))
    }

    /// Looks at the data after so many rounds, if a look is planned there.
    fn look(&mut self, rounds: u32) {
        let plan = &self.session.plan;
        if !plan.looks.contains(&rounds) || rounds == plan.rounds {
            return;
        }
        let options = tare_analysis::Options::default();
        for case in &plan.cases {
            let progress = tare_analysis::Progress::of(&self.session);
            let done = tare_analysis::decide(progress, &case.id, rounds, &options);
            let targets = plan.targets.iter().map(|target| &target.name).zip(done);
            for (target, _) in targets.filter(|(target, done)| *done && !case.missing.contains_key(*target)) {
                self.decided.insert((case.id.clone(), target.clone()));
            }
        }
    }
}
