//! Values that other tools stated, and the probes of tare that measure the same.
//!
//! A tool that ran alone has no pairs and no interval: of several runs, the middle value and the ends are shown.

mod beside;

use std::collections::BTreeSet;

use serde::Serialize;
use tare_analysis::imported::{Series, Spread, group_runs};
use tare_data::imported::{Imported, ImportedFigure, REMARK, Stated};

use crate::number::{Figure, format_count};
use crate::terminal::NARROWEST;
use crate::terminal::grid::{GridCell, Part, make_span, natural_width, render_row};
use crate::text::json::render_json_line;
use crate::text::{clean_text, count_columns, wrap_paragraph};

pub use beside::{Beside, Own, beside_markdown, beside_terminal, find_matching_values};

pub const SCHEMA: &str = "tare-imported";
/// Version of the document. Fields may be added under the same version; a changed or removed one raises it.
pub const VERSION: u32 = 1;

/// Heading of every table of such values.
const TITLE: &str = "imported: figures that other tools stated. tare did not measure them, so they are paired with \
                     nothing and have no confidence interval.";
/// Widest column for names; longer ones are broken between words.
const WIDEST_NAME: usize = 30;
const NARROWEST_NAME: usize = 16;

/// Describes the tool, its version, its environment and the imported file.
fn origin(imported: &Imported) -> String {
    let version = imported.version.as_ref().map(|version| format!(" {version}")).unwrap_or_default();
    let environment = imported.environment.as_ref().map(|name| format!(" · in {name}")).unwrap_or_default();
    clean_text(&format!("{}{version}{environment} · {}", imported.tool, imported.source.name))
}

/// Formats parameters as `copies 1, samples 7`.
fn parameters<'a>(of: impl IntoIterator<Item = (&'a String, &'a String)>) -> String {
    let texts: Vec<String> =
        of.into_iter().map(|(key, value)| clean_text(&format!("{key} {value}"))).collect();
    texts.join(", ")
}

/// Label of the lines of a file that an import drops.
const NOT_KEPT: &str = "not kept";
/// Limit on the kinds of lines that are listed for a person; programs get all.
const MOST_NOT_KEPT: usize = 3;

/// Lists the dropped lines.
fn not_kept(imported: &Imported) -> Option<String> {
    let all = &imported.not_kept;
    let mut listed: Vec<String> =
        all.iter().take(MOST_NOT_KEPT).map(|line| clean_text(line.trim())).collect();
    if all.len() > MOST_NOT_KEPT {
        listed.push(format_count(all.len() - MOST_NOT_KEPT, "other kind of line", "other kinds of lines"));
    }
    Some(listed.join("; ")).filter(|text| !text.is_empty())
}

/// Limit on the digits of a value as the tool wrote it: JSON has them to the last bit.
const MOST_DIGITS: usize = 12;

/// Formats values as the tool wrote them, so that they can be found in the file; in tare's units if one is
/// too long to read.
fn as_written(figure: &ImportedFigure) -> Vec<String> {
    let digits = |stated: &Stated| stated.written.bytes().filter(u8::is_ascii_digit).count();
    match figure.values.iter().any(|stated| digits(stated) > MOST_DIGITS) {
        true => in_own_units(figure),
        false => figure.values.iter().map(|stated| clean_text(&stated.written)).collect(),
    }
}

fn in_own_units(figure: &ImportedFigure) -> Vec<String> {
    figure.values.iter().map(value).collect()
}

/// Formats a value in tare's unit, or as the tool wrote it if its unit is unknown.
fn value(stated: &Stated) -> String {
    match stated.unit {
        Some(unit) => Figure::without_interval(stated.value, unit).to_text(),
        None => clean_text(&stated.written),
    }
}

