//! The entries of the terminal's table: a row's label, the baseline's figure, an environment's comparison or gap.

use anstyle::{AnsiColor, Style};
use tare_analysis::findings::{Cell, Comparison, Level, Missing, Row, Verdict};
use tare_data::unit::Unit;

use super::grid::{Entry, Part, span};
use crate::notes::{CellWarnings, Notes};
use crate::number::{Figure, ratio, ratio_interval};
use crate::sparkline::distribution;
use crate::text::{GLUE, clean, columns};
use crate::view::where_it_runs;
use crate::words;

/// Marks that stand beside an interval; more have a line of their own.
const MARKS_BESIDE: usize = 2;
/// Bars of a distribution in a cell.
const BINS: usize = 8;

/// The quiet style of what is read second.
pub fn quiet() -> Style {
    Style::new().dimmed()
}

/// Colours that stay apart for most colour-blind readers; the words say the same without them.
fn verdict_style(comparison: &Comparison) -> Style {
    let colour = match comparison.verdict {
        Verdict::Slower => AnsiColor::Red,
        Verdict::Faster => AnsiColor::Cyan,
        Verdict::SlowerUnclear | Verdict::FasterUnclear => AnsiColor::Yellow,
        Verdict::SlightlySlower
        | Verdict::SlightlyFaster
        | Verdict::SlowerUnconfirmed
        | Verdict::FasterUnconfirmed => return Style::new(),
        Verdict::Same | Verdict::Inconclusive => return Style::new(),
    };
    let style = Style::new().fg_color(Some(colour.into()));
    if matches!(comparison.verdict, Verdict::Slower | Verdict::Faster) { style.bold() } else { style }
}

/// The label of a row, and where its work happens; a further metric of a case stands under its headline.
pub fn label(row: &Row) -> Entry {
    if !row.headline {
        return vec![Part::Words(span(format!("{GLUE}{GLUE}{}", clean(&row.metric.name)), Style::new()))];
    }
    vec![
        Part::Words(span(clean(&row.label), Style::new())),
        Part::Words(span(
            format!("{GLUE}{GLUE}{}", where_it_runs(row).replace(" · ", &format!("{GLUE}· "))),
            quiet(),
        )),
    ]
}

/// A level over its half interval, the digits of both in one column.
pub fn level(level: &Level, unit: Unit, number_width: usize, wide: bool) -> Entry {
    let figure = Figure::with_interval(level.median, level.low, level.high, unit);
    let half = figure.half.clone().unwrap_or_default();
    let right = |text: &str| format!("{}{text}", " ".repeat(number_width.saturating_sub(columns(text))));
    let mut entry = vec![
        Part::Line(vec![span(format!("{} {}", right(&figure.number), figure.unit), Style::new())]),
        Part::Line(vec![span(right(&half), quiet())]),
    ];
    if wide {
        entry.push(Part::Line(vec![span(rounds(level), quiet())]));
    }
    entry
}

/// Columns that the number and the half interval of a level need.
pub fn number_width(level: &Level, unit: Unit) -> usize {
    let figure = Figure::with_interval(level.median, level.low, level.high, unit);
    columns(&figure.number).max(figure.half.as_deref().map_or(0, columns))
}

/// The distribution of a level's rounds, and how many they are.
fn rounds(level: &Level) -> String {
    format!("{} {}", distribution(&level.values, BINS), level.rounds).trim().to_owned()
}

/// What the cells of a table have in common while they are made.
pub struct Making<'a> {
    pub notes: &'a mut Notes,
    pub warnings: &'a CellWarnings<'a>,
    pub wide: bool,
}

impl Making<'_> {
    /// An environment's cell.
    pub fn cell(&mut self, cell: &Cell, unit: Unit, ratio_width: usize) -> Entry {
        match cell {
            Cell::Compared(comparison) => self.comparison(comparison, unit, ratio_width),
            Cell::Observed(level) => self.observed(level, unit),
            Cell::Missing(missing) => self.missing(missing, unit),
        }
    }

    /// A figure that is shown and never judged.
    fn observed(&self, level: &Level, unit: Unit) -> Entry {
        let figure = Figure::with_interval(level.median, level.low, level.high, unit);
        let mut entry = vec![Part::Line(vec![span(figure.text(), Style::new())])];
        if self.wide {
            entry.push(Part::Words(span("observed, not compared", quiet())));
            entry.push(Part::Line(vec![span(rounds(level), quiet())]));
        }
        entry
    }

    fn comparison(&mut self, comparison: &Comparison, unit: Unit, ratio_width: usize) -> Entry {
        let number = ratio(comparison.ratio);
        let pad = " ".repeat(ratio_width.saturating_sub(columns(&number)));
        let mut word = words::verdict(comparison.verdict).to_owned();
        if words::is_uncorrected(comparison) {
            word.push(words::UNCORRECTED);
        }
        let style = verdict_style(comparison);
        let head = match comparison.verdict {
            // The best guess at a ratio that nobody can tell would be read as an answer.
            Verdict::Inconclusive => vec![span(word, quiet())],
            _ => vec![span(format!("{pad}{number} "), style), span(word, style)],
        };
        let mut second =
            vec![span(ratio_interval(comparison.low, comparison.high, comparison.ratio), quiet())];
        let marks = self.marks(comparison);
        let beside = marks.len() <= MARKS_BESIDE;
        if beside {
            second.push(span(marks.join("·"), Style::new()));
        }
        let mut entry = vec![Part::Line(head), Part::Line(second)];
        if !beside {
            entry.push(Part::Words(span(marks.join(" "), Style::new())));
        }
        if self.wide {
            let level = &comparison.level;
            let figure = Figure::with_interval(level.median, level.low, level.high, unit);
            entry.push(Part::Line(vec![span(figure.text_with_half(), Style::new())]));
            entry.push(Part::Line(vec![span(rounds(level), quiet())]));
        }
        entry
    }

    /// The marks of a comparison's doubts.
    fn marks(&mut self, comparison: &Comparison) -> Vec<String> {
        let notes: Vec<String> = comparison.warnings.iter().filter_map(|c| self.warnings.note(c)).collect();
        notes.iter().map(|note| self.notes.mark(note)).collect()
    }

    /// A gap: what it is, the mark of its reason, and the figure that stands alone, if there is one.
    pub fn missing(&mut self, missing: &Missing, unit: Unit) -> Entry {
        let (word, reason) = words::missing(missing);
        let mark = reason.filter(|r| !r.trim().is_empty()).map(|reason| self.notes.mark(reason));
        let text = mark.map_or(word.to_owned(), |mark| format!("{word}{GLUE}{mark}"));
        let mut entry = vec![Part::Words(span(text, quiet()))];
        match missing {
            Missing::NoBaseline(level) => {
                let figure = Figure::with_interval(level.median, level.low, level.high, unit);
                entry.insert(0, Part::Line(vec![span(figure.text(), Style::new())]));
            }
            // The raw figure is one step away: beside its reason, where the view is the long one.
            Missing::NotComparable { level, .. } if self.wide => {
                let figure = Figure::with_interval(level.median, level.low, level.high, unit);
                entry.push(Part::Line(vec![span(figure.text_with_half(), quiet())]));
            }
            _ => {}
        }
        entry
    }
}
