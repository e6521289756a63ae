//! The cells of the terminal's table: a row's label, the baseline's value, an environment's comparison.

use anstyle::Style;
use tare_analysis::findings::{Cell, Comparison, Level, Missing, Row, Shown};
use tare_data::unit::Unit;

use super::grid::{GridCell, Part, Span, span};
use crate::language::{Language, say};
use crate::notes::{CellWarnings, Notes};
use crate::number::{Figure, percent};
use crate::sparkline::distribution;
use crate::text::{GLUE, clean, columns};
use crate::verdict_words::{VerdictWords, verdict_words};
use crate::view::where_it_runs;
use crate::words;

/// Number of marks that fit next to an interval; more go on a separate line.
const MARKS_BESIDE: usize = 2;
/// Bars of a distribution in a cell.
const BINS: usize = 8;

/// Returns the style of secondary text.
pub fn quiet() -> Style {
    Style::new().dimmed()
}

/// Returns the style of a comparison's verdict.
pub fn verdict_style(comparison: &Comparison) -> Style {
    VerdictWords::of(comparison.verdict).colour.terminal
}

/// Builds the label of a row with the place of its work; a further metric of a case is indented under its
/// headline.
pub fn label(row: &Row, language: Language) -> GridCell {
    if !row.headline {
        return vec![Part::Words(span(format!("{GLUE}{GLUE}{}", clean(&row.metric.name)), Style::new()))];
    }
    let place = where_it_runs(row, language).replace(" · ", &format!(" ·{GLUE}"));
    let place = place.replace("to ", &format!("to{GLUE}"));
    vec![
        Part::Words(span(words::title(row, language), Style::new())),
        Part::Words(span(format!("{GLUE}{GLUE}{place}"), quiet())),
    ]
}

/// Builds a level over its half interval, the digits of both in one column.
pub fn level(level: &Level, unit: Unit, number_width: usize, wide: bool) -> GridCell {
    let value = value_of(level, unit);
    let half = value.half.clone().unwrap_or_default();
    let right = |text: &str| format!("{}{text}", " ".repeat(number_width.saturating_sub(columns(text))));
    let mut cell = vec![
        one(span(format!("{} {}", right(&value.number), value.unit).trim_end(), Style::new())),
        one(span(right(&half), quiet())),
    ];
    if wide {
        cell.push(one(span(rounds(level), quiet())));
    }
    cell
}

/// Measures the columns of a level's number and half interval.
pub fn number_width(level: &Level, unit: Unit) -> usize {
    let value = value_of(level, unit);
    columns(&value.number).max(value.half.as_deref().map_or(0, columns))
}

fn value_of(level: &Level, unit: Unit) -> Figure {
    Figure::of_level(level, unit)
}

fn one(span: Span) -> Part {
    Part::Spans(vec![span])
}

/// Draws the distribution of a level's rounds, with their number.
fn rounds(level: &Level) -> String {
    format!("{} {}", distribution(&level.values, BINS), level.rounds).trim().to_owned()
}

/// Shared state of the cells of a table while they are made.
pub struct CellMaker<'a> {
    pub notes: &'a mut Notes,
    pub warnings: &'a CellWarnings<'a>,
    pub wide: bool,
    pub language: Language,
}

impl CellMaker<'_> {
    /// Builds an environment's cell.
    pub fn cell(&mut self, cell: &Cell, unit: Unit) -> GridCell {
        match cell {
            Cell::Compared(comparison) => self.comparison(comparison, unit),
            Cell::Observed(level) => self.observed(level, unit),
            Cell::Missing(missing) => self.missing(missing, unit),
        }
    }

    /// Builds a cell for a value that is shown and never judged.
    fn observed(&self, level: &Level, unit: Unit) -> GridCell {
        let mut cell = vec![one(span(value_of(level, unit).text(), Style::new()))];
        if self.wide {
            cell.push(Part::Words(span(self.language.word(verdict_words(Shown::Observed).word), quiet())));
            cell.push(one(span(rounds(level), quiet())));
        }
        cell
    }

    /// Builds the verdict, and below it the environment's value with the interval.
    fn comparison(&mut self, comparison: &Comparison, unit: Unit) -> GridCell {
        let value = value_of(&comparison.level, unit);
        let (value, interval) = match self.wide {
            true => (value.text_with_half(), words::interval(comparison, self.language)),
            false => (value.text(), words::narrow_interval(comparison, self.language)),
        };
        let marks = self.warnings.marks(comparison, self.notes);
        let (beside, below) =
            if marks.len() <= MARKS_BESIDE { (marks.join("·"), None) } else { ("".into(), Some(marks)) };
        let mut cell = vec![
            Part::Words(span(
                unbroken(&words::verdict(comparison, self.language)),
                verdict_style(comparison),
            )),
            Part::Spans(vec![span(value, Style::new()), span(format!("{interval}{beside}"), quiet())]),
        ];
        cell.extend(below.map(|marks| Part::Words(span(marks.join(" "), Style::new()))));
        if self.wide {
            let mean = words::mean_where_it_differs(comparison, self.language);
            cell.extend(mean.map(|mean| {
                let mean = say!(self.language, "mean\u{a0}{mean}", mean = mean);
                Part::Words(span(mean, quiet()))
            }));
            cell.push(one(span(rounds(&comparison.level), quiet())));
            let found = comparison.smallest.map(|smallest| percent((smallest.differs - 1.0).abs()));
            cell.extend(found.map(|share| {
                let words = say!(self.language, "may miss <\u{a0}{share}", share = share);
                Part::Words(span(words.replace(" %", &format!("{GLUE}%")), quiet()))
            }));
        }
        cell
    }

    /// Builds the reason for having no comparison, and the value without one, if it was measured.
    pub fn missing(&mut self, missing: &Missing, unit: Unit) -> GridCell {
        let mut cell = vec![Part::Words(span(self.notes.missing(missing, self.language), quiet()))];
        match missing {
            Missing::NoBaseline(level) => {
                cell.push(one(span(value_of(level, unit).text(), Style::new())));
            }
            Missing::NotComparable { level, .. } if self.wide => {
                cell.push(one(span(value_of(level, unit).text_with_half(), quiet())));
            }
            _ => {}
        }
        cell
    }
}

/// Binds the words of a verdict with no-break spaces, except before a remark in brackets.
fn unbroken(words: &str) -> String {
    words.replace(' ', &GLUE.to_string()).replace(&format!("{GLUE}("), " (")
}
