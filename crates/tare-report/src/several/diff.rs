//! Older and newer records side by side, for a terminal, as Markdown and as JSON.

use serde::Serialize;
use tare_analysis::change::facts::ChangedFact;
use tare_analysis::change::{ChangedCell, ChangedRow, Changes, Cost, Factor, Judged, Target};
use tare_analysis::findings::{Answer, Kind, Row};
use tare_analysis::gate::Outcome;

use crate::answers::table::answer_words;
use crate::gate::{list_first_cells, name_condition};
use crate::language::{Language, message, say};
use crate::number::{format_percent, format_times};
use crate::text::{clean_text, count_columns, wrap_paragraph, wrap_text};
use crate::words::{self, Said};

/// Name of the JSON document's format, and its version, which a changed or removed field raises.
const SCHEMA: &str = "tare-diff";
const VERSION: u32 = 4;
/// Said in place of a table.
const NOTHING_COMPARED: &str = message!(
    "Nothing could be compared: no environment beside the baseline has a slowdown in the records of both sides."
);
/// Limit on shown facts, unless all are requested; further ones are counted.
const MOST_FACTS: usize = 16;

/// Older and newer records, with their sessions and files, and the changes between them.
#[derive(Clone, Copy)]
pub struct Diff<'a> {
    pub old: &'a [(&'a Judged, &'a str)],
    pub new: &'a [(&'a Judged, &'a str)],
    /// An older record that was started after a newer one, and that one; none where their order is that of time.
    pub reversed: Option<[&'a str; 2]>,
    pub changes: &'a Changes,
    /// Spread between sessions that cells with one a side are judged by, as a standard deviation of logarithms.
    pub spread: f64,
    /// Every metric, and every fact.
    pub wide: bool,
    /// Columns of the terminal.
    pub width: usize,
    pub language: Language,
}

const NOTE: &str = message!(
    "Slowdowns are compared, each paired within its own session; values of different sessions are not. 2x = takes twice as \
     long as before; same = less than the margin apart; in brackets: 95 % confidence intervals."
);

/// Says the answer that a record has of a cell, in a few letters, or with its interval.
fn slowdown(cost: &Cost, wide: bool, language: Language) -> String {
    let Cost { answer, ratio, interval, .. } = *cost;
    let said = answer.map(|answer| Said { answer, ratio, interval, most: None, margin: f64::NAN });
    let short = said.map_or_else(|| format_times(ratio, f64::NAN), |said| said.in_short(language));
    let interval = words::format_range(interval.ends(f64::from), f64::NAN, language);
    if wide { format!("{short} {interval}").trim_end().to_owned() } else { short }
}

/// Says how a cell has changed: `1.2x (1.1 to 1.3x)`, `same`.
fn describe_change(answer: Answer, factor: Option<Factor>, language: Language) -> String {
    let Some(Factor { ratio, interval, .. }) = factor else {
        return language.word(answer_words(answer.kind()).word).to_owned();
    };
    let said = Said { answer, ratio, interval, most: None, margin: f64::NAN };
    format!("{} {}", said.in_words(language), said.interval(language)).trim_end().to_owned()
}

/// Formats label, answer in the old record, answer in the new one, and change, with the reason why there is none.
fn row_texts(
    row: &ChangedRow,
    cell: &ChangedCell,
    wide: bool,
    language: Language,
) -> ([String; 4], Option<String>) {
    let title = language.translate_title(&clean_text(&row.label));
    let label = if row.headline { title } else { format!("{title}, {}", clean_text(&row.metric)) };
    let shown = |one: &Option<Cost>| one.as_ref().map_or("-".into(), |cost| slowdown(cost, wide, language));
    match cell {
        ChangedCell::Compared { old, new, answer, factor } => {
            let [old, new] = [old, new].map(|cost| slowdown(cost, wide, language));
            ([label, old, new, describe_change(*answer, *factor, language)], None)
        }
        ChangedCell::NotComparable { reason, old, new } => {
            let none = language.word("not comparable").to_owned();
            ([label, shown(old), shown(new), none], Some(language.translate_text(&clean_text(reason))))
        }
    }
}

