//! The course of the rounds: what is open and what its rounds take, and from that the case whose round is next.
//!
//! A cell that is decided goes on now and then, because an environment may be in a state that lasts for a while. Where the answer is
//! gone the cell is open again.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use tare_analysis::bill::ROUNDS_OF_A_PRICE;
use tare_analysis::findings::sameness::FEWEST_STARTS;
use tare_analysis::order;
use tare_analysis::verdicts::stopping::{rounds_before_look, units_to_leave};
use tare_data::failure::Failure;
use tare_data::session::{Plan, Role, Session, Side, Trial};

use crate::session::plan::prepare::{CellIndex, Pilot, start_s};
use crate::session::plan::starts::Start;
use crate::session::rounds::open::{FIRST_PASS, Open, rounds_alone};

/// Time from one trial of a watched cell to the next, at least: states that are shorter are seen before an answer is decided...
const LEAST_INTERVAL_S: f64 = 1.0;
/// ...and more where all of them would take more than this share of the time.
const MOST_SHARE: f64 = 0.05;
/// Rounds before which a session that lasts until all is decided gives nothing up.
const FEWEST_UNTIL_DECIDED: u32 = 300;
/// Time of a session for each second of its trials, before this many seconds of trials show it, and at most.
const USUAL_PACE: f64 = 1.4;
const LEAST_SEEN_S: f64 = 1.0;
const MOST_PACE: f64 = 5.0;
/// A case is quick if its rounds take at most this many times as long as those of all quicker cases together.
const MOST_QUICK: f64 = 4.0;
/// The starts that a verdict needs are expensive if they take more than this share of the time. They come when what is cheaper is decided...
const EXPENSIVE_SHARE: f64 = 0.125;
/// ...or when no more is left than this many times what those take by which a cell leaves.
const REST_UNTIL: f64 = 2.0;
/// Least time of a round, in seconds, by which cases share the time.
const LEAST_ROUND_S: f64 = 1e-4;

/// A session between two of its trials, as far as it decides what comes next.
pub struct Course {
    pub session: Session,
    pub pilot: Pilot,
    /// When the budget is spent, by the arena's clock.
    pub until_ns: Option<u64>,
    /// Part of it that is kept from the rounds.
    pub reserved_ns: u64,
    pub targets: Vec<TargetState>,
    /// Rounds that each case has had.
    pub rounds: Vec<u32>,
    /// Time of a round of each case, in seconds: by the plan, and from its first look on by its trials.
    pub round_s: Vec<f64>,
    /// When the first round began, and the rounds that each case had before.
    began: (u64, Vec<u32>),
    pub open: Open,
    /// When watched cells had their last trials.
    watched_ns: BTreeMap<CellIndex, u64>,
    /// Trials that failed by themselves.
    pub failures: u32,
}

/// An environment between rounds.
#[derive(Debug, Default)]
pub struct TargetState {
    /// Number of the current start.
    pub number: u32,
    /// Time of all trials when it was entered, and the round of a case that was next then.
    pub since_s: f64,
    pub since_round: u32,
    /// Cases that the current start has had a trial of.
    pub cases: BTreeSet<usize>,
    /// When the starts after it have settled, which were entered ahead.
    pub settled_ns: VecDeque<u64>,
    /// Number of starts so far, and the time of the last.
    pub start: Start,
    /// Starts that failed in a row.
    pub lost: u32,
}

impl Course {
    /// Describes a session that has a plan, with the rounds that each case has had.
    pub fn new(
        session: Session,
        pilot: Pilot,
        rounds: Vec<u32>,
        (now_ns, until_ns): (u64, Option<u64>),
    ) -> Self {
        let cases = 0..session.plan.cases.len();
        let mut course = Course {
            round_s: cases.map(|case| planned_round_s(&session.plan, &pilot, case)).collect(),
            open: Open::from_plan(&session.plan),
            targets: states(&session, &pilot),
            watched_ns: BTreeMap::new(),
            failures: session.trials.iter().filter(|trial| is_own_failure(trial)).count() as u32,
            session,
            pilot,
            until_ns,
            reserved_ns: 0,
            began: (now_ns, rounds.clone()),
            rounds,
        };
        let expensive = course.list_expensive(now_ns);
        course.open.rest(&course.session.plan, expensive);
        course
    }

