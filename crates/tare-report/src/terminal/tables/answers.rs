//! The table of answers: how many times as long a row takes in each environment, in one line a row.

use anstyle::Style;
use tare_analysis::findings::{Cell, Comparison, Findings, Kind, Row};
use tare_data::session::Session;
use tare_data::unit::Direction;

use super::cells::quiet_style;
use crate::answers::signs;
use crate::answers::table::answer_words;
use crate::language::{Language, say};
use crate::notes::{Notes, baseline_missing};
use crate::number::Figure;
use crate::terminal::grid::{GridCell, Part, SPACING, make_span, natural_width, render_row, total_width};
use crate::text::{GLUE, clean_text, count_columns};
use crate::{view, words};

/// Widest column of labels; longer ones are wrapped.
const WIDEST_LABEL: usize = 28;
/// Limit on the lines of a table with short answers: a head and rows that are taken in at a glance.
const MOST_LINES: usize = 24;

/// Forms of a cell, the fullest first.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Form {
    /// The answer with its interval.
    Interval,
    /// `at most 3 % slower`
    Words,
    /// `<3%`
    Short,
}

/// A cell in every form.
struct Answered {
    words: String,
    short: String,
    interval: String,
    /// Signs after the answer.
    signs: String,
    style: Style,
}

impl Answered {
    fn answer(&self, form: Form) -> String {
        let text = if form == Form::Short { &self.short } else { &self.words };
        format!("{text}{}", self.signs)
    }
}

/// The table's cells, column by column, before it is known in which form they fit.
pub struct AnswerTable {
    labels: Vec<String>,
    baseline: String,
    values: Vec<String>,
    subjects: Vec<(String, Vec<Answered>)>,
    language: Language,
}

impl AnswerTable {
    pub fn new(
        session: &Session,
        findings: &Findings,
        rows: &[&Row],
        notes: &mut Notes,
        language: Language,
    ) -> Self {
        let values = rows.iter().map(|row| match &row.baseline {
            Some(level) => Figure::without_interval(level.median, row.metric.unit).to_text(),
            None => {
                let missing = baseline_missing(session, row, &findings.baseline);
                notes.mark_missing(&missing, language)
            }
        });
        let values = align_numbers(values.collect());
        let column = |(at, name): (usize, &String)| {
            let cells = rows.iter().map(|row| answered(findings, row, at, notes, language));
            (clean_text(name), cells.collect())
        };
        AnswerTable {
            labels: rows.iter().map(|row| words::translate_row_title(row, language)).collect(),
            baseline: clean_text(&findings.baseline),
            values,
            subjects: findings.subjects.iter().enumerate().map(column).collect(),
            language,
        }
    }

    /// Finds the fullest form in which all environments fit side by side; short ones may need several tables.
    pub fn choose_form(&self, width: usize) -> Form {
        let fits = |form: &Form| total_width(&self.widths(0..self.subjects.len(), *form, width)) <= width;
        [Form::Interval, Form::Words].into_iter().find(fits).unwrap_or(Form::Short)
    }

    /// Renders the tables of a form, each a list of lines.
    pub fn render_tables(&self, form: Form, width: usize, coloured: bool) -> Vec<Vec<String>> {
        let rows = match form {
            Form::Interval | Form::Words => self.labels.len().max(1),
            Form::Short => MOST_LINES - 1,
        };
        let columns = self.split_columns(form, width);
        let all: Vec<usize> = (0..self.labels.len()).collect();
        let of_rows = |rows: &[usize]| {
            let tables =
                columns.iter().map(|columns| self.render(columns.clone(), rows, form, (width, coloured)));
            tables.collect::<Vec<_>>()
        };
        all.chunks(rows).flat_map(of_rows).collect()
    }

    /// Splits the environments evenly over as few tables as the width allows.
    fn split_columns(&self, form: Form, width: usize) -> Vec<std::ops::Range<usize>> {
        let all = self.subjects.len();
        let split = |tables: usize| {
            let each = all.div_ceil(tables);
            (0..all).step_by(each.max(1)).map(move |from| from..(from + each).min(all)).collect::<Vec<_>>()
        };
        let fits = |columns: &std::ops::Range<usize>| {
            columns.len() == 1 || total_width(&self.widths(columns.clone(), form, width)) <= width
        };
        (1..=all).map(split).find(|tables| tables.iter().all(fits)).unwrap_or_default()
    }