impl Diff<'_> {
    fn rows(&self) -> impl Iterator<Item = &ChangedRow> {
        self.changes.rows.iter().filter(|row| self.wide || row.headline && Row::is_judged(&row.probe))
    }

    /// Describes the records, a line each.
    fn heads(&self) -> Vec<String> {
        let sides = [(message!("old"), self.old), (message!("new"), self.new)];
        let records = sides.into_iter().flat_map(|(which, all)| all.iter().map(move |one| (which, one)));
        let reversed = self.reversed.map(|files| {
            let [old, new] = files.map(clean_text);
            say!(self.language, "! {old} was started after {new}: old is newer than new.", old, new)
        });
        let head = |(which, (record, file)): (&'static str, &(&Judged, &str))| {
            let (study, started) = (clean_text(&record.plan.study), clean_text(&record.header.started));
            say!(
                self.language,
                "{which}  {file}  {study}, started {started}, tare {version}",
                which = self.language.word(which),
                file = clean_text(file),
                study,
                started,
                version = clean_text(&record.header.tare)
            )
        };
        records.map(head).chain(reversed).collect()
    }

    /// Explains the words, and how much sessions differ by chance.
    fn note(&self) -> String {
        let language = self.language;
        let sessions = match (self.old.len(), self.new.len(), self.spread) {
            (1, 1, spread) if spread > 0.0 => say!(
                language,
                "With one session a side, sessions are taken to differ by {share} by chance, or what --between says; several \
                 records a side (OLD... --to NEW...) measure it.",
                share = format_percent(spread)
            ),
            (1, 1, _) => language
                .word(
                    "Sessions are taken not to differ by chance, as --between 0 says; several records a side (OLD... --to \
                     NEW...) measure it.",
                )
                .to_owned(),
            _ => language
                .word("Slowdowns of a side are means of its sessions, and intervals are as wide as sessions differ.")
                .to_owned(),
        };
        language.join_sentences(&[language.word(NOTE).to_owned(), sessions])
    }

    /// Selects the facts to show, and counts the rest.
    fn facts(&self) -> (&[ChangedFact], usize) {
        let all = &self.changes.facts;
        let shown = if self.wide { all.len() } else { all.len().min(MOST_FACTS) };
        (&all[..shown], all.len() - shown)
    }
}

fn fact_text(fact: &ChangedFact, language: Language) -> String {
    let of: Vec<String> = fact.of.iter().map(|name| clean_text(name)).collect();
    let value = |value: &Option<String>| {
        value.as_deref().map_or_else(|| language.word("(unknown)").to_owned(), clean_text)
    };
    format!(
        "{}: {} -> {} ({})",
        clean_text(&fact.key),
        value(&fact.old),
        value(&fact.new),
        language.join_with_and(&of)
    )
}

/// Answers in a sentence whether anything became slower, with the largest slowdown; then those that are faster, open and missing.
fn sum_up(diff: &Diff) -> Option<String> {
    let language = diff.language;
    let rows = || diff.changes.list_headlines().map(|(_, row)| row);
    let cells = || rows().flat_map(|row| row.cells.iter().enumerate().map(move |(at, cell)| (row, at, cell)));
    let compared: Vec<_> = cells()
        .filter_map(|(row, at, cell)| match cell {
            ChangedCell::Compared { answer, factor, .. } => Some((row, at, *answer, *factor)),
            ChangedCell::NotComparable { .. } => None,
        })
        .collect();
    let all = compared.len();
    let of =
        |wanted: fn(Kind) -> bool| compared.iter().filter(move |(_, _, answer, _)| wanted(answer.kind()));
    let ratio = |factor: &Option<Factor>| factor.map_or(f64::NAN, |factor| factor.ratio);
    let slower = of(Kind::is_slower).count();
    let (faster, open) = (of(|kind| kind == Kind::Faster).count(), of(|kind| kind == Kind::NotSure).count());
    let worst = of(Kind::is_slower).max_by(|a, b| ratio(&a.3).total_cmp(&ratio(&b.3)));
    let mut sentences = vec![match worst {
        Some((row, at, answer, factor)) => say!(
            language,
            "{count} of {all} became slower against the baseline, most {environment} in {label}: {change}.",
            count = slower,
            all,
            environment = diff.changes.targets.get(*at).map_or_else(String::new, |of| clean_text(&of.name)),
            label = language.translate_title(&clean_text(&row.label)),
            change = describe_change(*answer, *factor, language)
        ),
        None => say!(language, "None of {all} is known to have become slower against the baseline.", all),
    }];
    sentences.extend((faster > 0).then(|| say!(language, "{count} became faster.", count = faster)));
    sentences.extend((open > 0).then(|| say!(language, "Not sure in {count} of {all}.", count = open, all)));
    let (every, missing) = (cells().count(), cells().count() - all);
    sentences.extend(
        (missing > 0)
            .then(|| say!(language, "Not compared: {count} of {all}.", count = missing, all = every)),
    );
    (all > 0).then(|| language.join_sentences(&sentences))
}

