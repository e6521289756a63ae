//! hyperfine's tables: CSV, in seconds, and Markdown, in the unit that its head names.

use crate::prelude::*;
use crate::text::Refusal;

const CSV: &str = "command,mean,stddev,";

/// The head of a table, and the meaning of its columns.
pub struct Head<'a> {
    line: &'a str,
    fields: fn(&str) -> Vec<&str>,
    columns: Vec<Column<'a>>,
}

#[derive(Clone, Copy)]
enum Column<'a> {
    Command,
    /// A mean with its deviation behind it, where the table has both in one cell.
    Mean(Scale),
    Time(Statistic, Scale),
    /// Mean processor time, in user mode or in the system.
    Share(&'a str, Scale),
    Parameter(&'a str),
    Unknown,
}

pub fn is_table_head(line: &str) -> bool {
    line.starts_with(CSV) || of_markdown(line).is_some()
}

pub fn find_table_head(text: &Text) -> Option<Head<'_>> {
    text.lines().find_map(|line| {
        if line.starts_with(CSV) {
            let columns = csv_fields(line).into_iter().map(of_csv).collect();
            return Some(Head { line, fields: csv_fields, columns });
        }
        let scale = of_markdown(line)?;
        let columns = cells(line).into_iter().map(|name| match cut_before(name, &['[']) {
            "Command" => Column::Command,
            "Mean" => Column::Mean(scale),
            "Min" => Column::Time(Statistic::Minimum, scale),
            "Max" => Column::Time(Statistic::Maximum, scale),
            "Relative" => Column::Parameter("relative"),
            _ => Column::Unknown,
        });
        Some(Head { line, fields: cells, columns: columns.collect() })
    })
}

fn of_csv(name: &str) -> Column<'_> {
    match name {
        "command" => Column::Command,
        "mean" => Column::Time(Statistic::Mean, SECONDS),
        "stddev" => Column::Time(Statistic::StandardDeviation, SECONDS),
        "median" => Column::Time(Statistic::Percentile(50.0), SECONDS),
        "min" => Column::Time(Statistic::Minimum, SECONDS),
        "max" => Column::Time(Statistic::Maximum, SECONDS),
        "user" | "system" => Column::Share(name, SECONDS),
        name => name.strip_prefix("parameter_").map_or(Column::Unknown, Column::Parameter),
    }
}

/// Reads the unit in a Markdown head: `| Command | Mean [ms] | Min [ms] | Max [ms] | Relative |`.
fn of_markdown(line: &str) -> Option<Scale> {
    let unit = line.strip_prefix("| Command | Mean [")?.split_once(']')?.0;
    [SECONDS, MILLISECONDS, Scale { written: "µs", ..MICROSECONDS }]
        .into_iter()
        .find(|scale| scale.written == unit)
}

/// Splits a line of Markdown into cells. Inside a command, the mark of the table follows a backslash.
fn cells(line: &str) -> Vec<&str> {
    let line = line.trim().trim_start_matches('|').trim_end_matches('|');
    let mut cells = Vec::new();
    let mut start = 0;
    for (at, _) in line.match_indices('|') {
        if !line[..at].ends_with('\\') {
            cells.push(line[start..at].trim());
            start = at + 1;
        }
    }
    cells.push(line[start..].trim());
    cells
}

pub fn read_hyperfine_table(text: &Text, head: &Head<'_>) -> Result<ToolOutput, Refusal> {
    let mut reading = ToolOutput::new("hyperfine");
    let lines = text.lines().skip_while(|line| !std::ptr::eq(*line, head.line)).skip(1);
    let is_markdown = head.line.starts_with('|');
    for line in
        lines.take_while(|line| if is_markdown { line.starts_with('|') } else { !line.trim().is_empty() })
    {
        if line.starts_with("|:") {
            continue;
        }
        let fields = (head.fields)(line);
        if fields.len() != head.columns.len() {
            let cause = format!("{} values under {} names", fields.len(), head.columns.len());
            return Err(text.refuse_part(line, cause));
        }
        text.check_line_ends(line)?;
        row(text, &mut reading, head, &fields)?;
    }
    Ok(reading)
}

fn row(text: &Text, reading: &mut ToolOutput, head: &Head<'_>, fields: &[&str]) -> Result<(), Refusal> {
    let cells = || head.columns.iter().copied().zip(fields.iter().copied());
    let command = cells().find(|(column, _)| matches!(column, Column::Command));
    let command = command.map_or("", |(_, field)| field.trim_matches('`'));
    let mut figure = FigureBuilder::new(command);
    let mut shares = Vec::new();
    for (column, field) in cells() {
        match column {
            Column::Mean(scale) => {
                let (mean, deviation) = field.split_once('±').unwrap_or((field, ""));
                figure.add_text_value(text, Statistic::Mean, mean.trim(), scale)?;
                if !deviation.is_empty() {
                    figure.add_text_value(text, Statistic::StandardDeviation, deviation.trim(), scale)?;
                }
            }
            // A single run has no deviation; the table has a zero.
            Column::Time(Statistic::StandardDeviation, _) if field == "0" => {}
            Column::Time(statistic, scale) => figure.add_text_value(text, statistic, field, scale)?,
            Column::Share(name, scale) => {
                let mut share = FigureBuilder::new(&format!("{command}: {name} time"));
                share.add_text_value(text, Statistic::Mean, field, scale)?;
                shares.push(share);
            }
            Column::Parameter(name) => figure.add_parameter(name, field),
            Column::Command | Column::Unknown => {}
        }
    }
    reading.push(text, figure)?;
    shares.into_iter().try_for_each(|share| reading.push(text, share))
}
