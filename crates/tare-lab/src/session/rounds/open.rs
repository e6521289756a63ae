//! Open cells: which environments a round measures a case in, and what a look changes about that.

use std::collections::{BTreeMap, BTreeSet};

use tare_analysis::verdicts::stopping::rounds_before_look;
use tare_analysis::{Look, Options, Progress};
use tare_data::session::{MOST_REST, Plan, Planted, Role, Session};

use crate::session::plan::prepare::CellIndex;

/// Rounds of the first pass: "same" takes as many. Quick cases have them before any has more, and until then a case's rounds lie between
/// those of the others, so that states of the machine are seen. In the second half of the time all may be finished at once.
pub const FIRST_PASS: u32 = rounds_before_look(2);
/// Share of the rounds that a cell seemed to need from which on it needs many more.
const MANY_MORE: f64 = 1.25;

/// Estimates the rounds that a cell could still get if it alone had the time that is left.
pub fn rounds_alone(
    plan: &Plan,
    cost_ns: &BTreeMap<CellIndex, f64>,
    start_s: impl Fn(usize) -> f64,
    cell: CellIndex,
    left_s: f64,
) -> u32 {
    let pair =
        (0..plan.targets.len()).filter(|target| is(plan, *target, Role::Baseline) || *target == cell.target);
    let (mut round_s, mut starts_s) = (0.0, 0.0);
    for target in pair {
        round_s += cost_ns.get(&CellIndex { target, ..cell }).copied().unwrap_or(0.0) / 1e9;
        starts_s += start_s(target);
    }
    let round_s = f64::max(round_s, 1e-3);
    (left_s / (round_s + starts_s.min(round_s))) as u32
}

/// Decisions of a session's looks so far.
#[derive(Debug, Default)]
pub struct Open {
    decided: BTreeSet<CellIndex>,
    /// Decided cells whose answer another state of their environment may take back. They go on now and then, as long as anything is
    /// open there.
    watched: BTreeSet<CellIndex>,
    /// Cells that the time left does not decide. They wait until only such cells are open.
    hopeless: BTreeSet<CellIndex>,
    /// Subjects that are entered and not measured until the others are decided.
    resting: BTreeSet<usize>,
    /// Rounds in all that an open cell seems to need, as of its last look; none where no number would do.
    needed: BTreeMap<CellIndex, Option<u32>>,
    /// Looks at which a cell needed many more rounds than it had seemed to.
    disappointments: BTreeMap<CellIndex, u32>,
    /// Cases whose control showed a difference: it stays in every round.
    suspected: BTreeSet<usize>,
    /// True when only hopeless cells are open.
    only_hopeless: bool,
    /// In one round of how many each environment takes part, where the plan has some rest.
    every: Vec<u32>,
}

impl Open {
    /// Opens everything that a plan measures.
    pub fn from_plan(plan: &Plan) -> Self {
        let open = Open::default();
        Open { every: open.spacing(plan), ..open }
    }

    /// Returns the spacing of an environment: it takes part in one round of this many.
    pub fn round_spacing(&self, target: usize) -> u32 {
        self.every.get(target).copied().unwrap_or(1)
    }

    /// Widens the spacing by plan by the root of the share of cells that an environment still has open: so
    /// the sum of the variances of all that is open stays the least. The environment that would rest the
    /// least is in every round.
    fn spacing(&self, plan: &Plan) -> Vec<u32> {
        if plan.every.is_empty() {
            return Vec::new();
        }
        let cells = subject_cells(plan);
        let of = |target: usize| {
            let cells = cells.iter().filter(move |cell| cell.target == target);
            let open = cells.clone().filter(|cell| self.is_open(**cell)).count();
            (open > 0)
                .then(|| f64::from(plan.round_interval(target)) * (cells.count() as f64 / open as f64).sqrt())
        };
        let spacing: Vec<Option<f64>> = (0..plan.targets.len()).map(of).collect();
        let least = spacing.iter().flatten().copied().fold(f64::INFINITY, f64::min);
        let every =
            |wide: &Option<f64>| wide.map_or(1, |wide| (wide / least).min(f64::from(MOST_REST)) as u32);
        spacing.iter().map(every).collect()
    }