/// Says of each environment in how many rows it is slower than before, or that nothing could be compared.
fn summarise(diff: &Diff) -> Vec<String> {
    let language = diff.language;
    if diff.changes.count_compared() == 0 {
        return vec![language.word(NOTHING_COMPARED).to_owned()];
    }
    let names = diff.changes.targets.iter().map(|target| count_columns(&clean_text(&target.name)));
    let widest = names.max().unwrap_or(0);
    let of_target = |(at, target): (usize, &Target)| {
        let cells = || diff.changes.list_headlines().filter_map(|(_, row)| row.cells.get(at));
        let kinds = || {
            cells().map(|cell| match cell {
                ChangedCell::Compared { answer, .. } => answer.kind(),
                ChangedCell::NotComparable { .. } => Kind::None,
            })
        };
        let count = |kind: Kind| kinds().filter(|of| *of == kind).count();
        let parts = Kind::ALL.map(|kind| (count(kind), language.word(answer_words(kind).word)));
        let parts = parts.iter().filter(|(count, _)| *count > 0);
        let all = cells().count();
        let part =
            |(count, word): &(usize, &str)| say!(language, "{word} in {count} of {all}", word, count, all);
        let parts: Vec<String> = parts.map(part).collect();
        let name = clean_text(&target.name);
        let pad = " ".repeat(widest.saturating_sub(count_columns(&name)));
        format!("{name}{pad}  {}", parts.join(language.word(", ")))
    };
    diff.changes.targets.iter().enumerate().map(of_target).collect()
}

/// Renders a table for each environment, then the facts that differ.
pub fn render_diff_terminal(diff: &Diff) -> String {
    let language = diff.language;
    let sum = sum_up(diff).into_iter().flat_map(|sum| wrap_paragraph("", &sum, diff.width));
    let mut out =
        sum.chain(diff.heads()).collect::<Vec<_>>().join("\n") + "\n\n" + &summarise(diff).join("\n") + "\n";
    for (at, target) in diff.changes.targets.iter().enumerate() {
        out.push_str(&format!("\n{}\n", clean_text(&target.name)));
        out.push_str(&target_table(diff, at));
    }
    out.push('\n');
    wrap_text(&diff.note(), diff.width).iter().for_each(|line| out.push_str(&format!("{line}\n")));
    let (facts, more) = diff.facts();
    let head = if facts.is_empty() { message!("No facts differ.") } else { message!("Facts that differ") };
    out.push_str(&format!("\n{}\n", language.word(head)));
    for known in facts {
        for (i, line) in
            wrap_text(&fact_text(known, language), diff.width.saturating_sub(4)).into_iter().enumerate()
        {
            out.push_str(&format!("{}{line}\n", if i == 0 { "  " } else { "    " }));
        }
    }
    if more > 0 {
        let more = say!(language, "and {more} more; --wide shows them", more);
        out.push_str(&format!("  {more}\n"));
    }
    out
}

/// Renders the rows of one environment.
fn target_table(diff: &Diff, at: usize) -> String {
    let language = diff.language;
    let heads = ["", language.word("old"), language.word("new"), language.word("times the old")];
    let mut rows = vec![(heads.map(str::to_owned), None)];
    rows.extend(diff.rows().map(|row| row_texts(row, &row.cells[at], diff.wide, language)));
    let width = |column: usize| rows.iter().map(|(row, _)| count_columns(&row[column])).max().unwrap_or(0);
    let widths = [width(0).max(4), width(1), width(2)];
    let mut out = String::new();
    for (row, reason) in &rows {
        let mut head = String::from("  ");
        for (text, width) in row.iter().zip(widths) {
            head.push_str(&format!("{text}{}  ", " ".repeat(width.saturating_sub(count_columns(text)))));
        }
        // A reason gets separate lines: it may be long.
        let room = diff.width.saturating_sub(count_columns(&head)).max(16);
        for (i, part) in wrap_text(&row[3], room).into_iter().enumerate() {
            let head = if i == 0 { head.clone() } else { " ".repeat(count_columns(&head)) };
            out.push_str(format!("{head}{part}").trim_end());
            out.push('\n');
        }
        for line in reason.iter().flat_map(|reason| wrap_text(reason, diff.width.saturating_sub(4))) {
            out.push_str(&format!("    {line}\n"));
        }
    }
    out
}

