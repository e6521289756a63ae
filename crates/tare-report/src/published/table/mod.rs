//! Tables in an article's form, as lines for a terminal.

use serde::Serialize;
use tare_analysis::published::{FigureLine, FigureTable, Line, Table, TableCell, TableForm};

use crate::language::{Language, message, say};
use crate::number::format_ratio;
use crate::text::{clean_text, count_columns, wrap_text};

/// Blank columns between two columns.
const GAP: usize = 2;
/// Smallest value that is written with an exponent; no honest one is as large.
const LONGEST_PLAIN: f64 = 1e15;
/// Text of an empty cell.
const NONE: &str = "-";
/// Narrowest column of titles where a table is wider than the terminal.
const NARROWEST_TITLE: usize = 14;

/// The texts of a table, for every form that shows it.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct TableTexts {
    pub heading: String,
    /// Head of several columns, above the first of them; empty where there are no such.
    #[serde(skip)]
    pub groups: Vec<String>,
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
            groups: Vec::new(),
            heads: table.targets.iter().map(|target| clean_text(target)).collect(),
            lines: table.lines.iter().map(line).collect(),
            notes: notes(table, language),
        }
    }

    /// Shows an article's figures on the left and the session's on the right, each with the ratio to the reference.
    pub(crate) fn of_figures(source: &str, table: &FigureTable, language: Language) -> TableTexts {
        let heading = say!(
            language,
            "{article}: its figures as printed (of several runs the mean), and here by its tool's definition:",
            article = clean_text(source)
        );
        // The reference has its column even without values: ratios are to it.
        let has_value = |at: usize| table.lines.iter().any(|line| line.here[at].value.is_some());
        let is_shown = |at: &usize| *at == 0 || has_value(*at);
        let here: Vec<usize> = (0..table.targets.len()).filter(is_shown).collect();
        let name = |at: &usize| table.targets[*at].as_deref().map_or(NONE.into(), clean_text);
        let there: Vec<String> = table.environments.iter().map(|name| clean_text(name)).collect();
        let ours = with_ratio_head(here.iter().map(name).collect(), language);
        let theirs = with_ratio_head(there, language);
        let mut groups = vec![String::new(); theirs.len() + ours.len()];
        groups[0] = language.word("article").to_owned();
        groups[theirs.len()] = language.word("here").to_owned();
        let line = |line: &FigureLine| {
            let [printed_there, printed_here] = line.decimals;
            let theirs = with_ratios(&line.there, printed_there, |_| "");
            let cells: Vec<&TableCell> = here.iter().map(|at| &line.here[*at]).collect();
            let values: Vec<Option<f64>> = cells.iter().map(|cell| cell.value).collect();
            let mark = |at: usize| if cells[at].note.is_some() { "!" } else { "" };
            let ours = with_ratios(&values, printed_here, mark);
            let title = language.describe(&line.name);
            (format!("{}, {}", clean_text(title), line.unit), [theirs, ours].concat())
        };
        let mut notes = Vec::new();
        for (at, target) in table.targets.iter().enumerate() {
            let Some(target) = target else { continue };
            let of = table.lines.iter().filter_map(|line| Some((line.here[at].note.as_deref()?, line)));
            let texts = of.map(|(note, line)| {
                (note_text(target, &line.here[at], note, language), clean_text(language.describe(&line.name)))
            });
            notes.extend(join_notes(texts, table.lines.len()));
        }
        let lines = table.lines.iter().map(line).collect();
        TableTexts { heading, groups, heads: [theirs, ours].concat(), lines, notes }
    }
}

impl TableTexts {
    /// Renders the first rows, as many as these lines and rows of a first screen have room for, with the notes, and then the others; each
    /// part begins with an empty line. Nothing that comes after rows without room has any.
    pub(super) fn split_rows(self, width: usize, room: &mut [usize; 2]) -> [Vec<String>; 2] {
        let part = |from: usize, until: usize, notes: &[String]| {
            let is_empty = from == until && notes.is_empty();
            let (lines, notes) = (self.lines[from..until].to_vec(), notes.to_vec());
            let lines = table_lines(TableTexts { lines, notes, ..self.clone() }, width);
            if is_empty { Vec::new() } else { [vec![String::new()], lines].concat() }
        };
        let all = self.lines.len();
        let fits = |rows: &usize| part(0, *rows, &[]).len() <= room[0];
        let rows = (0..=all.min(room[1])).rev().find(fits).unwrap_or(0);
        let notes = if rows == 0 { [&[][..], &self.notes] } else { [&self.notes[..], &[]] };
        *room = if rows == all { [room[0] - part(0, rows, &[]).len(), room[1] - rows] } else { [0; 2] };
        [part(0, rows, notes[0]), part(rows, all, notes[1])]
    }
}