    /// Lists the environments that have a trial of a case in a round, ascending; those of cells that are `due` as well, which are
    /// watched.
    pub fn list_targets(&self, plan: &Plan, case: usize, round: u32, due: &[CellIndex]) -> Vec<usize> {
        let has_control = plan.has_control(round) || self.suspected.contains(&case);
        let all = usable(plan, case);
        let subjects: Vec<usize> =
            all.iter().copied().filter(|target| is(plan, *target, Role::Subject)).collect();
        let is_alone = subjects.is_empty();
        let is_open = |target: &usize| {
            self.is_open(CellIndex { case, target: *target })
                && round.is_multiple_of(self.round_spacing(*target))
        };
        let open: Vec<usize> = subjects.into_iter().filter(is_open).collect();
        let planted = all.iter().copied().find(|target| is(plan, *target, Role::Planted));
        let planted = planted.filter(|target| self.is_planted_due(plan, case, *target, round));
        let is_due = |target: usize| due.contains(&CellIndex { case, target });
        if open.is_empty() && planted.is_none() && !is_alone && !all.iter().any(|target| is_due(*target)) {
            return Vec::new();
        }
        let takes_part = |target: &usize| match plan.targets.role(*target) {
            Role::Baseline => true,
            Role::Subject => open.contains(target) || is_due(*target),
            Role::Planted => planted.is_some(),
            Role::Control if is_alone => true,
            Role::Control if open.is_empty() => false,
            Role::Control => {
                let of = plan.targets.partner_of(*target);
                has_control && of.is_none_or(|of| open.contains(&of) || is(plan, of, Role::Baseline))
            }
        };
        all.into_iter().filter(takes_part).collect()
    }

    /// Ends the rounds of a cell for which no more could tell anything.
    pub fn close(&mut self, cell: CellIndex) {
        self.decided.insert(cell);
        self.watched.remove(&cell);
    }

    /// Tells whether a planted cost is still to be found, after the first pass where there is more than one look.
    fn is_sought(&self, plan: &Plan, case: usize, target: usize, round: u32) -> bool {
        let from = if plan.looks.len() > 1 { FIRST_PASS } else { 0 };
        let has_rounds = |planted: &Planted| round < from.saturating_add(planted.rounds);
        let is_planned = plan.planted.as_ref().is_some_and(has_rounds);
        is_planned && !self.decided.contains(&CellIndex { case, target })
    }

    /// Tells whether a planted cost takes part in a round.
    fn is_planted_due(&self, plan: &Plan, case: usize, target: usize, round: u32) -> bool {
        let is_due = plan.looks.len() == 1 || round >= FIRST_PASS;
        is_due && self.is_sought(plan, case, target, round)
    }

    /// Tells whether only cells are open that cannot be decided, in a session that ends then.
    pub fn is_over(&self, plan: &Plan) -> bool {
        plan.until_decided && self.only_hopeless
    }

    /// Tells whether a case has rounds left: a cell that is open, or none that could be.
    pub fn is_case_open(&self, plan: &Plan, case: usize, round: u32) -> bool {
        let all = usable(plan, case);
        let mut subjects = all.iter().filter(|target| is(plan, **target, Role::Subject)).peekable();
        if subjects.peek().is_none() {
            return !all.is_empty();
        }
        let mut planted = all.iter().filter(|target| is(plan, **target, Role::Planted));
        planted.any(|target| self.is_sought(plan, case, *target, round))
            || subjects.any(|target| self.is_open(CellIndex { case, target: *target }))
    }

    /// Tells whether an environment, or a pair of it, still takes part in any case.
    pub fn is_target_open(&self, plan: &Plan, target: usize) -> bool {
        (0..plan.cases.len()).any(|case| self.is_open_in(plan, CellIndex { case, target }))
    }

    /// Tells whether a case has something to measure in an environment: always in the baseline and its control.
    pub fn is_open_in(&self, plan: &Plan, cell: CellIndex) -> bool {
        match plan.targets.role(cell.target) {
            Role::Baseline | Role::Control => true,
            Role::Subject | Role::Planted => {
                self.is_open(cell) && usable(plan, cell.case).contains(&cell.target)
            }
        }
    }

    /// Lists the cells that are watched, in environments that have anything open.
    pub fn list_watched(&self, plan: &Plan) -> Vec<CellIndex> {
        self.watched.iter().copied().filter(|cell| self.is_target_open(plan, cell.target)).collect()
    }

