//! Older and newer records side by side, for a terminal, as Markdown and as JSON.

use serde::Serialize;
use tare_analysis::change::facts::ChangedFact;
use tare_analysis::change::{ChangedCell, ChangedRow, Changes, Cost, Factor, Judged, Target};
use tare_analysis::findings::{Answer, Kind, Row};
use tare_analysis::gate::Outcome;

use crate::answers::table::answer_words;
use crate::language::Language;
use crate::number::{format_percent, format_times};
use crate::text::{clean_text, count_columns, join_with_and, wrap_text};
use crate::words::{self, Said};

/// Name of the JSON document's format, and its version, which a changed or removed field raises.
const SCHEMA: &str = "tare-diff";
const VERSION: u32 = 4;
/// Said in place of a table.
const NOTHING_COMPARED: &str = "Nothing could be compared: no environment beside the baseline has a slowdown in the records of both sides.";
/// Limit on shown facts, unless all are requested; further ones are counted.
const MOST_FACTS: usize = 16;

/// Older and newer records, with their sessions and files, and the changes between them.
#[derive(Clone, Copy)]
pub struct Diff<'a> {
    pub old: &'a [(&'a Judged, &'a str)],
    pub new: &'a [(&'a Judged, &'a str)],
    pub changes: &'a Changes,
    /// Spread between sessions that cells with one a side are judged by, as a standard deviation of logarithms.
    pub spread: f64,
    /// Every metric, and every fact.
    pub wide: bool,
    /// Columns of the terminal.
    pub width: usize,
}

const NOTE: &str = "Slowdowns are compared, each paired within its own session; values of different sessions are not. \
2x = takes twice as long as before; same = less than the margin apart; in brackets: 95 % confidence intervals.";

/// Says the answer that a record has of a cell, in a few letters, or with its interval.
fn slowdown(cost: &Cost, wide: bool) -> String {
    let Cost { answer, ratio, interval, .. } = *cost;
    let said = answer.map(|answer| Said { answer, ratio, interval, most: None, margin: f64::NAN });
    let short = said.map_or_else(|| format_times(ratio, f64::NAN), |said| said.in_short(Language::English));
    let interval = words::format_range(interval.ends(f64::from), f64::NAN, Language::English);
    if wide { format!("{short} {interval}").trim_end().to_owned() } else { short }
}

/// Formats label, answer in the old record, answer in the new one, and change.
fn row_texts(row: &ChangedRow, cell: &ChangedCell, wide: bool) -> [String; 4] {
    let label = if row.headline {
        clean_text(&row.label)
    } else {
        format!("{}, {}", clean_text(&row.label), clean_text(&row.metric))
    };
    let shown = |one: &Option<Cost>| one.as_ref().map_or("-".into(), |cost| slowdown(cost, wide));
    match cell {
        ChangedCell::Compared { old, new, answer, factor } => {
            let change = factor.map_or_else(
                || answer_words(answer.kind()).word.to_owned(),
                |Factor { ratio, interval, .. }| {
                    let said = Said { answer: *answer, ratio, interval, most: None, margin: f64::NAN };
                    format!("{} {}", said.in_words(Language::English), said.interval(Language::English))
                },
            );
            [label, slowdown(old, wide), slowdown(new, wide), change.trim_end().to_owned()]
        }
        ChangedCell::NotComparable { reason, old, new } => {
            [label, shown(old), shown(new), format!("not comparable: {}", clean_text(reason))]
        }
    }
}

impl Diff<'_> {
    fn rows(&self) -> impl Iterator<Item = &ChangedRow> {
        self.changes.rows.iter().filter(|row| self.wide || row.headline && Row::is_judged(&row.probe))
    }

    /// Describes the records, a line each.
    fn heads(&self) -> Vec<String> {
        let sides = [("old", self.old), ("new", self.new)];
        let records = sides.into_iter().flat_map(|(which, all)| all.iter().map(move |one| (which, one)));
        let head = |(which, (record, file)): (&str, &(&Judged, &str))| {
            let (study, started) = (clean_text(&record.plan.study), clean_text(&record.header.started));
            format!(
                "{which}  {}  {study}, started {started}, tare {}",
                clean_text(file),
                clean_text(&record.header.tare)
            )
        };
        records.map(head).collect()
    }

    /// Explains the words, and how much sessions differ by chance.
    fn note(&self) -> String {
        let sessions = match (self.old.len(), self.new.len(), self.spread) {
            (1, 1, spread) if spread > 0.0 => format!(
                "With one session a side, sessions are taken to differ by {} by chance, or what --between says; several records \
                 a side (OLD... --to NEW...) measure it.",
                format_percent(spread)
            ),
            (1, 1, _) => "Sessions are taken not to differ by chance, as --between 0 says; several records a side (OLD... --to \
                          NEW...) measure it."
                .into(),
            _ => "Slowdowns of a side are means of its sessions, and intervals are as wide as sessions differ.".into(),
        };
        format!("{NOTE} {sessions}")
    }

    /// Selects the facts to show, and counts the rest.
    fn facts(&self) -> (&[ChangedFact], usize) {
        let all = &self.changes.facts;
        let shown = if self.wide { all.len() } else { all.len().min(MOST_FACTS) };
        (&all[..shown], all.len() - shown)
    }
}

