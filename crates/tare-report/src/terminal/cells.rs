//! The cells of the terminal's table: a row's label, the baseline's value, an environment's comparison.

use anstyle::Style;
use tare_analysis::findings::{Cell, Comparison, Level, Missing, Row, Shown};
use tare_data::unit::Unit;

use super::grid::{GridCell, Part, Span, make_span};
use crate::language::{Language, say};
use crate::notes::{CellWarnings, Notes};
use crate::number::{Figure, format_percent};
use crate::sparkline::draw_distribution;
use crate::text::{GLUE, clean_text, count_columns};
use crate::verdict_words::{VerdictWords, verdict_words};
use crate::view::where_it_runs;
use crate::words;

/// Number of marks that fit next to an interval; more go on a separate line.
const MARKS_BESIDE: usize = 2;
/// Bars of a distribution in a cell.
const BINS: usize = 8;

/// Returns the style of secondary text.
pub fn quiet_style() -> Style {
    Style::new().dimmed()
}

/// Returns the style of a comparison's verdict.
pub fn verdict_style(comparison: &Comparison) -> Style {
    VerdictWords::from_verdict(comparison.verdict).colour.terminal
}

/// Builds the label of a row with the place of its work; a further metric of a case is indented under its
/// headline.
pub fn make_label_cell(row: &Row, language: Language) -> GridCell {
    if !row.headline {
        return vec![Part::Words(make_span(
            format!("{GLUE}{GLUE}{}", clean_text(&row.metric.name)),
            Style::new(),
        ))];
    }
    let place = where_it_runs(row, language).replace(" · ", &format!(" ·{GLUE}"));
    let place = place.replace("to ", &format!("to{GLUE}"));
    vec![
        Part::Words(make_span(words::translate_row_title(row, language), Style::new())),
        Part::Words(make_span(format!("{GLUE}{GLUE}{place}"), quiet_style())),
    ]
}

/// Builds a level over its half interval, the digits of both in one column.
pub fn make_level_cell(level: &Level, unit: Unit, number_width: usize, wide: bool) -> GridCell {
    let value = value_of(level, unit);
    let half = value.half.clone().unwrap_or_default();
    let right =
        |text: &str| format!("{}{text}", " ".repeat(number_width.saturating_sub(count_columns(text))));
    let mut cell = vec![
        one(make_span(format!("{} {}", right(&value.number), value.unit).trim_end(), Style::new())),
        one(make_span(right(&half), quiet_style())),
    ];
    if wide {
        cell.push(one(make_span(rounds(level), quiet_style())));
    }
    cell
}

/// Measures the columns of a level's number and half interval.
pub fn number_width(level: &Level, unit: Unit) -> usize {
    let value = value_of(level, unit);
    count_columns(&value.number).max(value.half.as_deref().map_or(0, count_columns))
}

fn value_of(level: &Level, unit: Unit) -> Figure {
    Figure::of_level(level, unit)
}

fn one(span: Span) -> Part {
    Part::Spans(vec![span])
}

/// Draws the distribution of a level's rounds, with their number.
fn rounds(level: &Level) -> String {
    format!("{} {}", draw_distribution(&level.values, BINS), level.rounds).trim().to_owned()
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
    pub fn make_cell(&mut self, cell: &Cell, unit: Unit) -> GridCell {
        match cell {
            Cell::Compared(comparison) => self.comparison(comparison, unit),
            Cell::Observed(level) => self.observed(level, unit),
            Cell::Missing(missing) => self.make_missing_cell(missing, unit),
        }
    }

    /// Builds a cell for a value that is shown and never judged.
    fn observed(&self, level: &Level, unit: Unit) -> GridCell {
        let mut cell = vec![one(make_span(value_of(level, unit).to_text(), Style::new()))];
        if self.wide {
            cell.push(Part::Words(make_span(
                self.language.word(verdict_words(Shown::Observed).word),
                quiet_style(),
            )));
            cell.push(one(make_span(rounds(level), quiet_style())));
        }
        cell
    }

    /// Builds the verdict, and below it the environment's value with the interval.
    fn comparison(&mut self, comparison: &Comparison, unit: Unit) -> GridCell {
        let value = value_of(&comparison.level, unit);
        let (value, interval) = match self.wide {
            true => (value.text_with_half(), words::format_interval(comparison, self.language)),
            false => (value.to_text(), words::narrow_interval(comparison, self.language)),
        };
        let marks = self.warnings.list_marks(comparison, self.notes);
        let (beside, below) =
            if marks.len() <= MARKS_BESIDE { (marks.join("·"), None) } else { ("".into(), Some(marks)) };
        let mut cell = vec![
            Part::Words(make_span(
                unbroken(&words::format_verdict(comparison, self.language)),
                verdict_style(comparison),
            )),
            Part::Spans(vec![
                make_span(value, Style::new()),
                make_span(format!("{interval}{beside}"), quiet_style()),
            ]),
        ];
        cell.extend(below.map(|marks| Part::Words(make_span(marks.join(" "), Style::new()))));
        if self.wide {
            let mean = words::mean_where_it_differs(comparison, self.language);
            cell.extend(mean.map(|mean| {
                let mean = say!(self.language, "mean\u{a0}{mean}", mean = mean);
                Part::Words(make_span(mean, quiet_style()))
            }));
            cell.push(one(make_span(rounds(&comparison.level), quiet_style())));
            let found = comparison.smallest.map(|smallest| format_percent((smallest.differs - 1.0).abs()));
            cell.extend(found.map(|share| {
                let words = say!(self.language, "may miss <\u{a0}{share}", share = share);
                Part::Words(make_span(words.replace(" %", &format!("{GLUE}%")), quiet_style()))
            }));
        }
        cell
    }

    /// Builds the reason for having no comparison, and the value without one, if it was measured.
    pub fn make_missing_cell(&mut self, missing: &Missing, unit: Unit) -> GridCell {
        let mut cell =
            vec![Part::Words(make_span(self.notes.mark_missing(missing, self.language), quiet_style()))];
        match missing {
            Missing::NoBaseline(level) => {
                cell.push(one(make_span(value_of(level, unit).to_text(), Style::new())));
            }
            Missing::NotComparable { level, .. } if self.wide => {
                cell.push(one(make_span(value_of(level, unit).text_with_half(), quiet_style())));
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
