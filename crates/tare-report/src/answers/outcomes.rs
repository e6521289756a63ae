//! Outcomes of commands in sentences: whether they do the same in an environment, and what differs.

use tare_analysis::findings::{Cell, Findings, Missing, Row};
use tare_analysis::outcome::{Change, CommandOutcome, Difference, Word};
use tare_data::batch::RunEnd;
use tare_data::session::outcome::Part;

use crate::language::{Language, say};
use crate::text::clean_text;
use crate::warnings::describe_end;

/// Exit codes of shells and of programs that start others, which say why nothing ran.
const NOT_EXECUTABLE: i32 = 126;
const NOT_FOUND: i32 = 127;

/// Describes the outcomes of all commands in an environment.
pub fn describe_outcomes(findings: &Findings, subject: usize, language: Language) -> Vec<String> {
    let name = &findings.subjects[subject];
    let of: Vec<&CommandOutcome> =
        findings.outcomes.iter().filter(|outcome| outcome.target == *name).collect();
    let is_same = |outcome: &&CommandOutcome| outcome.word == Word::Same;
    let mut sentences = Vec::new();
    if of.len() > 1 && of.iter().all(is_same) {
        sentences.push(say!(language, "All {count} commands do the same.", count = of.len()));
        let reaches = of.into_iter().filter_map(|outcome| describe_reach(outcome, language));
        reaches.for_each(|reach| sentences.extend((!sentences.contains(&reach)).then_some(reach)));
        return sentences;
    }
    for outcome in of {
        let is_its = |row: &&Row| row.headline && row.case == outcome.case;
        let cell = findings.rows.iter().find(is_its).and_then(|row| row.cells.get(subject));
        sentences.push(describe_word(outcome, language));
        sentences.extend(describe_rest(outcome, cell, language));
    }
    sentences
}

/// Describes the outcome of a command that is a side beside that of the first, but for what its time's sentence says of it: that both
/// do the same.
pub(crate) fn describe_outcome_of_side(
    outcome: &CommandOutcome,
    cell: &Cell,
    language: Language,
) -> Vec<String> {
    let word = (outcome.word != Word::Same).then(|| describe_word_of_side(outcome, language));
    word.into_iter().chain(describe_rest(outcome, Some(cell), language)).collect()
}

/// Describes what a command does otherwise than the one that a cell compares it with, or that this is open; nothing where it does the same.
pub(crate) fn describe_outcome_of_cell(
    findings: &Findings,
    (row, target, cell): (&Row, &str, &Cell),
    language: Language,
) -> Vec<String> {
    let outcome = findings.find_outcome(&row.case, target).filter(|of| of.word != Word::Same);
    outcome.map(|of| describe_outcome_of_side(of, cell, language)).unwrap_or_default()
}

/// Says in English whether a command does the same, without a line that it printed.
pub(crate) fn describe_without_output(findings: &Findings, outcome: &CommandOutcome) -> String {
    let outcome = CommandOutcome { last_line: None, ..outcome.clone() };
    let sentence = describe_word_of_side(&outcome, Language::English);
    match findings.commands_in {
        Some(_) => sentence,
        None => format!("{}: {sentence}", clean_text(&outcome.label)),
    }
}

/// Tells whether times are not compared because too few runs of a pair ended alike.
pub(crate) fn lacks_alike_runs(outcome: &CommandOutcome, cell: &Cell) -> bool {
    outcome.end.is_some() && matches!(cell, Cell::Missing(missing) if *missing != Missing::NotReached)
}

/// Describes what follows the word of an outcome: what differs, and what was not compared.
fn describe_rest(outcome: &CommandOutcome, cell: Option<&Cell>, language: Language) -> Vec<String> {
    let mut sentences = Vec::new();
    if cell.is_some_and(|cell| lacks_alike_runs(outcome, cell)) {
        sentences
            .push(language.word("Times aren't compared: too few pairs ended alike and well.").to_owned());
    }
    if outcome.word == Word::Differs && !outcome.is_end_told && outcome.end.is_some() {
        let counts = describe_counts(outcome, language);
        sentences.push(say!(language, "Runs that failed: {counts}.", counts));
    }
    let is_by_end = outcome.word == Word::Differs && outcome.is_end_told;
    let by_end = is_by_end.then(|| describe_counts(outcome, language));
    if is_by_end || !outcome.differences.is_empty() {
        let differences = outcome.differences.iter().map(|one| describe_difference(one, language));
        let all: Vec<String> = by_end.into_iter().chain(differences).collect();
        let differences = all.join(language.word("; "));
        sentences.push(say!(language, "Differs: {differences}.", differences));
    }
    sentences.extend(describe_reach(outcome, language));
    sentences
}

