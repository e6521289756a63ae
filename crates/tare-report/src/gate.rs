//! Answers to the conditions of `--fail-if`, in words.

use tare_analysis::findings::Findings;
use tare_analysis::gate::{Judged, Outcome, Ruling};

use crate::language::{Language, say};
use crate::text::clean_text;
use crate::words;

/// Limit on listed cells; further ones are counted.
const MOST_LISTED: usize = 20;

/// States in one line whether a condition is met, in how many cells, and how many could not be decided or
/// compared.
pub fn describe_outcome(outcome: &Outcome, language: Language) -> String {
    let all = language.counted(outcome.cells.len(), "cell", "cells");
    let missing = outcome.count_cells(Ruling::Missing);
    let head = match outcome.count_cells(Ruling::Trips) {
        0 if missing > 0 && missing == outcome.cells.len() => {
            return say!(language, "condition not checked: none of {all} could be compared", all = all);
        }
        0 => say!(language, "condition not met in any of {all}", all = all),
        met => say!(language, "condition met: in {met} of {all}", met = met, all = all),
    };
    let missing = match missing {
        0 => String::new(),
        some => say!(language, "{some} could not be compared, ", some = some),
    };
    let undecided = match outcome.count_cells(Ruling::Undecided) {
        0 => language.word("all others are decided").to_owned(),
        some if outcome.allows_undecided => {
            say!(language, "{some} could not be decided, and --allow-undecided lets that pass", some = some)
        }
        some => say!(language, "{some} could not be decided", some = some),
    };
    say!(language, "{head}; {missing}{undecided}", head = head, missing = missing, undecided = undecided)
}

/// Lists each cell that meets a condition: place, size and condition.
pub fn list_met_cells(findings: &Findings, outcome: &Outcome, language: Language) -> Vec<String> {
    list_first_cells(outcome, language, |judged| {
        let row = findings.rows.get(judged.row)?;
        let finding = clean_text(&words::describe_cell(row.cells.get(judged.target)?, language));
        let target = clean_text(findings.subjects.get(judged.target)?);
        let label = words::translate_row_title(row, language);
        Some(format!("{target}: {label} {finding} ({})", judged.condition))
    })
}

/// Lists the first cells that meet a condition, and counts the rest.
pub(crate) fn list_first_cells(
    outcome: &Outcome,
    language: Language,
    line: impl Fn(&Judged) -> Option<String>,
) -> Vec<String> {
    let cells = || outcome.cells.iter().filter(|cell| cell.answer == Ruling::Trips);
    let mut lines: Vec<String> = cells().take(MOST_LISTED).filter_map(line).collect();
    let more = cells().count().saturating_sub(MOST_LISTED);
    lines.extend((more > 0).then(|| say!(language, "and {more} more", more = more)));
    lines
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_cannot_be_decided_is_never_passed_over() {
        let cell = |answer| Judged { row: 0, target: 0, answer, condition: "slower".into() };
        let said = |answers: &[Ruling], language| {
            let cells = answers.iter().map(|a| cell(*a)).collect();
            describe_outcome(&Outcome { cells, ..Outcome::default() }, language)
        };
        let of = |answers: &[Ruling]| said(answers, Language::English);
        use Ruling::*;
        assert_eq!(of(&[Passes, Passes]), "condition not met in any of 2 cells; all others are decided");
        assert_eq!(
            of(&[Passes, Undecided, Undecided, Missing]),
            "condition not met in any of 4 cells; 1 could not be compared, 2 could not be decided"
        );
        assert_eq!(of(&[Trips, Undecided]), "condition met: in 1 of 2 cells; 1 could not be decided");
        assert_eq!(
            said(&[Trips, Undecided, Missing], Language::Japanese),
            "条件成立: 3セルのうち1セル。比較できないもの1セル、判定できないもの1セル"
        );
        assert_eq!(of(&[Missing, Missing]), "condition not checked: none of 2 cells could be compared");
    }
}