/// Renders all environments as one table.
pub fn render_diff_markdown(diff: &Diff) -> String {
    let literal = crate::markdown::escape_markdown;
    let heads: Vec<String> = diff.heads().iter().map(|head| format!("- {}", literal(head))).collect();
    let mut out =
        format!("{}\n\n| environment | probe | old | new | |\n|---|---|---|---|---|\n", heads.join("\n"));
    for (at, target) in diff.changes.targets.iter().enumerate() {
        for row in diff.rows() {
            let (texts, reason) = row_texts(row, &row.cells[at], true, diff.language);
            let [label, old, new, change] = texts.map(|text| literal(&text));
            let change = reason.map_or(change.clone(), |reason| format!("{change}: {}", literal(&reason)));
            let is_changed =
                |answer: &Answer| matches!(answer.kind(), Kind::Slower | Kind::AtLeast | Kind::Faster);
            let changed =
                matches!(&row.cells[at], ChangedCell::Compared { answer, .. } if is_changed(answer));
            let change = if changed { format!("**{change}**") } else { change };
            let target = literal(&clean_text(&target.name));
            out.push_str(&format!("| {target} | {label} | {old} | {new} | {change} |\n"));
        }
    }
    out.push_str(&format!("\n<sub>{}</sub>\n", literal(&diff.note())));
    let (facts, more) = diff.facts();
    if !facts.is_empty() {
        out.push_str("\nFacts that differ:\n\n");
        facts
            .iter()
            .for_each(|known| out.push_str(&format!("- {}\n", literal(&fact_text(known, diff.language)))));
    }
    if more > 0 {
        out.push_str(&format!("- and {more} more\n"));
    }
    out
}

/// A record in the JSON document.
#[derive(Serialize)]
pub(crate) struct Record<'a> {
    file: &'a str,
    study: &'a str,
    started: &'a str,
    tare: &'a str,
    binary: &'a str,
}

#[derive(Serialize)]
struct Document<'a> {
    schema: &'static str,
    version: u32,
    old: Vec<Record<'a>>,
    new: Vec<Record<'a>>,
    /// True where an older record was started after a newer one.
    reversed: bool,
    /// Spread between sessions that is stated, as a standard deviation of logarithms; none where several of a side measure it.
    stated_spread: Option<f64>,
    targets: &'a [tare_analysis::change::Target],
    rows: &'a [ChangedRow],
    facts: &'a [ChangedFact],
}

/// Writes one JSON document on one line: every metric and every fact.
pub fn render_diff_json(diff: &Diff) -> String {
    let document = Document {
        schema: SCHEMA,
        version: VERSION,
        old: diff.old.iter().copied().map(record_of).collect(),
        new: diff.new.iter().copied().map(record_of).collect(),
        reversed: diff.reversed.is_some(),
        stated_spread: (diff.old.len() == 1 && diff.new.len() == 1).then_some(diff.spread),
        targets: &diff.changes.targets,
        rows: &diff.changes.rows,
        facts: &diff.changes.facts,
    };
    crate::text::json::render_escaped_json(&document) + "\n"
}

pub(crate) fn record_of<'a>((record, file): (&'a Judged, &'a str)) -> Record<'a> {
    let header = &record.header;
    Record {
        file,
        study: &record.plan.study,
        started: &header.started,
        tare: &header.tare,
        binary: &header.binary,
    }
}

/// Lists the cells by which a gate fails, a line each.
pub fn list_failing_cells(changes: &Changes, outcome: &Outcome) -> Vec<String> {
    list_first_cells(outcome, Language::English, |judged| {
        let row = changes.rows.get(judged.row)?;
        let ([label, old, new, change], reason) =
            row_texts(row, row.cells.get(judged.target)?, false, Language::English);
        let change = reason.map_or(change.clone(), |reason| format!("{change}: {reason}"));
        let target = clean_text(&changes.targets.get(judged.target)?.name);
        let condition = name_condition(judged, false, Language::English);
        Some(format!("{target}: {label} {old} -> {new} {change} ({condition})"))
    })
}

#[cfg(test)]
mod tests {
    use tare_analysis::change::compare_records;
    use tare_analysis::findings::Cell;
    use tare_analysis::gate::{self, Ruling};

    use super::*;
    use crate::specimen;

