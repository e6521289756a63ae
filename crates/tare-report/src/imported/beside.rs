//! Values of other tools next to a session's own, where they are of the same case and metric.

use serde::Serialize;
use tare_analysis::findings::{Cell, Findings, Level, Missing, Row};
use tare_data::imported::Imported;
use tare_data::session::Session;
use tare_data::unit::Unit;

use super::{origin, text_cell};
use crate::markdown::escape_markdown;
use crate::number::Figure;
use crate::terminal::NARROWEST;
use crate::terminal::grid::{SPACING, natural_width, render_row};
use crate::text::{clean_text, wrap_paragraph};

/// Heading of the table, in every format.
const TITLE: &str = "Beside: figures of other tools. They were not measured in this session's rounds, so there is no \
                     slowdown, interval or verdict between the columns.";
const NOTHING: &str = "No imported figure corresponds to a case and metric of this session.";

/// A value of another tool, and the session's own of the same case and metric.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Beside {
    pub case: String,
    pub label: String,
    pub metric: String,
    pub unit: Unit,
    /// Medians over rounds, in the session's order of environments; an environment without a value is left
    /// out.
    pub own: Vec<Own>,
    pub tool: String,
    /// Source of the other value: tool, version, environment and file.
    pub origin: String,
    /// Environment of the tool, as given by the person who imported the file.
    pub environment: Option<String>,
    pub figure: String,
    pub statistic: String,
    /// Value in `unit`.
    pub value: f64,
    pub written: String,
    /// Parameters of the case that the tool's output does not fix: they may have been different.
    pub open: Vec<String>,
}

/// Median of an environment.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Own {
    #[serde(rename = "environment")]
    pub target: String,
    pub median: f64,
    pub low: f64,
    pub high: f64,
    pub rounds: u32,
}

/// Finds the imported values that are defined as a metric of a case of this session.
pub fn find_matching_values(session: &Session, findings: &Findings, imported: &[Imported]) -> Vec<Beside> {
    let mut found = Vec::new();
    for row in &findings.rows {
        let Some(planned) = session.plan.cases.iter().find(|planned| planned.id == row.case) else {
            continue;
        };
        let figures = imported.iter().flat_map(|file| file.figures.iter().map(move |figure| (file, figure)));
        for (file, figure) in figures {
            let Some(counterpart) = &figure.counterpart else { continue };
            if !counterpart.matches_case(&planned.case) {
                continue;
            }
            let same = |stated: &&tare_data::imported::Stated| {
                stated.metric.as_deref() == Some(&row.metric.name) && stated.unit == Some(row.metric.unit)
            };
            let fixed = &counterpart.parameters.0;
            let all = planned.case.parameters.0.iter();
            let open: Vec<String> = all
                .filter(|(key, _)| !fixed.contains_key(*key))
                .map(|(key, value)| format!("{key}={value}"))
                .collect();
            found.extend(figure.values.iter().filter(same).map(|stated| Beside {
                case: row.case.clone(),
                label: row.label.clone(),
                metric: row.metric.name.clone(),
                unit: row.metric.unit,
                own: own(findings, row),
                tool: file.tool.clone(),
                origin: origin(file),
                environment: file.environment.clone(),
                figure: figure.name.clone(),
                statistic: stated.statistic.to_string(),
                value: stated.value,
                written: stated.written.clone(),
                open: open.clone(),
            }));
        }
    }
    found
}

fn own(findings: &Findings, row: &Row) -> Vec<Own> {
    let of = |target: &str, level: &Level| Own {
        target: target.to_owned(),
        median: level.median,
        low: level.low,
        high: level.high,
        rounds: level.rounds,
    };
    let baseline = row.baseline.iter().map(|level| of(&findings.baseline, level));
    let subjects = row.cells.iter().zip(&findings.subjects);
    baseline.chain(subjects.filter_map(|(cell, target)| level(cell).map(|level| of(target, level)))).collect()
}

fn level(cell: &Cell) -> Option<&Level> {
    match cell {
        Cell::Compared(comparison) => Some(&comparison.level),
        Cell::Observed(level) | Cell::Missing(Missing::NoBaseline(level)) => Some(level),
        Cell::Missing(_) => None,
    }
}

/// Formats a line of the table: case, metric, tare's own values, the other tool's.
fn cells(beside: &Beside) -> [String; 4] {
    let own: Vec<String> = beside
        .own
        .iter()
        .map(|own| {
            let figure = Figure::of_rounds(own.median, (own.low, own.high), own.rounds, beside.unit);
            format!("{} {}", clean_text(&own.target), figure.text_with_half())
        })
        .collect();
    let open = if beside.open.is_empty() {
        String::new()
    } else {
        format!("; {} unknown", clean_text(&beside.open.join(", ")))
    };
    let other = Figure::without_interval(beside.value, beside.unit).to_text();
    [
        clean_text(&beside.label),
        clean_text(&beside.metric),
        own.join("; "),
        format!("{other} ({} of {}; {}{open})", beside.statistic, clean_text(&beside.figure), beside.origin),
    ]
}

const HEAD: [&str; 4] = ["probe", "metric", "tare", "another tool"];

/// Renders the table for a terminal, to follow the session's own.
pub fn beside_terminal(found: &[Beside], width: usize, coloured: bool) -> String {
    let width = width.max(NARROWEST);
    let mut out = vec![String::new()];
    out.extend(wrap_paragraph("", TITLE, width));
    if found.is_empty() {
        out.extend(wrap_paragraph("", NOTHING, width));
        return out.join("\n") + "\n";
    }
    let rows = std::iter::once(HEAD.map(str::to_owned)).chain(found.iter().map(cells));
    let rows: Vec<Vec<_>> = rows.map(|row| row.iter().map(|cell| text_cell(cell)).collect()).collect();
    let mut widths: Vec<usize> =
        (0..4).map(|at| rows.iter().map(|row: &Vec<_>| natural_width(&row[at])).max().unwrap_or(0)).collect();
    // The two long columns share the width that the short ones leave.
    let left = width.saturating_sub(widths[0].min(20) + widths[1] + 3 * SPACING);
    widths[0] = widths[0].min(20);
    widths[2] = widths[2].min(left / 2);
    widths[3] = widths[3].min(left - widths[2]);
    for (at, row) in rows.iter().enumerate() {
        out.extend(render_row(row, &widths, coloured));
        if at == 0 {
            out.push("─".repeat(widths.iter().sum::<usize>() + 3 * SPACING));
        }
    }
    out.join("\n") + "\n"
}

/// Renders the table as Markdown, to follow the session's own.
pub fn beside_markdown(found: &[Beside]) -> String {
    let mut out = format!("\n{}\n", escape_markdown(TITLE));
    if found.is_empty() {
        return out + &format!("\n{}\n", escape_markdown(NOTHING));
    }
    out.push_str(&format!("\n| {} |\n| --- | --- | --- | --- |\n", HEAD.join(" | ")));
    for beside in found {
        out.push_str(&format!("| {} |\n", cells(beside).map(|cell| escape_markdown(&cell)).join(" | ")));
    }
    out
}