    fn widths(&self, columns: std::ops::Range<usize>, form: Form, width: usize) -> Vec<usize> {
        let widest = |texts: &mut dyn Iterator<Item = usize>| texts.max().unwrap_or(0);
        let label = widest(&mut self.labels.iter().map(|label| count_columns(label)))
            .min(WIDEST_LABEL)
            .min(width / 2);
        let value = widest(&mut self.values.iter().chain([&self.baseline]).map(|text| count_columns(text)));
        let subject = |(name, cells): &(String, Vec<Answered>)| {
            let padded = widest_with_interval(cells, form);
            let cells = cells.iter().map(|cell| natural_width(&make_cell(cell, form, padded)));
            widest(&mut cells.chain([count_columns(name)]))
        };
        let mut widths: Vec<usize> = [label, value.min(width / 3)].into();
        widths.extend(self.subjects[columns].iter().map(subject));
        if widths.len() == 3 {
            // Nothing is left to fold: the only environment takes the room that there is, and labels give way.
            let rest = width.saturating_sub(widths[0] + widths[1] + 2 * SPACING);
            let lacking = widths[2].min(width / 2).saturating_sub(rest);
            widths[0] = widths[0].saturating_sub(lacking).max(8);
            widths[2] = widths[2].min(width.saturating_sub(widths[0] + widths[1] + 2 * SPACING)).max(6);
        }
        widths
    }

    fn render(
        &self,
        columns: std::ops::Range<usize>,
        rows: &[usize],
        form: Form,
        (width, coloured): (usize, bool),
    ) -> Vec<String> {
        let widths = self.widths(columns.clone(), form, width);
        let head = |text: &str| -> GridCell { vec![Part::Words(make_span(text, Style::new().bold()))] };
        let names = self.subjects[columns.clone()].iter().map(|(name, _)| head(name));
        let heads: Vec<GridCell> =
            [head(self.language.word("probe")), head(&self.baseline)].into_iter().chain(names).collect();
        let mut lines = render_row(&heads, &widths, coloured);
        for at in rows {
            let label = vec![Part::Words(make_span(self.labels[*at].as_str(), Style::new()))];
            let value =
                vec![Part::Words(make_span(self.values[*at].replace(' ', &GLUE.to_string()), Style::new()))];
            let cells = self.subjects[columns.clone()]
                .iter()
                .map(|(_, cells)| make_cell(&cells[*at], form, widest_with_interval(cells, form)));
            let line: Vec<GridCell> = [label, value].into_iter().chain(cells).collect();
            lines.extend(render_row(&line, &widths, coloured));
        }
        lines
    }
}

/// Measures the widest answer that has an interval, so that intervals line up.
fn widest_with_interval(cells: &[Answered], form: Form) -> usize {
    let with = cells.iter().filter(|cell| !cell.interval.is_empty());
    with.map(|cell| count_columns(&cell.answer(form))).max().unwrap_or(0)
}

fn make_cell(cell: &Answered, form: Form, padded: usize) -> GridCell {
    let answer = cell.answer(form);
    if form != Form::Interval || cell.interval.is_empty() {
        return vec![Part::Spans(vec![make_span(answer, cell.style)])];
    }
    let pad = " ".repeat(padded.saturating_sub(count_columns(&answer)));
    vec![Part::Spans(vec![
        make_span(answer, cell.style),
        make_span(format!("{pad}{}", cell.interval), quiet_style()),
    ])]
}

fn answered(findings: &Findings, row: &Row, at: usize, notes: &mut Notes, language: Language) -> Answered {
    let plain = |text: String| Answered {
        short: text.clone(),
        words: text,
        interval: String::new(),
        signs: String::new(),
        style: quiet_style(),
    };
    match row.cells.get(at) {
        None => plain(String::new()),
        Some(Cell::Compared(comparison)) => {
            Answered { signs: signs::write_signs(findings, at, comparison), ..compared(comparison, language) }
        }
        Some(Cell::Observed(level)) => {
            plain(Figure::without_interval(level.median, row.metric.unit).to_text())
        }
        Some(Cell::Missing(missing)) => plain(notes.mark_missing(missing, language)),
    }
}