/// Adds the head of a column of ratios, where one environment is compared with the reference.
fn with_ratio_head(mut names: Vec<String>, language: Language) -> Vec<String> {
    if names.len() == 2 {
        names.push(language.word("ratio").to_owned());
    }
    names
}

/// Formats values of which the first is the reference's: of two with a column for their ratio, of more with the ratio behind each.
fn with_ratios(values: &[Option<f64>], decimals: usize, mark: impl Fn(usize) -> &'static str) -> Vec<String> {
    let text = |at: usize| values[at].map_or(NONE.into(), |value| printed(value, decimals) + mark(at));
    let ratio = |at: usize| {
        let ratio = values[at]? / values[0]?;
        (ratio.is_finite() && ratio > 0.0).then(|| format_ratio(ratio))
    };
    match values.len() {
        2 => vec![text(0), text(1), ratio(1).unwrap_or(NONE.into())],
        _ => (0..values.len())
            .map(|at| match ratio(at).filter(|_| at > 0) {
                Some(ratio) => format!("{} ({ratio})", text(at)),
                None => text(at),
            })
            .collect(),
    }
}

/// Renders a table: its heading, a line per value, and below them the reasons for missing or incomparable
/// values. Where it is too wide, titles fold, then columns go below each other.
pub(super) fn table_lines(table: TableTexts, width: usize) -> Vec<String> {
    let TableTexts { heading, mut groups, heads, lines, notes } = table;
    let mut out = wrap_text(&heading, width);
    let (names, texts): (Vec<String>, Vec<Vec<String>>) = lines.into_iter().unzip();
    let widest = |at: usize| {
        let column = texts.iter().chain([&heads, &groups]).filter_map(|row| row.get(at));
        column.map(|text| count_columns(text)).max().unwrap_or(0)
    };
    let widths: Vec<usize> = (0..heads.len()).map(widest).collect();
    let all: usize = widths.iter().map(|width| GAP + width).sum();
    let longest = names.iter().map(|name| count_columns(name)).max().unwrap_or(0);
    let first = longest.min(width.saturating_sub(all).max(NARROWEST_TITLE));
    let mut from = 0;
    while from < heads.len() {
        let until = from + fitting(&widths[from..], width.saturating_sub(first));
        let row = |name: &str, cells: &[String]| {
            let mut line = padded_end(name, first);
            for (cell, width) in cells[from..until].iter().zip(&widths[from..until]) {
                line.push_str(&" ".repeat((GAP + width).saturating_sub(count_columns(cell))));
                line.push_str(cell);
            }
            line.trim_end().to_owned()
        };
        // A group goes on where its columns do.
        if let Some(group) = groups.iter().take(from + 1).rfind(|group| !group.is_empty()).cloned() {
            groups[from] = group;
            out.push(row("", &groups));
        }
        out.push(row("", &heads));
        for (name, cells) in names.iter().zip(&texts) {
            let mut folded = wrap_text(name, first).into_iter();
            out.push(row(&folded.next().unwrap_or_default(), cells));
            out.extend(folded);
        }
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
    let cells =
        table.lines.iter().flat_map(|line| table.targets.iter().zip(&line.cells).map(move |of| (line, of)));
    let noted = cells.filter_map(|(line, (target, cell))| {
        let text = note_text(target, cell, cell.note.as_deref()?, language);
        Some((text, name_line(line, language)))
    });
    join_notes(noted, table.lines.len())
}

/// Formats the reason of a cell, behind its mark and its environment.
fn note_text(target: &str, cell: &TableCell, note: &str, language: Language) -> String {
    let mark = if cell.value.is_some() { "!" } else { NONE };
    format!("{mark} {}: {}", clean_text(target), language.translate_text(&clean_text(note)))
}

/// Joins the names of lines with one reason; of all lines none is named.
fn join_notes(noted: impl Iterator<Item = (String, String)>, lines: usize) -> Vec<String> {
    let mut all: Vec<(String, Vec<String>)> = Vec::new();
    for (text, name) in noted {
        match all.iter_mut().find(|(known, _)| *known == text) {
            Some((_, names)) => names.push(name),
            None => all.push((text, vec![name])),
        }
    }
    all.iter()
        .map(|(text, names)| match names.len() == lines {
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
