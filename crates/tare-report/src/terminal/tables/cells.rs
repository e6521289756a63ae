//! The cells of the terminal's table: a row's label, the baseline's value, an environment's comparison.

use anstyle::Style;
use tare_analysis::findings::{Cell, Comparison, Findings, Level, Missing, Row};
use tare_data::unit::Unit;

use crate::answers::signs::{self, Sign};
use crate::answers::table::answer_words;
use crate::language::{Language, say};
use crate::notes::{CellWarnings, Notes};
use crate::number::{Figure, format_percent};
use crate::sparkline::draw_distribution;
use crate::terminal::grid::{GridCell, Part, Span, make_span};
use crate::text::{GLUE, clean_text, count_columns};
use crate::view::where_it_runs;
use crate::words;

/// Bars of a distribution in a cell.
const BINS: usize = 8;

/// Returns the style of secondary text.
pub fn quiet_style() -> Style {
    Style::new().dimmed()
}

/// Returns the style of a comparison's answer.
pub fn answer_style(comparison: &Comparison) -> Style {
    answer_words(comparison.answer().kind()).colour.terminal
}

/// Builds the label of a row with the place of its work; a further metric of a case is indented under its
/// headline.
pub fn make_label_cell(row: &Row, language: Language) -> GridCell {
    if !row.headline && !row.is_of_session() {
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
    let value = Figure::of_level(level, unit);
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
    let value = Figure::of_level(level, unit);
    count_columns(&value.number).max(value.half.as_deref().map_or(0, count_columns))
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
    pub findings: &'a Findings,
    pub notes: &'a mut Notes,
    pub warnings: &'a CellWarnings<'a>,
    pub wide: bool,
    pub language: Language,
}

impl CellMaker<'_> {
    /// Builds the cell of the environment at an index; empty where the row has none.
    pub fn make_cell(&mut self, row: &Row, at: usize) -> GridCell {
        match row.cells.get(at) {
            Some(Cell::Compared(comparison)) => self.comparison(row, at, comparison),
            Some(Cell::Observed(level)) => self.observed(level, row.metric.unit),
            Some(Cell::Missing(missing)) => self.make_missing_cell(missing, row.metric.unit),
            None => GridCell::new(),
        }
    }

    /// Builds an answer with its signs and the interval of its number, on as few lines as the column has room for.
    pub fn make_answer(&mut self, at: usize, comparison: &Comparison) -> Part {
        let answer = words::format_answer(comparison, self.language);
        let signs: String = signs::list_signs(self.findings, at, comparison)
            .into_iter()
            .filter(|sign| *sign != Sign::More)
            .map(Sign::character)
            .collect();
        // Each warning has its note here, in place of one sign for all.
        let mut marks = self.warnings.list_marks(comparison, self.notes);
        let doubt = words::explain_doubt(comparison, self.language);
        let doubt = doubt.filter(|_| !self.wide && words::leaves_out(comparison));
        marks.extend(doubt.map(|doubt| self.notes.add_note(&doubt)));
        let marks = marks.join("·");
        let interval = words::format_interval(comparison, self.language);
        let answer = make_span(glued(&format!("{answer}{signs}")), answer_style(comparison));
        let interval = make_span(glued(&format!("{interval}{marks}")), quiet_style());
        Part::Spans(vec![answer, interval])
    }

    /// Builds a cell for a value that is shown and never judged.
    fn observed(&self, level: &Level, unit: Unit) -> GridCell {
        let mut cell = vec![one(make_span(Figure::of_level(level, unit).to_text(), Style::new()))];
        if self.wide {
            cell.push(Part::Words(make_span(self.language.word("observed, never compared"), quiet_style())));
            let rounds = Some(rounds(level)).filter(|_| level.rounds > 0);
            cell.extend(rounds.map(|rounds| one(make_span(rounds, quiet_style()))));
        }
        cell
    }

    /// Builds the answer, the environment's value below it, and all that is known of both.
    fn comparison(&mut self, row: &Row, at: usize, comparison: &Comparison) -> GridCell {
        let language = self.language;
        let mut cell = vec![
            self.make_answer(at, comparison),
            one(make_span(words::format_value(row, comparison), Style::new())),
        ];
        let remark =
            |text: String| Part::Words(make_span(text.replace(" %", &format!("{GLUE}%")), quiet_style()));
        cell.extend(words::explain_doubt(comparison, language).map(remark));
        let mean = words::mean_where_it_differs(comparison, language);
        cell.extend(mean.map(|mean| remark(say!(language, "mean\u{a0}{mean}", mean = glued(&mean)))));
        cell.push(one(make_span(rounds(&comparison.level), quiet_style())));
        let missed = words::find_smallest_difference(comparison).map(format_percent);
        cell.extend(missed.map(|share| remark(say!(language, "may miss <\u{a0}{share}", share))));
        cell
    }

    /// Builds the reason for having no comparison, and the value without one, if it was measured.
    pub fn make_missing_cell(&mut self, missing: &Missing, unit: Unit) -> GridCell {
        let mut cell =
            vec![Part::Words(make_span(self.notes.mark_missing(missing, self.language), quiet_style()))];
        match missing {
            Missing::NoBaseline(level) => {
                cell.push(one(make_span(Figure::of_level(level, unit).to_text(), Style::new())));
            }
            Missing::NotComparable { level, .. } if self.wide => {
                cell.push(one(make_span(Figure::of_level(level, unit).text_with_half(), quiet_style())));
            }
            _ => {}
        }
        cell
    }
}

/// Binds the words of an answer or an interval with no-break spaces.
fn glued(words: &str) -> String {
    words.replace(' ', &GLUE.to_string())
}