/// Formats the values of one run; of several, the middle one and the ends.
fn texts(series: &Series) -> Vec<String> {
    let stated = series.first_run().values.iter();
    if series.spreads.is_empty() {
        return as_written(series.first_run());
    }
    let spread = |(stated, spread): (&Stated, &Spread)| match stated.unit {
        Some(unit) => {
            let text = |value: f64| Figure::without_interval(value, unit).to_text();
            format!("{} ({} to {})", text(spread.median), text(spread.least), text(spread.greatest))
        }
        None => format!("{} ({} to {})", spread.median, spread.least, spread.greatest),
    };
    stated.zip(&series.spreads).map(spread).collect()
}

/// Describes the number of runs, if there are several, and the parameters.
fn about(series: &Series) -> String {
    let runs = series.runs.len();
    let runs = (runs > 1).then(|| format!("{runs} runs: median (least to greatest)"));
    let settings = Some(parameters(series.first_run().settings())).filter(|text| !text.is_empty());
    let remark = series.runs.iter().find_map(|run| run.remark());
    let remark = remark.map(|remark| clean_text(&format!("{REMARK} {remark}")));
    runs.into_iter().chain(settings).chain(remark).collect::<Vec<_>>().join("; ")
}

/// Formats the case in words that a narrow column can break: `net.rr request=1 response=1`.
fn format_counterpart(figure: &ImportedFigure) -> String {
    let Some(counterpart) = &figure.counterpart else { return String::new() };
    let parameters = counterpart.parameters.0.iter().map(|(key, value)| format!(" {key}={value}"));
    clean_text(&format!("{}{}", counterpart.probe, parameters.collect::<String>()))
}

fn count(imported: &[Imported]) -> String {
    let figures = imported.iter().map(|file| file.figures.len()).sum();
    // A file with outputs of several tools is one.
    let files: BTreeSet<_> = imported.iter().map(|file| (&file.source.name, &file.source.sha256)).collect();
    format!("{}, {}", format_count(files.len(), "file", "files"), format_count(figures, "figure", "figures"))
}

/// Renders a table for each file, at most `width` columns wide unless a word is wider.
pub fn render_imported_terminal(imported: &[Imported], width: usize, coloured: bool) -> String {
    let width = width.max(NARROWEST);
    let mut out = wrap_paragraph("", TITLE, width);
    out.push(count(imported));
    for file in imported {
        out.push(String::new());
        out.push(origin(file));
        out.extend(
            wrap_paragraph("  ", &parameters(&file.parameters), width)
                .into_iter()
                .filter(|line| !line.is_empty()),
        );
        let mut rows =
            vec![["figure", "statistic", "value", "metric", "tare's probe"].map(text_cell).to_vec()];
        rows.extend(group_runs(&file.figures).iter().map(row));
        let mut widths: Vec<usize> =
            (0..5).map(|at| rows.iter().map(|row| natural_width(&row[at])).max().unwrap_or(0)).collect();
        let least = count_columns("tare's probe");
        let others: usize = widths[1..4].iter().sum::<usize>() + 4 * crate::terminal::grid::SPACING + least;
        widths[0] = widths[0].min(width.saturating_sub(others).clamp(NARROWEST_NAME, WIDEST_NAME));
        let fixed: usize = widths[..4].iter().sum::<usize>() + 4 * crate::terminal::grid::SPACING;
        widths[4] = widths[4].min(width.saturating_sub(fixed).max(least));
        for (at, row) in rows.iter().enumerate() {
            out.extend(render_row(row, &widths, coloured));
            if at == 0 {
                out.push("─".repeat(fixed + widths[4]));
            }
        }
        let lost = not_kept(file).map(|text| format!("{NOT_KEPT}: {text}"));
        out.extend(lost.iter().flat_map(|text| wrap_paragraph("", text, width)));
    }
    out.join("\n") + "\n"
}

fn text_cell(text: &str) -> GridCell {
    vec![Part::Words(make_span(text, anstyle::Style::new()))]
}

fn one_a_line<'a>(texts: impl Iterator<Item = String> + 'a) -> GridCell {
    texts.map(|text| Part::Spans(vec![make_span(text, anstyle::Style::new())])).collect()
}

