//! What the conditions of `--fail-if` found, in words.

use tare_analysis::findings::Findings;
use tare_analysis::gate::{Answer, Judged, Outcome};

use crate::number::counted;
use crate::text::clean;
use crate::words;

/// Cells beyond this many are counted, not listed.
const MOST_LISTED: usize = 20;

/// One line: whether a condition is met, in how many cells, and how many could not be decided or compared.
pub fn sentence(outcome: &Outcome) -> String {
    let all = counted(outcome.cells.len(), "cell", "cells");
    let head = match outcome.count(Answer::Trips) {
        0 if outcome.is_shut() => return format!("condition not checked: none of {all} could be compared"),
        0 => format!("condition not met in any of {all}"),
        met => format!("condition met: in {met} of {all}"),
    };
    let missing = match outcome.count(Answer::Missing) {
        0 => String::new(),
        some => format!("{some} could not be compared, "),
    };
    let undecided = match outcome.count(Answer::Undecided) {
        0 => "all others are decided".to_owned(),
        some => format!("{some} could not be decided"),
    };
    format!("{head}; {missing}{undecided}")
}

/// A line for each cell that meets a condition: where, what, how much, which condition.
pub fn met(findings: &Findings, outcome: &Outcome) -> Vec<String> {
    listed(outcome, |judged| {
        let row = findings.rows.get(judged.row)?;
        let finding = clean(&words::cell(row.cells.get(judged.target)?));
        let target = clean(findings.subjects.get(judged.target)?);
        Some(format!("{target}: {} {finding} ({})", clean(&row.label), judged.condition))
    })
}

/// The lines of the cells that meet a condition, as many as are listed, and how many more there are.
pub(crate) fn listed(outcome: &Outcome, line: impl Fn(&Judged) -> Option<String>) -> Vec<String> {
    let cells = || outcome.cells.iter().filter(|cell| cell.answer == Answer::Trips);
    let mut lines: Vec<String> = cells().take(MOST_LISTED).filter_map(line).collect();
    let more = cells().count().saturating_sub(MOST_LISTED);
    lines.extend((more > 0).then(|| format!("and {more} more")));
    lines
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_cannot_be_decided_is_never_passed_over() {
        let cell = |answer| Judged { row: 0, target: 0, answer, condition: "slower".into() };
        let of = |answers: &[Answer]| {
            sentence(&Outcome { cells: answers.iter().map(|a| cell(*a)).collect(), idle: vec![] })
        };
        use Answer::*;
        assert_eq!(of(&[Passes, Passes]), "condition not met in any of 2 cells; all others are decided");
        assert_eq!(
            of(&[Passes, Undecided, Undecided, Missing]),
            "condition not met in any of 4 cells; 1 could not be compared, 2 could not be decided"
        );
        assert_eq!(of(&[Trips, Undecided]), "condition met: in 1 of 2 cells; 1 could not be decided");
        assert_eq!(of(&[Missing, Missing]), "condition not checked: none of 2 cells could be compared");
    }
}
