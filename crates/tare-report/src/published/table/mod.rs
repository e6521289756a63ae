//! Tables in an article's form, as lines for a terminal.

use serde::Serialize;
use tare_analysis::published::{Line, Table, TableCell, TableForm};

use crate::language::{Language, message};
use crate::text::{clean_text, count_columns, wrap_text};

/// Blank columns between two columns.
const GAP: usize = 2;
/// Smallest value that is written with an exponent; no honest one is as large.
const LONGEST_PLAIN: f64 = 1e15;
/// Text of an empty cell.
const NONE: &str = "-";

/// The texts of a table, for every form that shows it.
#[derive(Debug, Serialize)]
pub(crate) struct TableTexts {
    pub heading: String,
    /// The environments, a column each.
    pub heads: Vec<String>,
    /// Title of each line with its unit, and its cells.
    pub lines: Vec<(String, Vec<String>)>,
    /// Reasons for missing or incomparable values.
    pub notes: Vec<String>,
}

impl TableTexts {
    pub(crate) fn of_table(table: &Table, language: Language) -> TableTexts {
        let line = |line: &Line| {
            let cells = line.cells.iter().map(|cell| value(cell, line)).collect();
            (with_unit(line, language), cells)
        };
        TableTexts {
            heading: language.word(heading(table)).to_owned(),
            heads: table.targets.iter().map(|target| clean_text(target)).collect(),
            lines: table.lines.iter().map(line).collect(),
            notes: notes(table, language),
        }
    }
}

/// Renders a table: its heading, a line per value, and below them the reasons for missing or incomparable
/// values.
pub(super) fn table_lines(table: &Table, width: usize, language: Language) -> Vec<String> {
    let TableTexts { heading, heads, lines, notes } = TableTexts::of_table(table, language);
    let mut out = wrap_text(&heading, width);
    let (names, texts): (Vec<String>, Vec<Vec<String>>) = lines.into_iter().unzip();
    let first = names.iter().map(|name| count_columns(name)).max().unwrap_or(0);
    let widths: Vec<usize> = heads
        .iter()
        .enumerate()
        .map(|(at, head)| {
            texts.iter().filter_map(|row| row.get(at)).chain([head]).map(|t| count_columns(t)).max()
        })
        .map(|widest| widest.unwrap_or(0))
        .collect();
    let mut from = 0;
    while from < heads.len() {
        let until = from + fitting(&widths[from..], width.saturating_sub(first));
        let row = |name: &str, cells: &[String]| {
            let mut line = padded_end(name, first);
            for (cell, width) in cells[from..until].iter().zip(&widths[from..until]) {
                line.push_str(&" ".repeat(GAP + width.saturating_sub(count_columns(cell))));
                line.push_str(cell);
            }
            line.trim_end().to_owned()
        };
        out.push(row("", &heads));
        out.extend(names.iter().zip(&texts).map(|(name, cells)| row(name, cells)));
        from = until;
    }
    out.extend(notes.iter().flat_map(|note| wrap_text(note, width)));
    out
}

fn heading(table: &Table) -> &'static str {
    match (table.form, table.by_run) {
        (TableForm::Netperf, false) => {
            message!("As netperf prints round trips, of all rounds together and without connecting:")
        }
        (TableForm::Sysbench, false) => message!(
            "As sysbench prints them, of all rounds as one run; file requests have one latency with fsyncs:"
        ),
        (TableForm::Netperf, true) => {
            message!(
                "As netperf prints round trips, of the run in the middle; ( ) = least and greatest of all runs:"
            )
        }
        (TableForm::Sysbench, true) => message!(
            "As sysbench prints them, of the run in the middle; ( ) = least and greatest of all runs; file requests have one \
             latency with fsyncs:"
        ),
        (TableForm::Dd, _) => {
            message!("As dd prints its rate, of the trial in the middle; MB are powers of ten:")
        }
        (TableForm::UnixBench, _) => message!(
            "Scores by UnixBench's definition, measured by tare in shorter passes: the lowest third is dropped, and 10 is the \
             score of UnixBench's baseline machine:"
        ),
        (TableForm::CrystalDiskMark, _) => message!(
            "As CrystalDiskMark prints its lines: the best pass, and the least mean latency of any; MB are powers of ten:"
        ),
        (TableForm::Processes, _) => {
            message!("Of each process or thread, of the trial in the middle; MB are powers of ten:")
        }
    }
}

fn with_unit(line: &Line, language: Language) -> String {
    let name = name_line(line, language);
    if line.unit.is_empty() { name } else { format!("{name}, {}", line.unit) }
}

/// Formats a value as the tool prints it, marked if it should not be compared.
fn value(cell: &TableCell, line: &Line) -> String {
    let mark = if cell.note.is_some() { "!" } else { "" };
    let range = cell.range.map_or(String::new(), |(least, most)| {
        format!(" ({} to {})", printed(least, line.decimals), printed(most, line.decimals))
    });
    cell.value.map_or(NONE.into(), |value| format!("{}{mark}{range}", printed(value, line.decimals)))
}

/// Formats a number with as many decimals as the tool prints, whatever its size.
fn printed(value: f64, decimals: usize) -> String {
    if value.abs() >= LONGEST_PLAIN { format!("{value:.3e}") } else { format!("{value:.decimals$}") }
}

/// Titles a line: the case, its place or peer, and the part of it that the line shows.
fn name_line(line: &Line, language: Language) -> String {
    let title = language.translate_title(&clean_text(&line.title));
    let part = line.part.map(|part| language.word(part).to_owned());
    let rest = line.place.iter().map(|place| clean_text(place)).chain(part);
    std::iter::once(title).chain(rest).collect::<Vec<_>>().join(language.word(", "))
}

/// Lists every reason once per environment, with the lines it applies to.
fn notes(table: &Table, language: Language) -> Vec<String> {
    let mut all: Vec<(String, Vec<String>)> = Vec::new();
    for line in &table.lines {
        for (target, cell) in table.targets.iter().zip(&line.cells) {
            let Some(note) = &cell.note else { continue };
            let mark = if cell.value.is_some() { "!" } else { NONE };
            let text =
                format!("{mark} {}: {}", clean_text(target), language.translate_text(&clean_text(note)));
            match all.iter_mut().find(|(known, _)| *known == text) {
                Some((_, names)) => names.push(name_line(line, language)),
                None => all.push((text, vec![name_line(line, language)])),
            }
        }
    }
    let is_all = |names: &Vec<String>| names.len() == table.lines.len();
    all.iter()
        .map(|(text, names)| match is_all(names) {
            true => text.clone(),
            false => format!("{text} ({})", names.join("; ")),
        })
        .collect()
}

/// Counts the columns that fit next to each other: at least one.
fn fitting(widths: &[usize], room: usize) -> usize {
    let mut taken = 0;
    let fits = widths.iter().take_while(|width| {
        taken += GAP + **width;
        taken <= room
    });
    fits.count().max(1)
}

fn padded_end(text: &str, width: usize) -> String {
    format!("{text}{}", " ".repeat(width.saturating_sub(count_columns(text))))
}

#[cfg(test)]
mod tests;
