//! The answer of a gate in words.

use tare_analysis::findings::{Cell, Findings};
use tare_analysis::gate::{Answer, Judged, Outcome};

use crate::number::{counted, ratio, ratio_interval};
use crate::text::clean;
use crate::words;

/// One line: whether the gate is shut, by how many cells, and how many could not be decided or compared.
pub fn line(outcome: &Outcome) -> String {
    let all = counted(outcome.cells.len(), "cell", "cells");
    let count = |answer| outcome.count(answer);
    let head = match count(Answer::Trips) {
        0 if outcome.is_shut() => return format!("gate shut: none of {all} could be compared"),
        0 => format!("gate open: none of {all} trips it"),
        tripped => {
            format!("gate shut: {tripped} of {all} {}", if tripped == 1 { "trips it" } else { "trip it" })
        }
    };
    let missing = match count(Answer::Missing) {
        0 => String::new(),
        some => format!("{some} could not be compared, "),
    };
    let undecided = match count(Answer::Undecided) {
        0 => "all others are decided".to_owned(),
        some => format!("{some} could not be decided"),
    };
    format!("{head}; {missing}{undecided}")
}

/// Tripped cells beyond this many are counted, not listed.
const MOST_LISTED: usize = 20;

/// A line for each cell that trips the gate: where, what, how much, by which condition.
pub fn tripped(findings: &Findings, outcome: &Outcome) -> Vec<String> {
    let cells = || outcome.cells.iter().filter(|cell| cell.answer == Answer::Trips);
    let line = |judged: &Judged| {
        let row = findings.rows.get(judged.row)?;
        let said = match row.cells.get(judged.target)? {
            Cell::Compared(c) => {
                format!("{} {}", ratio(c.ratio), ratio_interval(c.low, c.high, c.ratio))
            }
            Cell::Observed(_) => "observed".into(),
            Cell::Missing(missing) => words::missing(missing).0.into(),
        };
        let target = clean(findings.subjects.get(judged.target)?);
        Some(format!("{target}: {} {said} ({})", clean(&row.label), judged.condition))
    };
    let mut lines: Vec<String> = cells().filter_map(line).take(MOST_LISTED).collect();
    let more = cells().count().saturating_sub(MOST_LISTED);
    lines.extend((more > 0).then(|| format!("and {more} more")));
    lines
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_cannot_be_told_is_never_passed_over() {
        let cell = |answer| Judged { row: 0, target: 0, answer, condition: "slower".into() };
        let of = |answers: &[Answer]| {
            line(&Outcome { cells: answers.iter().map(|a| cell(*a)).collect(), idle: vec![] })
        };
        use Answer::*;
        assert_eq!(of(&[Passes, Passes]), "gate open: none of 2 cells trips it; all others are decided");
        assert_eq!(
            of(&[Passes, Undecided, Undecided, Missing]),
            "gate open: none of 4 cells trips it; 1 could not be compared, 2 could not be decided"
        );
        assert_eq!(of(&[Trips, Undecided]), "gate shut: 1 of 2 cells trips it; 1 could not be decided");
        assert_eq!(of(&[Missing, Missing]), "gate shut: none of 2 cells could be compared");
    }
}