/// Says the word on a command that is a side: the names are those of both commands.
pub(crate) fn describe_word_of_side(outcome: &CommandOutcome, language: Language) -> String {
    let [name, baseline] = [&outcome.target, &outcome.against].map(|name| clean_text(name));
    let side = clean_text(outcome.fails_in.as_deref().unwrap_or_default());
    let counts = describe_counts(outcome, language);
    match outcome.word {
        Word::Same => say!(language, "{name} does the same as {baseline}.", name, baseline),
        Word::Differs => say!(language, "{name} does not do the same as {baseline}.", name, baseline),
        Word::FailsOnly => say!(language, "{side} alone fails: {counts}.", side, counts),
        Word::MoreOften => say!(language, "{side} fails more often: {counts}.", side, counts),
        Word::FailsEverywhere => say!(
            language,
            "{name} and {baseline} fail alike: {counts}{hint}.",
            name,
            baseline,
            counts,
            hint = describe_hint(outcome, language)
        ),
        Word::NowAndThen | Word::TooFew => {
            describe_word(&CommandOutcome { label: outcome.target.clone(), ..outcome.clone() }, language)
        }
    }
}

fn describe_word(outcome: &CommandOutcome, language: Language) -> String {
    let command = clean_text(&outcome.label);
    let counts = describe_counts(outcome, language);
    let side = clean_text(outcome.fails_in.as_deref().unwrap_or_default());
    match outcome.word {
        Word::Same => say!(language, "{command} does the same.", command),
        Word::Differs => say!(
            language,
            "{command} differs in {environment}.",
            command,
            environment = clean_text(&outcome.target)
        ),
        Word::FailsOnly => say!(language, "{command} fails only in {side}: {counts}.", command, side, counts),
        Word::MoreOften => {
            say!(language, "{command} fails more often in {side}: {counts}.", command, side, counts)
        }
        Word::NowAndThen => match outcome.needed {
            Some(needed) => say!(
                language,
                "{command} fails now and then: {counts}; {needed} starts of each side would tell such shares apart.",
                command,
                counts,
                needed
            ),
            None => say!(language, "{command} fails now and then: {counts}.", command, counts),
        },
        Word::FailsEverywhere => {
            let hint = describe_hint(outcome, language);
            say!(language, "{command} fails everywhere alike: {counts}{hint}.", command, counts, hint)
        }
        Word::TooFew => {
            let [of_baseline, here] = outcome.counts.map(|count| count.starts);
            say!(
                language,
                "{command}: no difference in {here} starts and {of_baseline} of the baseline, too few to show one.",
                command,
                here,
                of_baseline
            )
        }
    }
}

/// Describes how often a command ended so: on the side where it does so more often first.
fn describe_counts(outcome: &CommandOutcome, language: Language) -> String {
    let Some(end) = outcome.end else { return String::new() };
    let [baseline, here] = outcome.counts;
    let is_of_baseline = outcome.fails_in.as_ref() == Some(&outcome.against);
    let (first, other, name) = match is_of_baseline {
        true => (baseline, here, &outcome.target),
        false => (here, baseline, &outcome.against),
    };
    let counts = say!(
        language,
        "{end} in {so} of {starts}, {other} {other_so} of {other_starts}",
        end = describe_end(end, language),
        so = first.so,
        starts = first.starts,
        other = clean_text(name),
        other_so = other.so,
        other_starts = other.starts
    );
    let [of_baseline, of_here] = outcome.failed;
    let failed = if is_of_baseline { of_baseline } else { of_here };
    // The most frequent end is that of some failures alone.
    if outcome.word == Word::Differs || failed == first.so {
        return counts;
    }
    say!(language, "{counts}; {so} failed in all", counts, so = failed)
}