    /// Counts the cells of subjects that are decided, and all that can get a verdict.
    pub fn count_decided(&self, plan: &Plan) -> (usize, usize) {
        let all = subject_cells(plan);
        (all.iter().filter(|cell| self.decided.contains(cell)).count(), all.len())
    }

    /// Lists the cells of subjects that are still measured, each with the rounds in all that it seems to need: before the first look
    /// those of the third, which "same" takes at least; none where no number would do.
    pub fn list_open(&self, plan: &Plan) -> Vec<(CellIndex, Option<u32>)> {
        let needed = |cell: &CellIndex| self.needed.get(cell).copied().unwrap_or(Some(rounds_before_look(2)));
        let open = subject_cells(plan).into_iter().filter(|cell| self.is_open(*cell));
        open.map(|cell| (cell, needed(&cell))).collect()
    }

    /// Counts the looks at which a cell needed many more rounds than it had seemed to.
    pub fn count_disappointments(&self, cell: CellIndex) -> u32 {
        self.disappointments.get(&cell).copied().unwrap_or(0)
    }

    /// Has these subjects wait, and no others.
    pub fn rest(&mut self, plan: &Plan, targets: BTreeSet<usize>) {
        if self.resting != targets {
            self.resting = targets;
            self.every = self.spacing(plan);
        }
    }

    /// Lists the subjects that wait.
    pub fn list_resting(&self) -> &BTreeSet<usize> {
        &self.resting
    }

    /// Tells whether a subject is still measured. Hopeless cells wait as long as any other is open.
    fn is_open(&self, cell: CellIndex) -> bool {
        let rests = self.resting.contains(&cell.target);
        !rests && !self.decided.contains(&cell) && (self.only_hopeless || !self.hopeless.contains(&cell))
    }

    /// Takes an interim look at a case after this many rounds of it, if one is planned there. `reachable` says how many rounds a cell
    /// could run in all if it alone had the time that is left; none where nothing but decisions ends the session.
    pub fn take_look(
        &mut self,
        session: &Session,
        case: usize,
        rounds: u32,
        reachable: impl Fn(CellIndex) -> Option<u32>,
    ) {
        let plan = &session.plan;
        if !plan.looks.contains(&rounds) || rounds == plan.rounds {
            return;
        }
        let usable = usable(plan, case);
        let is_done = |target: &usize| {
            let cell = CellIndex { case, target: *target };
            self.decided.contains(&cell) && !self.watched.contains(&cell)
        };
        let is_judged = |target: &usize| matches!(plan.targets.role(*target), Role::Subject | Role::Planted);
        if usable.iter().all(|target| !is_judged(target) || is_done(target)) {
            return;
        }
        let options = Options::default();
        let Some(look) = Look::take(Progress::from_session(session), &plan.cases[case].id, rounds, &options)
        else {
            return;
        };
        let cells = |which: Vec<bool>| {
            usable
                .iter()
                .filter(move |target| which[**target])
                .map(move |target| CellIndex { case, target: *target })
        };
        self.take_back(&look, case);
        self.decided.extend(cells(look.find_finished()));
        let is_subject = |cell: &CellIndex| is(plan, cell.target, Role::Subject);
        let possible = cells(look.find_possible_states()).filter(is_subject);
        self.watched.extend(possible.filter(|cell| self.decided.contains(cell)));
        self.hopeless.extend(cells(look.find_beyond_reach(|target| reachable(CellIndex { case, target }))));
        for (target, needed) in look.estimate_needed_rounds().into_iter().enumerate() {
            let cell = CellIndex { case, target };
            if let Some(Some(before)) = self.needed.insert(cell, needed)
                && needed.is_none_or(|needed| f64::from(needed) > MANY_MORE * f64::from(before))
            {
                *self.disappointments.entry(cell).or_default() += 1;
            }
        }
        if look.control_differs() {
            self.suspected.insert(case);
        }
        self.weigh(plan);
    }

    /// Takes another look at the watched cells of a case, after any number of rounds: one whose answer is gone is open again.
    pub fn look_at_watched(&mut self, session: &Session, case: usize, rounds: u32) {
        let options = Options::default();
        let id = &session.plan.cases[case].id;
        if let Some(look) = Look::take_between(Progress::from_session(session), id, rounds, &options) {
            self.take_back(&look, case);
            self.weigh(&session.plan);
        }
    }