    /// Lists the subjects whose starts are expensive, where others are not.
    fn list_expensive(&self, now_ns: u64) -> BTreeSet<usize> {
        let Some(left_s) = self.left_s(now_ns).filter(|_| !self.pilot.trials_are_starts) else {
            return BTreeSet::new();
        };
        let subjects = self.session.plan.targets.list_role(Role::Subject);
        let (expensive, cheap): (BTreeSet<usize>, BTreeSet<usize>) =
            subjects.filter(|target| self.pilot.started[*target].is_ok()).partition(|target| {
                self.targets[*target].start.s * FEWEST_STARTS as f64 > left_s * EXPENSIVE_SHARE
            });
        if cheap.is_empty() { cheap } else { expensive }
    }

    /// Ends the rest of environments with expensive starts where their starts take what is left, or where what else is open needs more time
    /// than the session has taken.
    pub fn wake_resting(&mut self, now_ns: u64) {
        let Some(left_s) = self.left_s(now_ns).filter(|_| !self.open.list_resting().is_empty()) else {
            return;
        };
        let plan = &self.session.plan;
        let is_over = self.open.list_open(plan).is_empty() || self.is_far_from_decided(now_ns);
        let starts = f64::from(units_to_leave(plan.count_comparisons())) * REST_UNTIL;
        let rests = |target: &usize| !is_over && self.targets[*target].start.s * starts < left_s;
        let resting = self.open.list_resting().iter().copied().filter(rests).collect();
        self.open.rest(plan, resting);
    }

    /// Computes the time that rounds have until the budget is spent, in ns; none where there is no budget.
    pub fn left_ns(&self, now_ns: u64) -> Option<u64> {
        self.until_ns.map(|until_ns| until_ns.saturating_sub(now_ns.saturating_add(self.reserved_ns)))
    }

    /// Computes the time that rounds have until the budget is spent, in seconds; none where there is no budget.
    pub fn left_s(&self, now_ns: u64) -> Option<f64> {
        self.left_ns(now_ns).map(|left_ns| left_ns as f64 / 1e9)
    }

    /// Finds the case whose turn it is; none when nothing is open any more.
    ///
    /// First each quick case has the rounds of the first pass. Then cases share the time by the roots of what their rounds take, by
    /// which the sum of the variances of all that is open is least: the next one is the one that is furthest behind its share. What
    /// they take is known by the plan, and better from their first round on. Without a limit of time all have a round before any has
    /// the next. A draw for each round shuffles those that are level.
    ///
    /// In the starts of an environment that a verdict needs, those cases go first that the start has not had: then it is left, and
    /// each case gets its starts in as little time as can be.
    ///
    /// Later a case that the time left would decide goes first, the soonest before others: so more is decided when time is up than by
    /// shares alone, which leave most of the time to what takes longest, and all a little short of their looks. Every case has looks
    /// by its own count, which do not depend on that.
    pub fn next_case(&self, now_ns: u64) -> Option<usize> {
        let plan = &self.session.plan;
        if self.open.is_over(plan) {
            return None;
        }
        let (pass, is_first) = self.list_pass(now_ns);
        let due = |case: usize| {
            let drawn = order::draw_place(plan.seed, &plan.cases[case].id, self.rounds[case]);
            (f64::from(self.rounds[case]) + drawn) * self.until_ns.map_or(1.0, |_| self.round_s[case].sqrt())
        };
        if pass.is_empty() {
            return None;
        }
        let watched = self.list_due(now_ns).first().map(|cell| cell.case);
        let furthest = |cases: &[usize]| cases.iter().copied().min_by(|a, b| due(*a).total_cmp(&due(*b)));
        let unseen = || furthest(&self.list_unseen(&pass));
        let soonest = || if is_first { None } else { self.find_soonest(&pass, now_ns) };
        watched.or_else(unseen).or_else(soonest).or_else(|| furthest(&pass))
    }

