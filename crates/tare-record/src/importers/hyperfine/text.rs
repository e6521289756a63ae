//! hyperfine's output: two lines a command, each time with a unit.

use super::super::prelude::*;
use super::super::text::Refusal;

pub fn is_report(text: &Text) -> bool {
    let starts = |beginning: &str| text.lines().any(|line| line.trim_start().starts_with(beginning));
    (starts("Benchmark 1: ") || starts("Benchmark #1: ")) && starts("Time (")
}

pub fn read_hyperfine_text(text: &Text) -> Result<ToolOutput, Refusal> {
    let mut reading = ToolOutput::new("hyperfine");
    let mut open: Option<Vec<FigureBuilder>> = None;
    for line in text.lines() {
        if let Some((number, command)) =
            strip_label(line, "Benchmark ").and_then(|rest| rest.split_once(": "))
        {
            if number.trim_start_matches('#').parse::<u32>().is_ok() {
                finish(text, &mut reading, open.replace(vec![FigureBuilder::new(command)]))?;
            }
        } else if let Some(figures) = &mut open {
            times(text, figures, line)?;
        }
    }
    finish(text, &mut reading, open)?;
    Ok(reading)
}

fn finish(text: &Text, reading: &mut ToolOutput, figures: Option<Vec<FigureBuilder>>) -> Result<(), Refusal> {
    let figures = figures.unwrap_or_default();
    figures.into_iter().filter(|figure| !figure.is_empty()).try_for_each(|figure| reading.push(text, figure))
}

/// Reads `  Time (mean ± σ):      11.5 ms ±   0.1 ms    [User: 1.3 ms, System: 0.0 ms]` and `  Range (min …
/// max):    11.5 ms …  11.6 ms    4 runs`.
fn times(text: &Text, figures: &mut Vec<FigureBuilder>, line: &str) -> Result<(), Refusal> {
    let Some((label, rest)) = line.trim_start().split_once("):") else { return Ok(()) };
    let statistics = match label {
        // A single run is its own mean.
        "Time (mean ± σ" | "Time (abs ≡" => [Statistic::Mean, Statistic::StandardDeviation],
        "Range (min … max" => [Statistic::Minimum, Statistic::Maximum],
        _ => return Ok(()),
    };
    let (own, shares) = rest.split_once('[').unwrap_or((rest, ""));
    for (statistic, time) in statistics.into_iter().zip(own.split(['±', '…'])) {
        state(text, &mut figures[0], statistic, time)?;
    }
    if let Some((runs, _)) = own.rsplit_once(" runs") {
        figures[0].add_parameter("runs", runs.rsplit(' ').next().unwrap_or_default());
    }
    let command = figures[0].name().to_owned();
    for share in shares.trim_end().trim_end_matches(']').split(',') {
        let Some((name, time)) = share.split_once(": ") else { continue };
        let mut figure = FigureBuilder::new(&format!("{command}: {} time", name.trim().to_ascii_lowercase()));
        state(text, &mut figure, Statistic::Mean, time)?;
        figures.push(figure);
    }
    Ok(())
}

/// Reads `11.5 ms`, and ignores the rest of the line.
fn state(text: &Text, figure: &mut FigureBuilder, statistic: Statistic, time: &str) -> Result<(), Refusal> {
    let mut words = time.split_whitespace();
    let (Some(digits), Some(unit)) = (words.next(), words.next()) else {
        return Err(text.refuse_part(time, "no time and unit stand here"));
    };
    let scales = [SECONDS, MILLISECONDS, Scale { written: "µs", ..MICROSECONDS }];
    let scale = scales.into_iter().find(|scale| scale.written == unit);
    let scale = scale
        .ok_or_else(|| text.refuse_part(unit, format!("'{}' is not a unit of time", shorten_text(unit))))?;
    figure.add_text_value(text, statistic, digits, scale)
}
