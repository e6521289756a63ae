//! The table of user commands: a line per environment, as people know it from hyperfine and time(1).

use anstyle::Style;
use tare_analysis::findings::{Cell, Comparison, Findings, Level, Row};
use tare_analysis::statistics::spread::compute_spread;
use tare_data::names::USER;
use tare_data::session::Session;

use super::cells::{CellMaker, quiet_style};
use crate::language::{Language, message, say};
use crate::notes::baseline_missing;
use crate::number::{Figure, strip_shared_unit};
use crate::terminal::grid::{GridCell, Part, least_width, make_span, natural_width, render_row, total_width};
use crate::text::{GLUE, clean_text};
use crate::words;

/// The column of answers.
const ANSWER: usize = 3;
/// Column of the shortest and the longest round, after the time.
const RANGE: usize = 2;
/// First column of processor times.
const PROCESSOR: usize = 4;
/// Metrics with separate columns.
const TIMES: [&str; 2] = [message!("user"), message!("system")];

/// Tells whether the rows are user commands alone, in a table that is not the wide one.
pub fn are_alone(rows: &[&Row], wide: bool) -> bool {
    !wide && !rows.is_empty() && rows.iter().all(|row| row.probe.starts_with(USER))
}

/// Explains the columns.
pub fn explain_columns(findings: &Findings, rows: &[&Row], language: Language) -> String {
    let mut parts = vec![
        language.word("time = median over runs (shortest … longest), that of others times its factor; user, system = processor time, mean"),
    ];
    if rows.iter().any(|row| row.cells.iter().any(|cell| cell.comparison().is_some())) {
        parts.push(language.word("( ) = 95 % interval, in a typical pair"));
    }
    if findings.commands_in.is_some() {
        parts.push(language.word("control = the first command against itself"));
    }
    parts.join(language.word("; "))
}

/// Renders a table for each command. Its title goes above it if there are several; the first line is its
/// head.
pub fn render_command_tables(
    session: &Session,
    findings: &Findings,
    rows: &[&Row],
    maker: &mut CellMaker,
    (room, coloured): (usize, bool),
) -> Vec<(String, Vec<String>)> {
    let tables: Vec<(String, Vec<Vec<GridCell>>)> =
        rows.iter().map(|row| (clean_text(&row.label), lines(session, findings, row, maker))).collect();
    // The columns of all tables have equal widths, so that times line up.
    let columns = 2 + TIMES.len() + 1 + 1;
    let width = |at: usize| {
        let cells = tables.iter().flat_map(|(_, lines)| lines).filter_map(|line| line.get(at));
        cells.map(natural_width).max().unwrap_or(0)
    };
    let mut widths: Vec<usize> = (0..columns).map(width).collect();
    // A name, or an answer and its interval, goes on several lines if it does not fit on one.
    for at in [0, ANSWER] {
        let least = tables.iter().flat_map(|(_, lines)| lines).filter_map(|line| line.get(at));
        let least = least.map(least_width).max().unwrap_or(0);
        widths[at] = widths[at].saturating_sub(total_width(&widths).saturating_sub(room)).max(least);
    }
    // A narrow terminal does without processor time, and then without the range.
    let mut kept: Vec<usize> = (0..columns).collect();
    for least_needed in [PROCESSOR..columns, RANGE..ANSWER] {
        let width = total_width(&kept.iter().map(|at| widths[*at]).collect::<Vec<_>>());
        kept.retain(|at| width <= room || !least_needed.contains(at));
    }
    let widths: Vec<usize> = kept.iter().map(|at| widths[*at]).collect();
    let of_line = |line: &Vec<GridCell>| {
        let line: Vec<GridCell> = kept.iter().filter_map(|at| line.get(*at).cloned()).collect();
        render_row(&line, &widths, coloured)
    };
    let laid_out = |lines: &[Vec<GridCell>]| lines.iter().flat_map(of_line).collect::<Vec<String>>();
    tables.iter().map(|(title, lines)| (title.clone(), laid_out(lines))).collect()
}