fn compared(comparison: &Comparison, language: Language) -> Answered {
    let answer = comparison.answer().kind();
    let interval = match answer {
        Kind::Slower | Kind::Faster | Kind::NotSure => words::format_interval(comparison, language),
        Kind::Same | Kind::AtLeast | Kind::AtMost | Kind::None => String::new(),
    };
    Answered {
        words: words::format_answer(comparison, language),
        short: words::format_short_answer(comparison, language),
        interval,
        signs: String::new(),
        style: answer_words(answer).colour.terminal,
    }
}

/// Aligns the numbers of values at their units.
fn align_numbers(values: Vec<String>) -> Vec<String> {
    let number = |value: &str| value.split_once(' ').map_or(0, |(number, _)| count_columns(number));
    let widest = values.iter().map(|value| number(value)).max().unwrap_or(0);
    let pad = |value: &String| match value.contains(' ') {
        true => " ".repeat(widest - number(value)) + value,
        false => value.clone(),
    };
    values.iter().map(pad).collect()
}

/// Says above the table how to read its numbers, and how many of the answers are decided.
///
/// A bound counts apart: it excludes more than it says, and does not say which side is slower.
pub fn make_caption(findings: &Findings, rows: &[&Row], language: Language) -> String {
    let baseline = clean_text(&findings.baseline);
    let answers: Vec<Kind> = rows
        .iter()
        .filter(|row| Row::is_judged(&row.probe))
        .flat_map(|row| &row.cells)
        .filter_map(Cell::comparison)
        .map(|cell| cell.answer().kind())
        .collect();
    let all = answers.len();
    let decided = answers.iter().filter(|answer| answer.is_decided()).count();
    let bounds = answers.iter().filter(|&&answer| answer == Kind::AtMost).count();
    let reading = say!(language, "Times the time of {baseline}:", baseline);
    let counts = match (all, decided, bounds) {
        (0, _, _) => return reading,
        (all, decided, _) if decided == all => say!(language, "all {all} answers are decided", all),
        (_, _, 0) => say!(language, "{decided} of {all} answers are decided", decided, all),
        (_, _, 1) => say!(language, "{decided} of {all} answers are decided, 1 is a limit", decided, all),
        _ => say!(
            language,
            "{decided} of {all} answers are decided, {bounds} are limits",
            decided,
            all,
            bounds
        ),
    };
    format!("{reading} {counts}")
}

/// Explains the answers that occur in a table of a form.
pub fn explain_answers(session: &Session, rows: &[&Row], form: Form, language: Language) -> Vec<String> {
    let cells = || rows.iter().flat_map(|row| &row.cells).filter_map(Cell::comparison);
    let has = |answer: Kind| cells().any(|cell| cell.answer().kind() == answer);
    let is_short = form == Form::Short;
    let mut parts = view::explain_answers(session, rows, language);
    let is_rate = |row: &&Row| row.metric.direction == Direction::Higher;
    if rows.iter().any(is_rate) && (has(Kind::Slower) || has(Kind::NotSure)) {
        parts.push(language.word("rates too: 2x = twice as long").to_owned());
    }
    if has(Kind::AtMost) {
        let explanation = match is_short {
            true => language.word("<3% = at most 3 % slower, perhaps the same or faster"),
            false => language.word("at most = perhaps the same or faster"),
        };
        parts.push(explanation.to_owned());
    }
    if has(Kind::NotSure) && is_short {
        parts.push(language.word("~10x? = about 10x, not sure").to_owned());
    }
    let is_interval = |cell: &Comparison| {
        !matches!(cell.answer().kind(), Kind::Same | Kind::AtMost)
            && !words::format_interval(cell, language).is_empty()
    };
    if form == Form::Interval && cells().any(is_interval) {
        parts.push(language.word("( ) = true value, 95 times in 100").to_owned());
    }
    parts
}
