//! A table of styled cells that have several lines, laid out in columns that never lose a word.

use anstyle::Style;

use crate::text::{columns, widest_word, wrap};

/// Blank columns between two columns of the table.
pub const GAP: usize = 2;

/// A run of text in one style.
#[derive(Clone, Debug)]
pub struct Span {
    pub text: String,
    pub style: Style,
}

/// A run of text in a style.
pub fn span(text: impl Into<String>, style: Style) -> Span {
    Span { text: text.into(), style }
}

/// What a cell holds, from top to bottom.
#[derive(Clone, Debug)]
pub enum Part {
    /// One line that is never broken.
    Line(Vec<Span>),
    /// Text that is broken between words as the column asks.
    Words(Span),
}

/// A cell of the table.
pub type Entry = Vec<Part>;

/// The narrowest column that breaks no word of an entry.
pub fn least_width(entry: &Entry) -> usize {
    entry.iter().map(|part| part_width(part, widest_word)).max().unwrap_or(0)
}

/// The width at which an entry needs no breaking.
pub fn natural_width(entry: &Entry) -> usize {
    entry.iter().map(|part| part_width(part, columns)).max().unwrap_or(0)
}

fn part_width(part: &Part, words_width: impl Fn(&str) -> usize) -> usize {
    match part {
        Part::Line(spans) => spans.iter().map(|span| columns(&span.text)).sum(),
        Part::Words(words) => words_width(&words.text),
    }
}

/// A row of entries as lines of text; each entry is laid out in the width of its column.
pub fn layout(row: &[Entry], widths: &[usize], coloured: bool) -> Vec<String> {
    let cells: Vec<Vec<Vec<Span>>> =
        row.iter().zip(widths).map(|(entry, width)| lines(entry, *width)).collect();
    let height = cells.iter().map(Vec::len).max().unwrap_or(0);
    let line = |i: usize| cells.iter().map(move |cell| cell.get(i).map_or(&[][..], Vec::as_slice));
    (0..height).map(|i| join(line(i), widths, coloured)).collect()
}

/// The lines of an entry in its column.
fn lines(entry: &Entry, width: usize) -> Vec<Vec<Span>> {
    let mut out = Vec::new();
    for part in entry {
        match part {
            Part::Line(spans) => out.push(spans.clone()),
            Part::Words(words) => {
                let broken = wrap(&words.text, width).into_iter();
                out.extend(broken.map(|line| vec![span(line, words.style)]));
            }
        }
    }
    out
}

/// One line of the table: cells padded to their columns, nothing after the last visible character.
fn join<'a>(cells: impl Iterator<Item = &'a [Span]>, widths: &[usize], coloured: bool) -> String {
    let mut out = String::new();
    let mut blank = 0;
    for (spans, width) in cells.zip(widths) {
        let mut used = 0;
        for span in spans {
            if span.text.is_empty() {
                continue;
            }
            out.push_str(&" ".repeat(std::mem::take(&mut blank)));
            out.push_str(&paint(span, coloured));
            used += columns(&span.text);
        }
        blank += width.saturating_sub(used) + GAP;
    }
    out
}

/// A span with its style switched on and off around it, or bare.
pub fn paint(span: &Span, coloured: bool) -> String {
    if !coloured || span.style.is_plain() {
        return span.text.clone();
    }
    format!("{}{}{:#}", span.style, span.text, span.style)
}

/// Columns that a table of these widths takes.
pub fn total(widths: &[usize]) -> usize {
    widths.iter().sum::<usize>() + GAP * widths.len().saturating_sub(1)
}
