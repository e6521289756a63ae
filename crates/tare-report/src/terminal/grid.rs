//! A table of styled cells that have several lines, laid out in columns that never lose a word.

use anstyle::Style;

use crate::text::{GLUE, count_columns, widest_word, wrap_text};

/// Blank columns between two columns of the table.
pub const SPACING: usize = 2;

/// A run of text in one style.
#[derive(Clone, Debug)]
pub struct Span {
    pub text: String,
    pub style: Style,
}

/// Builds a run of text in a style.
pub fn make_span(text: impl Into<String>, style: Style) -> Span {
    Span { text: text.into(), style }
}

/// Parts of a cell, from top to bottom.
#[derive(Clone, Debug)]
pub enum Part {
    /// Spans side by side, separated by a blank, on as many lines as the column needs. Only a span wider than
    /// the column is broken inside.
    Spans(Vec<Span>),
    /// Text that is wrapped between words as the column requires.
    Words(Span),
}

/// A cell of the table.
pub type GridCell = Vec<Part>;

/// Finds the narrowest column that breaks no word and no span of a cell.
pub fn least_width(cell: &GridCell) -> usize {
    let width = |part: &Part| match part {
        Part::Spans(spans) => spans.iter().map(|span| count_columns(&span.text)).max().unwrap_or(0),
        Part::Words(words) => widest_word(&words.text),
    };
    cell.iter().map(width).max().unwrap_or(0)
}

/// Finds the width at which a cell needs no breaking.
pub fn natural_width(cell: &GridCell) -> usize {
    let width = |part: &Part| match part {
        Part::Spans(spans) => {
            spans.iter().map(|span| count_columns(&span.text) + 1).sum::<usize>().saturating_sub(1)
        }
        Part::Words(words) => count_columns(&words.text),
    };
    cell.iter().map(width).max().unwrap_or(0)
}

/// Renders a row of cells as lines of text; each cell is laid out in the width of its column.
pub fn render_row(row: &[GridCell], widths: &[usize], coloured: bool) -> Vec<String> {
    let cells: Vec<Vec<Vec<Span>>> =
        row.iter().zip(widths).map(|(cell, width)| broken_lines(cell, *width)).collect();
    let height = cells.iter().map(Vec::len).max().unwrap_or(0);
    let line = |i: usize| cells.iter().map(move |cell| cell.get(i).map_or(&[][..], Vec::as_slice));
    (0..height).map(|i| join(line(i), widths, coloured)).collect()
}

/// Breaks a cell into the lines of its column.
fn broken_lines(cell: &GridCell, width: usize) -> Vec<Vec<Span>> {
    let mut out = Vec::new();
    for part in cell {
        match part {
            Part::Spans(spans) => {
                let mut line: Vec<Span> = Vec::new();
                let mut used = 0;
                for next in spans.iter().flat_map(|span| fitting(span, width)) {
                    let needed = count_columns(&next.text);
                    if !line.is_empty() && used + 1 + needed > width {
                        out.push(std::mem::take(&mut line));
                        used = 0;
                    }
                    if !line.is_empty() {
                        line.push(make_span(" ", Style::new()));
                        used += 1;
                    }
                    line.push(next);
                    used += needed;
                }
                out.push(line);
            }
            Part::Words(words) => {
                // Every line keeps the indentation of the first.
                let text = words.text.trim_start_matches(GLUE);
                let indent = (words.text.chars().count() - text.chars().count()).min(width / 2);
                let broken = wrap_text(text, width - indent).into_iter();
                out.extend(broken.map(|line| vec![make_span(" ".repeat(indent) + &line, words.style)]));
            }
        }
    }
    out
}

/// Splits a span into pieces that fit; one that fits stays whole.
fn fitting(whole: &Span, width: usize) -> Vec<Span> {
    if count_columns(&whole.text) <= width {
        return vec![make_span(whole.text.replace(GLUE, " "), whole.style)];
    }
    wrap_text(&whole.text, width).into_iter().map(|piece| make_span(piece, whole.style)).collect()
}

/// Joins a line of the table: cells padded to their columns, nothing after the last visible character.
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
            out.push_str(&paint_span(span, coloured));
            used += count_columns(&span.text);
        }
        blank += width.saturating_sub(used) + SPACING;
    }
    out
}

/// Formats a span, with its style switched on and off around it if the table is coloured.
pub fn paint_span(span: &Span, coloured: bool) -> String {
    if !coloured || span.style.is_plain() {
        return span.text.clone();
    }
    format!("{}{}{:#}", span.style, span.text, span.style)
}

/// Sums the columns of a table and their spacing.
pub fn total_width(widths: &[usize]) -> usize {
    widths.iter().sum::<usize>() + SPACING * widths.len().saturating_sub(1)
}