    /// Lists the open cases among which the next one is, and tells whether they are those of the first pass. As long as a quick one lacks
    /// rounds of it, they are all that lack some; not those that wait for a disk, for whoever else uses it decides how long they take.
    /// There is none without a limit of time, nor in the second half of a time that is too short for it. Where a command is explained,
    /// those come before that lack rounds of a price, whatever they wait for: without them it has no part in the bill.
    fn list_pass(&self, now_ns: u64) -> (Vec<usize>, bool) {
        let open: Vec<usize> = (0..self.rounds.len()).filter(|case| self.has_rounds(*case)).collect();
        let unpriced: Vec<usize> = open.iter().copied().filter(|case| self.lacks_price(*case)).collect();
        if !unpriced.is_empty() {
            return (unpriced, true);
        }
        let waits = |case: usize| self.session.plan.cases[case].declared.waits_for_disk();
        let is_first = |case: &usize| self.rounds[*case] < FIRST_PASS && !waits(*case);
        let first: Vec<usize> = open.iter().copied().filter(is_first).collect();
        let rest_s = |case: &usize| f64::from(FIRST_PASS - self.rounds[*case]) * self.round_s[*case];
        let quick = first.iter().filter(|case| self.is_quick(**case));
        let rest_s = quick.map(rest_s).sum::<f64>() * self.estimate_pace(now_ns);
        let has_time = |left_s: f64| !self.is_late(now_ns) || rest_s <= left_s;
        let is_on = rest_s > 0.0 && self.left_s(now_ns).is_some_and(has_time);
        (if is_on { first } else { open }, is_on)
    }

    /// Tells whether a case has too few rounds for the price of a bill, in an environment that may rest in some.
    fn lacks_price(&self, case: usize) -> bool {
        let every = (0..self.targets.len()).map(|target| self.open.round_spacing(target)).max().unwrap_or(1);
        !self.session.plan.demands.is_empty() && self.rounds[case] < ROUNDS_OF_A_PRICE as u32 * every
    }

    /// Tells whether half of the time is over.
    fn is_late(&self, now_ns: u64) -> bool {
        self.until_ns.is_some_and(|until_ns| now_ns >= until_ns / 2)
    }

    /// Tells whether a case takes no longer than some times all that are quicker, so that these can wait for it.
    fn is_quick(&self, case: usize) -> bool {
        let round_s = self.round_s[case];
        let quicker_s: f64 = self.round_s.iter().filter(|other_s| **other_s < round_s).sum();
        quicker_s == 0.0 || round_s <= MOST_QUICK * quicker_s
    }

    /// Tells whether every case has had its first pass, and each open cell needs more time than the session has taken.
    pub fn is_far_from_decided(&self, now_ns: u64) -> bool {
        let needed_s = |(cell, needed): (CellIndex, Option<u32>)| match needed {
            // Nothing is known of it yet.
            _ if self.rounds[cell.case] < FIRST_PASS => Some(0.0),
            needed => Some(self.estimate_case_s(cell.case, needed?)? * self.estimate_pace(now_ns)),
        };
        let open = self.open.list_open(&self.session.plan);
        let is_far = |rest_s: f64| rest_s > now_ns as f64 / 1e9;
        !open.is_empty() && open.into_iter().filter_map(needed_s).all(is_far)
    }

    /// Lists the open cases that the start of a subject has not had yet, where that start is one of those that a verdict needs.
    fn list_unseen(&self, open: &[usize]) -> Vec<usize> {
        let is_needed = |target: &usize| {
            let is_there = self.session.plan.targets.role(*target) == Role::Subject
                && self.pilot.started[*target].is_ok();
            self.until_ns.is_some() && is_there && self.targets[*target].start.made <= FEWEST_STARTS as u32
        };
        let needed: Vec<usize> = (0..self.targets.len()).filter(is_needed).collect();
        let is_unseen = |case: usize| {
            needed.iter().copied().any(|target| {
                !self.targets[target].cases.contains(&case)
                    && self.open.is_open_in(&self.session.plan, CellIndex { case, target })
            })
        };
        open.iter().copied().filter(|case| is_unseen(*case)).collect()
    }