fn row(series: &Series) -> Vec<GridCell> {
    let figure = series.first_run();
    let mut name = text_cell(&clean_text(&figure.name));
    let listed = about(series);
    if !listed.is_empty() {
        name.push(Part::Words(make_span(listed, anstyle::Style::new().dimmed())));
    }
    let values = figure.values.iter();
    vec![
        name,
        one_a_line(values.clone().map(|value| value.statistic.to_string())),
        one_a_line(texts(series).into_iter()),
        one_a_line(values.map(|value| clean_text(value.metric.as_deref().unwrap_or("")))),
        text_cell(&format_counterpart(figure)),
    ]
}

#[derive(Serialize)]
struct Document<'a> {
    schema: &'static str,
    version: u32,
    imported: &'a [Imported],
}

/// Writes one JSON document on one line.
pub fn render_imported_json(imported: &[Imported]) -> String {
    render_json_line(&Document { schema: SCHEMA, version: VERSION, imported })
}

#[cfg(test)]
mod tests {
    use tare_data::imported::{Counterpart, Source, Statistic};
    use tare_data::unit::Unit;

    use super::*;

    #[test]
    fn repeated_runs_are_one_line_a_statistic() {
        let run = |value: f64| {
            let stated = Stated {
                statistic: Statistic::Minimum,
                value: value * 1e3,
                unit: Some(Unit::Nanoseconds),
                written: format!("{value} us"),
                metric: Some("min".into()),
            };
            let (name, parameters) = ("TCP REQUEST/RESPONSE".into(), Default::default());
            ImportedFigure { name, parameters, counterpart: None, values: vec![stated] }
        };
        let figures = (70..120).map(|value| run(f64::from(value))).collect();
        let file = Imported { figures, ..hostile() };
        let text = render_imported_terminal(std::slice::from_ref(&file), 120, false);
        assert_eq!(text.matches("TCP REQUEST/RESPONSE").count(), 1, "{text}");
        assert!(text.contains("50 runs") && text.contains("94.5 µs (70.0 µs to 119 µs)"), "{text}");
        let narrow = render_imported_terminal(std::slice::from_ref(&file), 80, false);
        let table = || narrow.lines().skip_while(|line| !line.starts_with("figure "));
        assert!(table().count() > 3 && table().all(|line| count_columns(line) <= 80), "{narrow}");
    }

    fn hostile() -> Imported {
        let text = "<b>|a\u{1b}[31m\n=1+1 @all";
        let stated = Stated {
            statistic: Statistic::Percentile(99.9),
            value: f64::MAX,
            unit: Some(Unit::Nanoseconds),
            written: text.into(),
            metric: Some(text.into()),
        };
        let parameters = [(text.to_owned(), text.to_owned())];
        let counterpart = Counterpart {
            probe: text.into(),
            parameters: tare_data::names::Parameters(parameters.clone().into()),
            peer: None,
        };
        let figure = ImportedFigure {
            name: text.into(),
            parameters: parameters.clone().into(),
            counterpart: Some(counterpart),
            values: vec![stated.clone(), Stated { unit: None, ..stated }],
        };
        Imported {
            tool: text.into(),
            version: Some(text.into()),
            parameters: parameters.into(),
            environment: Some(text.into()),
            source: Source { name: text.into(), bytes: 1, sha256: text.into() },
            figures: vec![figure],
            not_kept: vec![text.into()],
        }
    }

    #[test]
    fn text_from_a_record_stays_text() {
        let all = [hostile()];
        let shown = render_imported_terminal(&all, 80, false);
        assert!(shown.chars().all(|c| c == '\n' || !c.is_control()), "{shown:?}");
        let json = render_imported_json(&all);
        assert_eq!(json.lines().count(), 1);
        assert!(!json.contains('<'), "{json}");
    }

    #[test]
    fn a_narrow_terminal_is_not_overrun_by_prose() {
        let shown = render_imported_terminal(&[hostile()], 10, false);
        assert!(shown.lines().take(2).all(|line| count_columns(line) <= NARROWEST), "{shown}");
    }
}
