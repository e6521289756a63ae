//! What the headline of a case shows while its session runs.

use std::collections::BTreeMap;

use crate::findings::{Cell, Comparison};
use crate::verdicts::rows::{Judge, Options, Progress};

/// The headline's comparisons of a case after `rounds` rounds, in the order of `plan.targets`; none where there is none. Not
/// corrected for other cells.
pub fn interim(
    progress: Progress<'_>,
    case: &str,
    rounds: u32,
    options: &Options,
) -> Vec<Option<Comparison>> {
    let planned = progress.plan.cases.iter().position(|planned| planned.id == case);
    let mut judge = Judge::new(progress, options, |trial| trial.case == case && trial.round < rounds);
    let row = planned.and_then(|planned| judge.rows(planned, 1, &BTreeMap::new()).pop());
    let cells = row.map(|row| row.targets).unwrap_or_default();
    let compared = |cell: Cell| match cell {
        Cell::Compared(comparison) => Some(*comparison),
        Cell::Observed(_) | Cell::Missing(_) => None,
    };
    cells.into_iter().map(|judged| judged.and_then(|judged| compared(judged.cell))).collect()
}