    /// Finds the case with the cell that is decided soonest, of those that the time left would decide: before half of the time is over,
    /// an equal part of it, and after the first pass.
    fn find_soonest(&self, open: &[usize], now_ns: u64) -> Option<usize> {
        let left_s = self.left_s(now_ns)?;
        let is_late = self.is_late(now_ns);
        let most_s = if is_late { left_s } else { left_s / open.len() as f64 };
        let is_ready = |case: usize| is_late || self.rounds[case] >= FIRST_PASS;
        let rest_s = |(cell, needed): (CellIndex, Option<u32>)| {
            let rest_s = self.estimate_case_s(cell.case, needed?)?;
            // A cell that needed more again and again is not as near as it seems.
            Some((rest_s * f64::from(self.open.count_disappointments(cell)).exp2(), cell.case))
        };
        let cells = self.open.list_open(&self.session.plan).into_iter();
        let ready = cells.filter(|(cell, _)| open.contains(&cell.case) && is_ready(cell.case));
        let reached = ready.filter_map(rest_s).filter(|(rest_s, _)| *rest_s <= most_s);
        reached.min_by(|a, b| a.0.total_cmp(&b.0)).map(|(_, case)| case)
    }

    /// Estimates the time of the session for each second of its trials, with starts, pauses and whatever is watched, as seen so far.
    pub fn estimate_pace(&self, now_ns: u64) -> f64 {
        let (began_ns, before) = &self.began;
        let cases = self.rounds.iter().zip(before).zip(&self.round_s);
        let trials_s: f64 =
            cases.map(|((rounds, before), round_s)| f64::from(rounds - before) * round_s).sum();
        let spent_s = now_ns.saturating_sub(*began_ns) as f64 / 1e9;
        if trials_s < LEAST_SEEN_S { USUAL_PACE } else { (spent_s / trials_s).clamp(1.0, MOST_PACE) }
    }

    /// Estimates the time up to the look of a case that has this many rounds behind it, in seconds; none where no such look is planned.
    fn estimate_case_s(&self, case: usize, needed: u32) -> Option<f64> {
        let rounds = self.rounds[case];
        let look = self.session.plan.looks.iter().find(|look| **look >= needed && **look > rounds)?;
        Some(f64::from(look - rounds) * self.round_s[case])
    }

    /// Tells whether a case has a cell that is open, and rounds left.
    pub fn has_rounds(&self, case: usize) -> bool {
        let (plan, rounds) = (&self.session.plan, self.rounds[case]);
        rounds < plan.rounds && self.open.is_case_open(plan, case, rounds)
    }

    /// Lists the watched cells that are due, those that have waited longest first.
    pub fn list_due(&self, now_ns: u64) -> Vec<CellIndex> {
        let plan = &self.session.plan;
        let watched = self.open.list_watched(plan);
        let all_s: f64 = watched.iter().map(|cell| self.estimate_pair_s(*cell)).sum();
        let interval_ns = (LEAST_INTERVAL_S.max(all_s / MOST_SHARE) * 1e9) as u64;
        let seen_ns = |cell: &CellIndex| self.watched_ns.get(cell).copied().unwrap_or(0);
        let is_due = |cell: &CellIndex| {
            self.rounds[cell.case] < plan.rounds && now_ns.saturating_sub(seen_ns(cell)) >= interval_ns
        };
        let mut due: Vec<CellIndex> = watched.into_iter().filter(is_due).collect();
        due.sort_by_key(seen_ns);
        due
    }

    /// Keeps the time at which watched cells had their trials, and looks if their directions are still there.
    pub fn look_at_watched(&mut self, case: usize, due: &[CellIndex], now_ns: u64) {
        let mut of_case = due.iter().filter(|cell| cell.case == case).peekable();
        if of_case.peek().is_some() {
            self.watched_ns.extend(of_case.map(|cell| (*cell, now_ns)));
            self.open.look_at_watched(&self.session, case, self.rounds[case]);
        }
    }

