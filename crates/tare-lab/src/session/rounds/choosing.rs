//! Choice of the case whose round is next.

use tare_analysis::order;
use tare_analysis::verdicts::stopping::FEWEST_STARTS;
use tare_analysis::verdicts::stopping::rounds_before_look;
use tare_data::session::Role;

use crate::session::plan::prepare::CellIndex;
use crate::session::rounds::Rounds;

/// Looks that a case has before it may be finished at once: "same" takes as many, and until then its rounds lie between those of
/// the others, so that states of the machine are seen. In the second half of the time all may be.
const LOOKS_BEFORE: usize = 2;

impl Rounds<'_> {
    /// Finds the case whose turn it is; none when nothing is open any more.
    ///
    /// Cases share the time by the roots of what their rounds take, by which the sum of the variances of all that is open is least:
    /// the next one is the one that is furthest behind its share. What they take is known by the plan, and better from their first
    /// round on. Without a limit of time all have a round before any has the next. A draw for each round shuffles those that are
    /// level.
    ///
    /// In the starts of an environment that a verdict needs, those cases go first that the start has not had: then it is left, and
    /// each case gets its starts in as little time as can be.
    ///
    /// Later a case that the time left would decide goes first, the soonest before others: so more is decided when time is up than by
    /// shares alone, which leave most of the time to what takes longest, and all a little short of their looks. Every case has looks
    /// by its own count, which do not depend on that.
    pub(in crate::session) fn next_case(&self) -> Option<usize> {
        let plan = &self.session.plan;
        if self.open.is_over(plan) {
            return None;
        }
        let open: Vec<usize> = (0..plan.cases.len()).filter(|case| self.has_rounds(*case)).collect();
        let due = |case: usize| {
            let drawn = order::draw_place(plan.seed, &plan.cases[case].id, self.rounds[case]);
            (f64::from(self.rounds[case]) + drawn) * self.until_ns.map_or(1.0, |_| self.round_s[case].sqrt())
        };
        if open.is_empty() {
            return None;
        }
        let watched = self.list_due().first().map(|cell| cell.case);
        let furthest = |cases: &[usize]| cases.iter().copied().min_by(|a, b| due(*a).total_cmp(&due(*b)));
        let unseen = || furthest(&self.list_unseen(&open));
        watched.or_else(unseen).or_else(|| self.find_soonest(&open)).or_else(|| furthest(&open))
    }

    /// Lists the open cases that the start of a subject has not had yet, where that start is one of those that a verdict needs.
    fn list_unseen(&self, open: &[usize]) -> Vec<usize> {
        let is_needed = |target: &usize| {
            let is_there = self.session.plan.targets[*target].role == Role::Subject
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
    /// an equal part of it.
    fn find_soonest(&self, open: &[usize]) -> Option<usize> {
        let left_s = self.left_s()?;
        let is_late = self.until_ns.is_some_and(|until_ns| self.arena.now_ns() >= until_ns / 2);
        let most_s = if is_late { left_s } else { left_s / open.len() as f64 };
        let is_ready = |case: usize| is_late || self.rounds[case] >= rounds_before_look(LOOKS_BEFORE);
        let rest_s = |(cell, needed): (CellIndex, Option<u32>)| {
            let rest_s = self.estimate_case_s(cell.case, needed?)?;
            // What needed more again and again is not as near as it seems.
            Some((rest_s * f64::from(self.open.count_disappointments(cell)).exp2(), cell.case))
        };
        let cells = self.open.list_open(&self.session.plan).into_iter();
        let ready = cells.filter(|(cell, _)| open.contains(&cell.case) && is_ready(cell.case));
        let reached = ready.filter_map(rest_s).filter(|(rest_s, _)| *rest_s <= most_s);
        reached.min_by(|a, b| a.0.total_cmp(&b.0)).map(|(_, case)| case)
    }

    /// Estimates the time up to the look of a case that has this many rounds behind it, in seconds; none where no such look is planned.
    fn estimate_case_s(&self, case: usize, needed: u32) -> Option<f64> {
        let rounds = self.rounds[case];
        let look = self.session.plan.looks.iter().find(|look| **look >= needed && **look > rounds)?;
        Some(f64::from(look - rounds) * self.round_s[case])
    }

    /// Tells whether a case has a cell that is open, and rounds left.
    pub(super) fn has_rounds(&self, case: usize) -> bool {
        let (plan, rounds) = (&self.session.plan, self.rounds[case]);
        rounds < plan.rounds && self.open.is_case_open(plan, case, rounds)
    }
}