fn lines(session: &Session, findings: &Findings, row: &Row, maker: &mut CellMaker) -> Vec<Vec<GridCell>> {
    let head = |text: &str| words_of(text, Style::new().bold());
    let language = maker.language;
    let against = match findings.subjects.is_empty() {
        true => String::new(),
        false => say!(language, "times {baseline}", baseline = clean_text(&findings.baseline)),
    };
    let [user, system] = TIMES.map(|time| language.word(time));
    let heads = ["", language.word("time"), "", &against, user, system];
    let mut lines = vec![heads.iter().map(|text| head(text)).collect::<Vec<_>>()];
    let of_case =
        |name: &str| findings.rows.iter().find(|other| other.case == row.case && other.metric.name == name);
    let unit = row.metric.unit;
    // A command may need several lines.
    let glue = if findings.commands_in.is_some() { " ".to_owned() } else { GLUE.to_string() };
    let name = |name: &str| words_of(&clean_text(name).replace(' ', &glue), Style::new());
    let mut baseline = vec![name(&findings.baseline)];
    match &row.baseline {
        Some(level) => baseline.extend(time(level, None, row)),
        None => baseline.extend([
            maker.make_missing_cell(&baseline_missing(session, row, &findings.baseline), unit),
            GridCell::new(),
        ]),
    }
    baseline.push(GridCell::new());
    baseline.extend(
        TIMES.map(|time| figure(of_case(time).and_then(|row| row.baseline.as_ref().map(|l| (l, row))))),
    );
    lines.push(baseline);
    for (i, subject) in findings.subjects.iter().enumerate() {
        let Some(cell) = row.cells.get(i) else { continue };
        let mut line = vec![name(subject)];
        match cell.level() {
            Some(level) => line.extend(time(level, cell.comparison(), row)),
            None => line.extend([GridCell::new(), GridCell::new()]),
        }
        line.push(judged(row, i, maker));
        line.extend(TIMES.map(|time| {
            let other = of_case(time);
            figure(other.and_then(|row| row.cells.get(i).and_then(Cell::level).map(|level| (level, row))))
        }));
        lines.push(line);
    }
    lines
}

/// Formats the typical time, of a comparison by its factor, and the shortest and longest round.
fn time(level: &Level, comparison: Option<&Comparison>, row: &Row) -> [GridCell; 2] {
    let text = |value: f64| Figure::without_interval(value, row.metric.unit).to_text();
    let range = compute_spread(&level.values).filter(|_| level.rounds > 1).map(|spread| {
        let (least, most) = (text(spread.least), text(spread.most));
        format!("({} … {most})", strip_shared_unit(&least, &most))
    });
    let typical = comparison.map_or_else(|| text(level.median), |found| words::format_value(row, found));
    [one(typical, Style::new()), one(range.unwrap_or_default(), quiet_style())]
}

/// Formats the mean: a kernel that counts ticks gives a short run all or nothing.
fn figure(level: Option<(&Level, &Row)>) -> GridCell {
    let mean = |level: &Level| compute_spread(&level.values).map_or(level.median, |spread| spread.mean);
    let text = level.map(|(level, row)| Figure::without_interval(mean(level), row.metric.unit).to_text());
    one(text.unwrap_or_default(), quiet_style())
}

/// Formats the answer with its interval, or the reason for having none.
fn judged(row: &Row, at: usize, maker: &mut CellMaker) -> GridCell {
    match row.cells[at].comparison() {
        Some(comparison) => vec![maker.make_answer(at, comparison)],
        None => maker.make_cell(row, at).into_iter().take(1).collect(),
    }
}

fn words_of(text: &str, style: Style) -> GridCell {
    vec![Part::Words(make_span(text, style))]
}

fn one(text: String, style: Style) -> GridCell {
    vec![Part::Spans(vec![make_span(text, style)])]
}

#[cfg(test)]
mod tests {
    use crate::specimen;
    use crate::terminal::{TerminalOptions, render_terminal};

    #[test]
    fn a_command_has_a_line_for_each_environment_and_no_line_is_too_long() {
        let (session, mut findings) = (specimen::make_session(3), specimen::make_findings(3));
        findings.rows.truncate(3);
        for (row, metric) in findings.rows.iter_mut().zip(["time", "user", "system"]) {
            row.probe = "user.make".into();
            row.case = "user.make?command=x".into();
            row.label = "make -j4".into();
            row.metric.name = metric.into();
            row.headline = metric == "time";
        }
        let text = render_terminal(&session, &findings, &TerminalOptions::default());
        let line =
            |name: &str| text.lines().find(|line| line.starts_with(name)).unwrap_or_default().to_owned();
        assert!(line("native").contains(" … ") && !line("native").contains("x "), "{text}");
        assert!(line("gvisor").contains("24x (23.9 to 24.4x)"), "{text}");
        let flat = text.split_whitespace().collect::<Vec<_>>().join(" ");
        assert!(flat.contains("times native") && flat.contains("user, system = processor time"), "{text}");
        assert!(text.lines().all(|line| line.chars().count() <= 80), "{text}");
        for width in [40, 50, 64] {
            let text = render_terminal(
                &session,
                &findings,
                &TerminalOptions { width, ..TerminalOptions::default() },
            );
            assert!(text.lines().all(|line| line.chars().count() <= width), "{width}: {text}");
            assert!(text.contains("24x") && text.contains("(23.9 to 24.4x)"), "{width}: {text}");
        }
    }
}