/// Tells why nothing may have run, and the last line of a run that failed.
fn describe_hint(outcome: &CommandOutcome, language: Language) -> String {
    let hint = match outcome.end {
        Some(RunEnd::ExitCode(NOT_FOUND)) => Some(language.word("a program was not found").to_owned()),
        Some(RunEnd::ExitCode(NOT_EXECUTABLE)) => {
            Some(language.word("a program is not executable").to_owned())
        }
        Some(RunEnd::TimedOut) => Some(language.word("--timeout gives a run more time").to_owned()),
        _ => outcome.last_line.as_deref().map(clean_text),
    };
    hint.map(|hint| say!(language, " ({hint})", hint)).unwrap_or_default()
}

fn describe_difference(difference: &Difference, language: Language) -> String {
    let text = clean_text(&difference.text);
    let line = match (difference.part, text.is_empty()) {
        (Part::Files, true) => language.word("a file").to_owned(),
        (Part::Files, false) => text,
        (_, true) => language.word("a line").to_owned(),
        (Part::Output, false) => format!("\"{text}\""),
        (Part::Errors, false) => say!(language, "\"{text}\" on standard error", text),
    };
    match (difference.part, difference.change) {
        (Part::Files, Change::Missing) => say!(language, "{file} is not written", file = line),
        (Part::Files, Change::Added) => say!(language, "{file} is written there alone", file = line),
        (_, Change::Changed) => say!(language, "{file} has other contents", file = line),
        (_, Change::Missing) => say!(language, "{line} is missing", line),
        (_, Change::Added) => say!(language, "{line} is there alone", line),
    }
}

/// Tells what the outcome leaves out, where something was compared.
fn describe_reach(outcome: &CommandOutcome, language: Language) -> Option<String> {
    if outcome.word == Word::TooFew {
        return None;
    }
    let has = |part| outcome.compared.contains(&part);
    Some(
        match () {
            () if outcome.is_cut && has(Part::Output) => {
                language.word("Of longer output the first 64 KiB are compared.")
            }
            () if !has(Part::Output) => language.word("Exit codes alone are compared."),
            () if !has(Part::Files) => language.word("Files are not compared."),
            () => return None,
        }
        .to_owned(),
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::specimen;

    #[test]
    fn commands_that_all_do_the_same_say_what_was_not_compared_once() {
        let mut findings = specimen::make_findings(1);
        let cases: Vec<String> = findings.rows[..2].iter().map(|row| row.case.clone()).collect();
        let outcome = |case: &String| CommandOutcome {
            compared: vec![],
            ..specimen::make_outcome(case, ["native", "container"], Word::Same)
        };
        findings.outcomes = cases.iter().map(outcome).collect();
        let said = describe_outcomes(&findings, 0, Language::English);
        assert_eq!(said, ["All 2 commands do the same.", "Exit codes alone are compared."]);
    }

    #[test]
    fn a_command_that_differs_and_fails_on_both_sides_says_so() {
        let mut findings = specimen::make_findings(1);
        let case = findings.rows[0].case.clone();
        let outcome = specimen::make_outcome(&case, ["native", "container"], Word::Differs);
        let end = Some(RunEnd::ExitCode(1));
        findings.outcomes = vec![CommandOutcome { end, failed: [10, 10], ..outcome }];
        findings.outcomes[0].counts.iter_mut().for_each(|count| count.so = 10);
        let said = describe_outcomes(&findings, 0, Language::English).join(" ");
        let failed =
            "command differs in container. Runs that failed: exit code 1 in 10 of 10, native 10 of 10.";
        assert!(said.starts_with(failed), "{said}");
    }

    #[test]
    fn a_file_whose_path_was_not_kept_has_a_word() {
        let difference = |change| Difference { part: Part::Files, change, text: String::new() };
        let said = [Change::Missing, Change::Changed]
            .map(|change| describe_difference(&difference(change), Language::English));
        assert_eq!(said, ["a file is not written", "a file has other contents"]);
    }
}
