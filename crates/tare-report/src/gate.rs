//! Answers to the conditions of `--fail-if`, in words.

use tare_analysis::findings::{self, Findings};
use tare_analysis::gate::{Condition, Judged, Kind, Outcome, Ruling};

use crate::answers::outcomes::describe_outcome_of_cell;
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
            return say!(language, "condition not checked: none of {all} could be compared", all);
        }
        0 => say!(language, "condition not met in any of {all}", all),
        met => say!(language, "condition met: in {met} of {all}", met, all),
    };
    let missing = match missing {
        0 => String::new(),
        some => say!(language, "{some} could not be compared, ", some),
    };
    let undecided = match outcome.count_cells(Ruling::Undecided) {
        0 => language.word("all others are decided").to_owned(),
        some if outcome.allows_undecided => {
            say!(language, "{some} could not be decided, and --allow-undecided lets that pass", some)
        }
        some => say!(language, "{some} could not be decided", some),
    };
    say!(language, "{head}; {missing}{undecided}", head, missing, undecided)
}

/// Lists each cell that meets a condition, then each that is not decided: place, size and condition.
pub fn list_failing_cells(findings: &Findings, outcome: &Outcome, language: Language) -> Vec<String> {
    list_first_cells(outcome, language, |judged| {
        let row = findings.rows.get(judged.row)?;
        let (name, cell) = (findings.subjects.get(judged.target)?.as_str(), row.cells.get(judged.target)?);
        let told = describe_outcome_of_cell(findings, (row, name, cell), language);
        let finding = match Condition::of_one(&judged.condition).map(|condition| condition.kind) {
            Ok(Kind::Differs) if !told.is_empty() => language.join_sentences(&told),
            _ => clean_text(&words::describe_cell(cell, language)),
        };
        let is_bound = cell.answer().kind() == findings::Kind::AtMost;
        let label = words::translate_row_title(row, language);
        Some(format!(
            "{}: {label} {finding} ({})",
            clean_text(name),
            name_condition(judged, is_bound, language)
        ))
    })
}

/// Writes the condition of a cell, with the reason where it is not decided.
pub(crate) fn name_condition(judged: &Judged, is_bound: bool, language: Language) -> String {
    let condition = &judged.condition;
    match judged.answer {
        Ruling::Undecided if is_bound => {
            say!(language, "{condition}: not decided, slowdowns up to that bound are possible", condition)
        }
        Ruling::Undecided => say!(language, "{condition}: not decided", condition),
        Ruling::Trips | Ruling::Passes | Ruling::Missing => condition.clone(),
    }
}

/// Lists the first cells by which a gate fails, those that meet a condition before those that are undecided, and counts the rest.
pub(crate) fn list_first_cells(
    outcome: &Outcome,
    language: Language,
    line: impl Fn(&Judged) -> Option<String>,
) -> Vec<String> {
    let of = |ruling: Ruling| outcome.cells.iter().filter(move |cell| cell.answer == ruling);
    let cells = || of(Ruling::Trips).chain(of(Ruling::Undecided).filter(|_| !outcome.allows_undecided));
    let mut lines: Vec<String> = cells().take(MOST_LISTED).filter_map(line).collect();
    let more = cells().count().saturating_sub(MOST_LISTED);
    lines.extend((more > 0).then(|| say!(language, "and {more} more", more)));
    lines
}

#[cfg(test)]
mod tests {
    use tare_analysis::gate::{TargetNames, judge_findings};
    use tare_analysis::outcome::Word;

    use super::*;
    use crate::specimen;

    fn list(findings: &Findings, condition: &str) -> Vec<String> {
        let targets: Vec<TargetNames> =
            findings.subjects.iter().map(|name| TargetNames::of_column(name)).collect();
        let outcome = judge_findings(findings, &targets, &[condition.parse().unwrap()]);
        list_failing_cells(findings, &outcome, Language::English)
    }

    #[test]
    fn a_bound_that_leaves_a_gate_shut_says_why() {
        let lines = list(&specimen::make_findings(1), "slower:container:net.*");
        let [line] = &lines[..] else { panic!("{lines:?}") };
        assert!(line.starts_with("container: TCP round trip at most 4 % slower ("), "{line}");
        assert!(
            line.ends_with("(slower:container:net.*: not decided, slowdowns up to that bound are possible)"),
            "{line}"
        );
        assert_eq!(list(&specimen::make_findings(1), "slower:container:net.*>1.1"), [""; 0]);
    }

    #[test]
    fn a_command_that_differs_is_named_by_what_it_does_and_not_by_its_time() {
        let mut findings = specimen::make_findings(2);
        let case = findings.rows[0].case.clone();
        findings.outcomes = vec![specimen::make_outcome(&case, ["native", "gvisor"], Word::FailsOnly)];
        let lines = list(&findings, "differs:gvisor");
        let told = "gvisor: system call gvisor alone fails: exit code 1 in 10 of 10, native 0 of 10. (differs:gvisor)";
        assert_eq!(lines, [told]);
    }

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
