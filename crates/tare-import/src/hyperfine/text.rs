//! hyperfine's output: two lines a command, each time with a unit.

use crate::prelude::*;
use crate::text::Refusal;

/// Recognises the first line of a command, or that of its times, where the first was not quoted.
pub fn begins_report(line: &str) -> bool {
    find_command(line).is_some() || TIMES.iter().any(|label| line.starts_with(label))
}

/// The labels of the times, of several runs and of a single one.
const TIMES: [&str; 2] = ["Time (mean ± σ):", "Time (abs ≡):"];

fn find_command(line: &str) -> Option<&str> {
    let (number, command) = line.strip_prefix("Benchmark ")?.split_once(": ")?;
    number.trim_start_matches('#').parse::<u32>().ok()?;
    Some(command)
}

pub fn read_hyperfine_text(text: &Text) -> Result<ToolOutput, Refusal> {
    let mut reading = ToolOutput::new("hyperfine");
    let mut open: Vec<FigureBuilder> = Vec::new();
    for line in text.lines() {
        if let Some(command) = find_command(line) {
            finish(text, &mut reading, std::mem::replace(&mut open, vec![FigureBuilder::new(command)]))?;
        } else {
            if TIMES.iter().any(|label| line.starts_with(label))
                && open.first().is_none_or(|figure| !figure.is_empty())
            {
                let unnamed = vec![FigureBuilder::new("a command that is not named")];
                finish(text, &mut reading, std::mem::replace(&mut open, unnamed))?;
            }
            times(text, &mut open, line)?;
        }
    }
    finish(text, &mut reading, open)?;
    Ok(reading)
}

fn finish(text: &Text, reading: &mut ToolOutput, figures: Vec<FigureBuilder>) -> Result<(), Refusal> {
    figures.into_iter().filter(|figure| !figure.is_empty()).try_for_each(|figure| reading.push(text, figure))
}

/// Reads `  Time (mean ± σ):      11.5 ms ±   0.1 ms    [User: 1.3 ms, System: 0.0 ms]` and `  Range (min …
/// max):    11.5 ms …  11.6 ms    4 runs`.
fn times(text: &Text, figures: &mut Vec<FigureBuilder>, line: &str) -> Result<(), Refusal> {
    let (false, Some((label, rest))) = (figures.is_empty(), line.split_once("):")) else { return Ok(()) };
    let statistics = match label {
        // A single run is its own mean.
        "Time (mean ± σ" | "Time (abs ≡" => [Statistic::Mean, Statistic::StandardDeviation],
        "Range (min … max" => [Statistic::Minimum, Statistic::Maximum],
        _ => return Ok(()),
    };
    if figures[0].has(statistics[0]) {
        return Ok(());
    }
    let (own, shares) = rest.split_once('[').unwrap_or((rest, ""));
    for (statistic, time) in statistics.into_iter().zip(own.split(['±', '…'])) {
        state(text, &mut figures[0], statistic, time)?;
    }
    if !figures[0].has_ordered_times() {
        return Err(text.refuse_part(rest, "least, mean and greatest are not in their order"));
    }
    if let Some((runs, _)) = own.rsplit_once(" run") {
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
