//! The watch over directions: one that is decided goes on now and then, because an environment may be in a state that lasts for
//! a while. Where it is gone the cell is open again.

use tare_data::session::Role;

use crate::session::plan::prepare::CellIndex;
use crate::session::rounds::Rounds;

/// Time from one trial of a watched cell to the next, at least: states that are shorter are seen before a direction is decided...
const LEAST_INTERVAL_S: f64 = 1.0;
/// ...and more where all of them would take more than this share of the time.
const MOST_SHARE: f64 = 0.1;

impl Rounds<'_> {
    /// Lists the watched cells that are due, those that have waited longest first.
    pub(super) fn list_due(&self) -> Vec<CellIndex> {
        let plan = &self.session.plan;
        let watched = self.open.list_watched(plan);
        let all_s: f64 = watched.iter().map(|cell| self.estimate_pair_s(*cell)).sum();
        let interval_ns = (LEAST_INTERVAL_S.max(all_s / MOST_SHARE) * 1e9) as u64;
        let now_ns = self.arena.now_ns();
        let seen_ns = |cell: &CellIndex| self.watched_ns.get(cell).copied().unwrap_or(0);
        let is_due = |cell: &CellIndex| {
            self.rounds[cell.case] < plan.rounds && now_ns.saturating_sub(seen_ns(cell)) >= interval_ns
        };
        let mut due: Vec<CellIndex> = watched.into_iter().filter(is_due).collect();
        due.sort_by_key(seen_ns);
        due
    }

    /// Keeps the time at which watched cells had their trials, and looks if their directions are still there.
    pub(super) fn look_at_watched(&mut self, case: usize, due: &[CellIndex]) {
        let now_ns = self.arena.now_ns();
        let mut of_case = due.iter().filter(|cell| cell.case == case).peekable();
        if of_case.peek().is_some() {
            self.watched_ns.extend(of_case.map(|cell| (*cell, now_ns)));
            self.open.look_at_watched(&self.session, case, self.rounds[case]);
        }
    }

    /// Estimates the time of a trial of a cell and one of the baseline, in seconds.
    fn estimate_pair_s(&self, cell: CellIndex) -> f64 {
        let is_baseline = |target: &usize| self.session.plan.targets[*target].role == Role::Baseline;
        let baseline = (0..self.targets.len()).find(is_baseline);
        let sides = [Some(cell.target), baseline].into_iter().flatten();
        let cost_ns = |target| self.pilot.cost_ns.get(&CellIndex { target, ..cell }).copied().unwrap_or(0.0);
        sides.map(cost_ns).sum::<f64>() / 1e9
    }
}
