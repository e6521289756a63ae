//! Progress of the rounds: what is open, and when it will be known.

use std::collections::BTreeMap;

use crate::asked::progress::Standing;
use crate::session::plan::prepare::CellIndex;
use crate::session::rounds::course::Course;

/// Open cells that progress names, where there are no more.
const MOST_NAMED: usize = 3;

impl Course {
    /// Describes how far the session is, before a trial.
    pub fn describe_standing(&self, cell: CellIndex, round: u32, now_ns: u64) -> Standing<'_> {
        let plan = &self.session.plan;
        let elapsed_s = now_ns as f64 / 1e9;
        // The number of rounds is a promise only where it was fixed; else it lies beyond what time allows.
        let fixed = Some(plan.rounds).filter(|_| plan.budget_s.is_none() && plan.looks.len() == 1);
        let by_rounds_s = |rounds: u32| elapsed_s * f64::from(rounds - round) / f64::from(round + 1);
        let left_s = self.left_s(now_ns).or_else(|| fixed.map(by_rounds_s));
        let (decided, cells) = self.open.count_decided(plan);
        let open = self.open.list_open(plan);
        let is_known = fixed.is_none() && decided + open.len() == cells;
        let decided_in_s = is_known.then(|| self.estimate_rest_s(&open, now_ns)).flatten();
        let decided_in_s = decided_in_s.filter(|rest_s| left_s.is_none_or(|left_s| *rest_s < left_s));
        let few = if open.len() > MOST_NAMED { &[] } else { open.as_slice() };
        let name = |cell: &CellIndex| {
            (plan.cases[cell.case].label.as_str(), plan.targets[cell.target].name.as_str())
        };
        Standing {
            case: &plan.cases[cell.case].label,
            target: &plan.targets[cell.target].name,
            round: round + 1,
            rounds: fixed,
            decided,
            cells,
            open: few.iter().map(|(cell, _)| name(cell)).collect(),
            decided_in_s,
            failures: self.failures,
            repeated: self.session.repeated.len() as u32,
            elapsed_s,
            left_s,
        }
    }

    /// Estimates the time of the rounds that open cells still need, in seconds: those of a case have the same ones. None where no
    /// number of rounds would do.
    pub fn estimate_rest_s(&self, open: &[(CellIndex, Option<u32>)], now_ns: u64) -> Option<f64> {
        let mut rest: BTreeMap<usize, u32> = BTreeMap::new();
        for (cell, needed) in open {
            let more = (*needed)?.saturating_sub(self.rounds[cell.case]).max(1);
            rest.entry(cell.case).and_modify(|rest| *rest = more.max(*rest)).or_insert(more);
        }
        let trials_s: f64 =
            rest.into_iter().map(|(case, rounds)| f64::from(rounds) * self.round_s[case]).sum();
        Some(trials_s * self.estimate_pace(now_ns))
    }
}
