//! Numbered notes under a table: why cells have no comparison, and warnings about others, each stated once.

use std::collections::HashMap;
use std::mem::{Discriminant, discriminant};

use tare_analysis::findings::{Comparison, Missing, Row};
use tare_data::failure::Failure;
use tare_data::session::{Session, Trial};
use tare_data::warning::Warning;

use crate::language::{Language, say};
use crate::text::clean_text;
use crate::{warnings, words};

/// Limit on shown notes; further ones are counted, and the JSON document has them all.
const MOST_NOTES: usize = 24;

/// Notes of one table, in the order in which its cells refer to them.
#[derive(Debug, Default)]
pub struct Notes {
    texts: Vec<String>,
    numbers: HashMap<String, usize>,
}

impl Notes {
    /// Returns the dash of a cell without a comparison, with the mark of its reason.
    pub fn mark_missing(&mut self, missing: &Missing, language: Language) -> String {
        let reason = words::describe_missing(missing, language);
        format!("{}{}", words::NOT_COMPARED, self.add_note(&reason))
    }

    /// Finds or adds a note, and returns its mark.
    pub fn add_note(&mut self, text: &str) -> String {
        let text = clean_text(text);
        let next = self.texts.len() + 1;
        let number = *self.numbers.entry(text.clone()).or_insert(next);
        if number == next {
            self.texts.push(text);
        }
        format_superscript(number)
    }

    /// Lists marks and texts, and how many more there were.
    pub fn list_notes(&self) -> (Vec<(String, &str)>, usize) {
        let shown = self.texts.iter().take(MOST_NOTES).enumerate();
        let shown = shown.map(|(i, text)| (format_superscript(i + 1), text.as_str())).collect();
        (shown, self.texts.len().saturating_sub(MOST_NOTES))
    }
}

/// Formats a number in superscript: `¹²`.
pub fn format_superscript(number: usize) -> String {
    const RAISED: [char; 10] = ['⁰', '¹', '²', '³', '⁴', '⁵', '⁶', '⁷', '⁸', '⁹'];
    number.to_string().bytes().map(|digit| RAISED[usize::from(digit - b'0')]).collect()
}

/// Warnings about cells as notes: each in full, or the common part of a kind whose warnings differ.
#[derive(Debug)]
pub struct CellWarnings<'a> {
    /// First warning of each kind, and whether others of the kind differ from it.
    kinds: HashMap<Discriminant<Warning>, (&'a Warning, bool)>,
    each: bool,
    language: Language,
}

impl<'a> CellWarnings<'a> {
    /// Collects the warnings in the rows of a view. With `each`, no warning is merged with others of its kind
    /// or left out.
    pub fn of_rows(rows: &[&'a Row], each: bool, language: Language) -> Self {
        let cells = rows.iter().flat_map(|row| &row.cells).filter_map(words::find_comparison);
        let mut kinds = HashMap::new();
        for warning in cells.flat_map(|cell| &cell.warnings) {
            let (first, differ) = kinds.entry(discriminant(warning)).or_insert((warning, false));
            *differ |= *first != warning;
        }
        CellWarnings { kinds, each, language }
    }

    /// Builds the note of a warning; `None` if the whole session already has it.
    fn note_of(&self, warning: &Warning) -> Option<String> {
        if !self.each && matches!(warning, Warning::RoundsRepeated { .. }) {
            return None;
        }
        let differ = self.kinds.get(&discriminant(warning)).is_some_and(|(_, differ)| *differ);
        let words = match differ && !self.each {
            true => self.language.word(warnings::describe_warning_kind(warning)).into(),
            false => warnings::describe_warning(warning, self.language),
        };
        let advice = warnings::advise_on_warning(warning, self.language);
        Some(say!(self.language, "{words}; {advice}", words, advice))
    }

    /// Lists the marks of a comparison's warnings.
    pub fn list_marks(&self, comparison: &Comparison, notes: &mut Notes) -> Vec<String> {
        let texts: Vec<String> = comparison.warnings.iter().filter_map(|w| self.note_of(w)).collect();
        texts.iter().map(|text| notes.add_note(text)).collect()
    }
}

/// Finds the reason why the baseline has no value for a row: found before the first round, or its last
/// failure.
///
/// `None` if the row was not reached.
pub fn baseline_failure<'a>(session: &'a Session, row: &Row, baseline: &str) -> Option<&'a Failure> {
    let planned = session.plan.cases.iter().find(|case| case.id == row.case);
    let found_before = planned.and_then(|case| case.missing.get(baseline));
    found_before.or_else(|| {
        let of_baseline = |trial: &&Trial| trial.case == row.case && trial.target == baseline;
        session.trials.iter().rev().filter(of_baseline).find_map(|trial| trial.failure.as_ref())
    })
}

/// Converts that reason into a cell without a comparison.
pub fn baseline_missing(session: &Session, row: &Row, baseline: &str) -> Missing {
    match baseline_failure(session, row, baseline) {
        Some(failure) => Missing::Failed(failure.clone()),
        None => Missing::NotReached,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_reason_that_occurs_twice_is_one_note() {
        let mut notes = Notes::default();
        assert_eq!(notes.add_note("memory overlay"), "¹");
        assert_eq!(notes.add_note("no KVM"), "²");
        assert_eq!(notes.add_note("memory overlay"), "¹");
        assert_eq!(notes.list_notes().0, [("¹".to_owned(), "memory overlay"), ("²".to_owned(), "no KVM")]);
        assert_eq!(format_superscript(120), "¹²⁰");
    }

    #[test]
    fn a_flood_of_reasons_is_bounded_and_counted() {
        let mut notes = Notes::default();
        (0..1000).for_each(|i| {
            notes.add_note(&format!("reason {i}"));
        });
        let (shown, more) = notes.list_notes();
        assert_eq!((shown.len(), more), (MOST_NOTES, 1000 - MOST_NOTES));
    }
}