    /// Renders two sessions: gvisor's system calls became slower, and the definition of exec and the kernel
    /// changed.
    fn shown(show: fn(&Diff) -> String, language: Language) -> String {
        let (old, then) = (specimen::make_session(2), specimen::make_findings(2));
        let (mut new, mut now) = (specimen::make_session(2), specimen::make_findings(2));
        now.rows[0].cells[1] = Cell::Compared(Box::new(specimen::make_comparison(173.4, 29.0, 1)));
        now.rows[1].cells[1] = Cell::Compared(Box::new(specimen::make_comparison(74_210.0, 8.0, 1)));
        new.plan.cases[2].definition = "d1".into();
        new.facts[2].inside.add_fact("kernel.release", "6.19");
        new.facts[3].inside.add_fact("kernel.release", "6.19");
        let (old, new) = (Judged::new(old, then), Judged::new(new, now));
        let changes = compare_records(&[&old], &[&new], 0.005);
        let diff = Diff {
            old: &[(&old, "before.tare")],
            new: &[(&new, "after.tare")],
            reversed: None,
            changes: &changes,
            spread: 0.005,
            wide: false,
            width: 100,
            language,
        };
        show(&diff)
    }

    #[test]
    fn records_stand_side_by_side() {
        insta::assert_snapshot!(shown(render_diff_terminal, Language::English));
    }

    #[test]
    fn records_stand_side_by_side_in_japanese() {
        insta::assert_snapshot!(shown(render_diff_terminal, Language::Japanese));
    }

    #[test]
    fn without_a_slowdown_the_first_line_claims_none() {
        let record = || Judged::new(specimen::make_session(1), specimen::make_findings(1));
        let (old, new) = (record(), record());
        let changes = compare_records(&[&old], &[&new], 0.5);
        let sides = [&old, &new].map(|side| [(side, "a.tare")]);
        let [old, new] = [&sides[0][..], &sides[1][..]];
        let (wide, width, language) = (false, 80, Language::English);
        let text = render_diff_terminal(&Diff {
            old,
            new,
            reversed: Some(["b.tare", "a.tare"]),
            changes: &changes,
            spread: 0.5,
            wide,
            width,
            language,
        });
        assert!(
            text.starts_with("None of 7 is known to have become slower against the baseline. Not sure in"),
            "{text}"
        );
        assert!(text.contains("\n! b.tare was started after a.tare: old is newer than new.\n"), "{text}");
    }

    #[test]
    fn markdown_has_a_row_a_cell() {
        let text = shown(render_diff_markdown, Language::English);
        assert!(text.contains("| gvisor | system call | 24x (23.9 to 24.4x) | 29x"), "{text}");
        assert_eq!(text.lines().filter(|line| line.starts_with("| ")).count(), 1 + 2 * 7);
    }

    #[test]
    fn a_cell_that_meets_a_condition_without_a_change_has_its_reason() {
        let (old, mut session) = (specimen::make_session(2), specimen::make_session(2));
        session.plan.cases[2].definition = "d1".into();
        let old = Judged::new(old, specimen::make_findings(2));
        let new = Judged::new(session, specimen::make_findings(2));
        let changes = compare_records(&[&old], &[&new], 0.005);
        let met = gate::Judged { row: 2, target: 0, answer: Ruling::Trips, condition: "slower".into() };
        let lines = list_failing_cells(&changes, &Outcome { cells: vec![met], ..Outcome::default() });
        let [line] = &lines[..] else { panic!("{lines:?}") };
        assert!(line.contains("not comparable: ") && line.contains("definitions"), "{line}");
        assert!(line.ends_with(" (slower)"), "{line}");
    }

    #[test]
    fn json_has_every_cell_and_fact() {
        let read: serde_json::Value =
            serde_json::from_str(&shown(render_diff_json, Language::English)).unwrap();
        assert_eq!((&read["schema"], &read["version"]), (&"tare-diff".into(), &4.into()));
        let cell = &read["rows"][0]["cells"][1]["compared"];
        assert_eq!(cell["answer"], "slower");
        assert!((cell["factor"]["ratio"].as_f64().unwrap() - 29.0 / 24.1).abs() < 0.01, "{cell}");
        assert!(
            read["rows"][2]["cells"][0]["not_comparable"]["reason"].as_str().unwrap().contains("definitions")
        );
        assert_eq!(read["facts"].as_array().unwrap().len(), 2);
        assert_eq!(read["facts"][0]["key"], "kernel.release");
    }
}