    /// Estimates the time of a trial of a cell and one of the baseline, in seconds.
    fn estimate_pair_s(&self, cell: CellIndex) -> f64 {
        let is_baseline = |target: &usize| self.session.plan.targets.role(*target) == Role::Baseline;
        let baseline = (0..self.targets.len()).find(is_baseline);
        let sides = [Some(cell.target), baseline].into_iter().flatten();
        let cost_ns = |target| self.pilot.cost_ns.get(&CellIndex { target, ..cell }).copied().unwrap_or(0.0);
        sides.map(cost_ns).sum::<f64>() / 1e9
    }

    /// Tells whether the current start of an environment has had a trial of every case of the pass that is open there.
    pub fn has_had_all(&self, target: usize, now_ns: u64) -> bool {
        let is_open =
            |case: &usize| self.open.is_open_in(&self.session.plan, CellIndex { case: *case, target });
        let pass = self.list_pass(now_ns).0.into_iter();
        pass.filter(is_open).all(|case| self.targets[target].cases.contains(&case))
    }

    /// Takes the looks of a resumed session again, which decided what it left.
    pub fn look_again(&mut self, now_ns: u64) {
        for case in 0..self.rounds.len() {
            let (looks, rounds) = (self.session.plan.looks.clone(), self.rounds[case]);
            for look in looks.into_iter().take_while(|look| *look <= rounds) {
                self.take_look(case, look, false, now_ns);
            }
        }
    }

    /// Takes an interim look at a case after this many rounds, if one is planned there.
    pub fn take_look(&mut self, case: usize, rounds: u32, gives_up: bool, now_ns: u64) {
        let left_s = self.left_s(now_ns);
        let Course { open, session, pilot, targets, .. } = self;
        let reachable = |cell: CellIndex| match (session.plan.until_decided, left_s) {
            // A cell that five times as many rounds would most likely not decide is left undecided.
            (true, _) => (rounds >= FEWEST_UNTIL_DECIDED).then(|| rounds.saturating_mul(5)),
            // A resumed session has new time, which may decide cells that it gave up before.
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
    let targets = (0..plan.targets.len()).filter(|target| plan.targets.role(*target) != Role::Control);
    let cost = |target| pilot.cost_ns.get(&CellIndex { case, target }).copied().unwrap_or(0.0);
    let all: f64 = targets.map(|target| cost(target) / f64::from(plan.round_interval(target))).sum();
    (all / 1e9).max(LEAST_ROUND_S)
}

/// Computes the mean time of the rounds of a case before this one, in seconds. Both sides of a pair take the same time.
pub fn measured_round_s(session: &Session, case: usize, rounds: u32) -> f64 {
    let id = &session.plan.cases[case].id;
    let of_case = session.trials.iter().filter(|trial| trial.case == *id && trial.round < rounds);
    let share = |trial: &Trial| if trial.partner.is_some() { 0.5 } else { 1.0 };
    let all_ns: f64 = of_case.map(|trial| trial.host_elapsed_ns as f64 * share(trial)).sum();
    (all_ns / 1e9 / f64::from(rounds.max(1))).max(LEAST_ROUND_S)
}

/// Describes the environments as a session finds them, with their starts before it was resumed.
fn states(session: &Session, pilot: &Pilot) -> Vec<TargetState> {
    let next = session.trials.iter().map(|trial| trial.start + 1).max().unwrap_or(0);
    let state = |target: &Side, started| {
        let of_target = session.trials.iter().filter(|trial| trial.target == target.name);
        let before: BTreeSet<u32> = of_target.map(|trial| trial.start).collect();
        let start = Start { made: before.len() as u32 + 1, s: start_s(started) };
        TargetState { number: next, start, ..Default::default() }
    };
    session.plan.targets.iter().zip(&pilot.started).map(|(target, started)| state(target, started)).collect()
}

/// Tells whether a trial failed, and not for its partner.
pub fn is_own_failure(trial: &Trial) -> bool {
    trial.failure.as_ref().is_some_and(Failure::is_own)
}