fn fact_text(fact: &ChangedFact) -> String {
    let of: Vec<String> = fact.of.iter().map(|name| clean_text(name)).collect();
    let value = |value: &Option<String>| value.as_deref().map_or("(unknown)".into(), clean_text);
    format!(
        "{}: {} -> {} ({})",
        clean_text(&fact.key),
        value(&fact.old),
        value(&fact.new),
        join_with_and(&of)
    )
}

/// Says of each environment in how many rows it is slower than before, or that nothing could be compared.
fn summarise(diff: &Diff) -> Vec<String> {
    if diff.changes.count_compared() == 0 {
        return vec![NOTHING_COMPARED.to_owned()];
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
        let parts = Kind::ALL.map(|kind| (count(kind), answer_words(kind).word));
        let parts = parts.iter().filter(|(count, _)| *count > 0);
        let parts: Vec<String> = parts.map(|(count, word)| format!("{word} in {count}")).collect();
        let name = clean_text(&target.name);
        let pad = " ".repeat(widest.saturating_sub(count_columns(&name)));
        format!("{name}{pad}  {} of {}", parts.join(", "), cells().count())
    };
    diff.changes.targets.iter().enumerate().map(of_target).collect()
}

/// Renders a table for each environment, then the facts that differ.
pub fn render_diff_terminal(diff: &Diff) -> String {
    let mut out = diff.heads().join("\n") + "\n\n" + &summarise(diff).join("\n") + "\n";
    for (at, target) in diff.changes.targets.iter().enumerate() {
        out.push_str(&format!("\n{}\n", clean_text(&target.name)));
        out.push_str(&target_table(diff, at));
    }
    out.push('\n');
    wrap_text(&diff.note(), diff.width).iter().for_each(|line| out.push_str(&format!("{line}\n")));
    let (facts, more) = diff.facts();
    out.push_str(if facts.is_empty() { "\nNo facts differ.\n" } else { "\nFacts that differ\n" });
    for known in facts {
        for (i, line) in wrap_text(&fact_text(known), diff.width.saturating_sub(4)).into_iter().enumerate() {
            out.push_str(&format!("{}{line}\n", if i == 0 { "  " } else { "    " }));
        }
    }
    if more > 0 {
        out.push_str(&format!("  and {more} more; --wide shows them\n"));
    }
    out
}

/// Renders the rows of one environment.
fn target_table(diff: &Diff, at: usize) -> String {
    let mut rows = vec![["", "old", "new", "times the old"].map(str::to_owned)];
    rows.extend(diff.rows().map(|row| row_texts(row, &row.cells[at], diff.wide)));
    let width = |column: usize| rows.iter().map(|row| count_columns(&row[column])).max().unwrap_or(0);
    let widths = [width(0).max(4), width(1), width(2)];
    let mut out = String::new();
    for row in &rows {
        let mut head = String::from("  ");
        for (text, width) in row.iter().zip(widths) {
            head.push_str(&format!("{text}{}  ", " ".repeat(width.saturating_sub(count_columns(text)))));
        }
        // A reason gets separate lines: it may be long.
        let (change, reason) = row[3].split_once(": ").map_or((row[3].as_str(), None), |(c, r)| (c, Some(r)));
        let room = diff.width.saturating_sub(count_columns(&head)).max(16);
        for (i, part) in wrap_text(change, room).into_iter().enumerate() {
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
            let [label, old, new, change] = row_texts(row, &row.cells[at], true).map(|text| literal(&text));
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
        facts.iter().for_each(|known| out.push_str(&format!("- {}\n", literal(&fact_text(known)))));
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

/// Lists the cells that meet a condition, a line each.
pub fn list_met_cells(changes: &Changes, outcome: &Outcome) -> Vec<String> {
    crate::gate::list_first_cells(outcome, Language::English, |judged| {
        let row = changes.rows.get(judged.row)?;
        let [label, old, new, change] = row_texts(row, row.cells.get(judged.target)?, false);
        let target = clean_text(&changes.targets.get(judged.target)?.name);
        Some(format!("{target}: {label} {old} -> {new} {change} ({})", judged.condition))
    })
}

#[cfg(test)]
mod tests {
    use tare_analysis::change::compare_records;
    use tare_analysis::findings::Cell;

    use super::*;
    use crate::specimen;

    /// Renders two sessions: gvisor's system calls became slower, and the definition of exec and the kernel
    /// changed.
    fn shown(show: fn(&Diff) -> String) -> String {
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
            changes: &changes,
            spread: 0.005,
            wide: false,
            width: 100,
        };
        show(&diff)
    }

    #[test]
    fn records_stand_side_by_side() {
        insta::assert_snapshot!(shown(render_diff_terminal));
    }

    #[test]
    fn markdown_has_a_row_a_cell() {
        let text = shown(render_diff_markdown);
        assert!(text.contains("| gvisor | system call | 24x (23.9 to 24.4x) | 29x"), "{text}");
        assert_eq!(text.lines().filter(|line| line.starts_with("| ")).count(), 1 + 2 * 7);
    }

    #[test]
    fn json_has_every_cell_and_fact() {
        let read: serde_json::Value = serde_json::from_str(&shown(render_diff_json)).unwrap();
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