    /// Opens the watched cells of a case that a look finds undecided, and ends the watch over those that are beyond any state.
    fn take_back(&mut self, look: &Look<'_>, case: usize) {
        let (finished, may_be_states) = (look.find_finished(), look.find_possible_states());
        let (kept, gone): (BTreeSet<_>, BTreeSet<_>) =
            self.watched.iter().copied().partition(|cell| cell.case != case || finished[cell.target]);
        self.decided.retain(|cell| !gone.contains(cell));
        self.watched =
            kept.into_iter().filter(|cell| cell.case != case || may_be_states[cell.target]).collect();
    }

    /// Follows from what is decided and hopeless which environments rest, and if anything is left that may be decided.
    fn weigh(&mut self, plan: &Plan) {
        let mut open = subject_cells(plan).into_iter().filter(|cell| !self.decided.contains(cell));
        self.only_hopeless = open.all(|cell| self.hopeless.contains(&cell));
        self.every = self.spacing(plan);
    }
}

fn is(plan: &Plan, target: usize, role: Role) -> bool {
    plan.targets.role(target) == role
}

/// Lists the environments in which a case can be measured at all.
fn usable(plan: &Plan, case: usize) -> Vec<usize> {
    let missing = &plan.cases[case].missing;
    let is_there = |target: &usize| !missing.contains_key(&plan.targets[*target].name);
    (0..plan.targets.len()).filter(|target| is_there(target) && plan.is_measured(case, *target)).collect()
}

/// Lists the cells that can get a verdict.
fn subject_cells(plan: &Plan) -> Vec<CellIndex> {
    let of_case = |case: usize| {
        let subjects = usable(plan, case).into_iter().filter(|target| is(plan, *target, Role::Subject));
        subjects.map(move |target| CellIndex { case, target })
    };
    (0..plan.cases.len()).flat_map(of_case).collect()
}

#[cfg(test)]
mod tests {
    use tare_specimen::{make_plan, make_sides, make_timed_case};

    use super::*;

    fn plan() -> Plan {
        let targets = [("native", Role::Baseline), ("a", Role::Subject), ("b", Role::Subject)];
        let every = [("b".to_owned(), 3)].into();
        Plan { every, ..make_plan(make_sides(targets), vec![make_timed_case("null")], vec![12, 100]) }
    }

    #[test]
    fn what_is_hopeless_waits_as_long_as_anything_else_is_open() {
        let (plan, [a, b]) = (plan(), [1, 2].map(|target| CellIndex { case: 0, target }));
        let mut open = Open { hopeless: [a].into(), ..Open::default() };
        open.every = open.spacing(&plan);
        assert_eq!(
            open.list_targets(&plan, 0, 29, &[]),
            [0, 2],
            "a waits for b, which then is in every round"
        );
        open.decided.insert(b);
        open.only_hopeless = true;
        assert_eq!(open.list_targets(&plan, 0, 31, &[]), [0, 1], "b is decided");
        open.decided.insert(a);
        assert!(!open.is_case_open(&plan, 0, 32), "nothing is open");
    }

    #[test]
    fn what_is_slow_to_measure_rests_while_quicker_ones_are_open() {
        let plan = plan();
        let mut open = Open::from_plan(&plan);
        assert_eq!([30, 31, 32, 33].map(|round| open.list_targets(&plan, 0, round, &[]).len()), [3, 2, 2, 3]);
        open.decided.insert(CellIndex { case: 0, target: 1 });
        assert!(open.list_targets(&plan, 0, 31, &[]).is_empty(), "until the next look the case rests");
        open.every = open.spacing(&plan);
        assert_eq!(open.list_targets(&plan, 0, 31, &[]), [0, 2]);
    }

    #[test]
    fn what_has_few_open_cells_left_rests_longer() {
        let mut plan = plan();
        plan.cases = vec![plan.cases[0].clone(); 4];
        let mut open = Open::from_plan(&plan);
        open.decided.extend((1..4).map(|case| CellIndex { case, target: 2 }));
        assert_eq!(open.spacing(&plan), [1, 1, 6]);
        open.decided.extend((1..4).map(|case| CellIndex { case, target: 1 }));
        assert_eq!(open.spacing(&plan), [1, 1, 3]);
    }
}
