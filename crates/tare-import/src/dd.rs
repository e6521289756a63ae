//! dd: the lines that GNU's, BusyBox's and BSD's close with, in whatever language: numbers are where they are in all.
//!
//! A report is two lines of records (`200+0 ...`) and one with the bytes, the seconds and the rate. Sizes in
//! brackets, words and the kind of comma differ by language; the order of the numbers does not. Progress, drawn or
//! logged before the report, is no result.

use std::collections::BTreeSet;

use crate::prelude::*;

pub static IMPORTER: Importer = Importer {
    name: "dd",
    about: "the closing lines of GNU, BusyBox and BSD dd, in any language",
    end_mark: Some("the line with bytes, seconds and rate"),
    begins: |line, next| {
        let is_report = records(line).is_some() && (records(next).is_some() || is_totals(next));
        is_report || is_totals_alone(find_quoted(line).0)
    },
    read: read_output,
    json: None,
};

/// Finds `200+0` in a line of records, whose other words are translated, with a blank before the number or without.
fn records(line: &str) -> Option<&str> {
    if !line.chars().any(char::is_alphabetic) {
        return None;
    }
    line.match_indices('+').find_map(|(at, _)| {
        let is_digit = |c: &char| c.is_ascii_digit();
        let from = at - line[..at].chars().rev().take_while(is_digit).count();
        let to = at + 1 + line[at + 1..].chars().take_while(is_digit).count();
        let is_alone = |c: Option<char>| c.is_none_or(|c| !c.is_ascii_alphanumeric() && !".+-:".contains(c));
        let (before, after) = (line[..from].chars().next_back(), line[to..].chars().next());
        (from < at && to > at + 1 && is_alone(before) && is_alone(after)).then(|| &line[from..to])
    })
}

fn read_output(text: &Text) -> Result<ToolOutput, Refusal> {
    let mut reading = ToolOutput::new("dd");
    let mut seen: Vec<&str> = Vec::new();
    // Totals without records, one line below the other: results that were quoted, or the progress of the next report.
    let mut alone: Vec<&str> = Vec::new();
    // A line of text begins a series of runs, and names it.
    let mut series = Series::default();
    for line in text.lines() {
        let (line, heading) = find_quoted(line);
        if !heading.is_empty() {
            push_alone(text, &mut reading, &alone, &series)?;
            alone.clear();
            series.begin(heading);
        }
        if let Some(records) = records(line) {
            seen.push(records);
            if seen.len() > 2 {
                let cause = "records again, before the bytes and seconds of those above";
                return Err(text.refuse_part(line, cause));
            }
        } else if seen.len() == 2 && is_totals(line) {
            if !is_progress(&alone, line) {
                push_alone(text, &mut reading, &alone, &series)?;
            }
            alone.clear();
            let mut figure = series.new_figure();
            figure.add_parameter("records in", seen[0]);
            figure.add_parameter("records out", seen[1]);
            totals(text, &mut figure, line)?;
            reading.push(text, figure)?;
            seen.clear();
        } else if seen.is_empty() && is_totals_alone(line) {
            alone.push(line);
        } else if seen.is_empty() {
            push_alone(text, &mut reading, &alone, &series)?;
            alone.clear();
            series.begin(line);
        }
    }
    if !seen.is_empty() {
        return Err(text.refuse_end("the line with the bytes and seconds is missing"));
    }
    push_alone(text, &mut reading, &alone, &series)?;
    series.name_figures(&mut reading);
    if reading.figures.is_empty() {
        return Err(
            text.refuse_end("this is the progress of a dd that had not ended: its last lines are missing")
        );
    }
    Ok(reading)
}

/// Longest line that names a series, in characters.
const LONGEST_HEADING: usize = 80;
/// Key under which a figure keeps the name of its series.
const SERIES: &str = "series";

/// Runs below one line of text.
#[derive(Default)]
struct Series<'a> {
    heading: &'a str,
}

impl<'a> Series<'a> {
    /// Begins another series where a line is the name of one: words, and neither a time nor a message of the shell.
    fn begin(&mut self, line: &'a str) {
        // A page's own mark may stand before it, with any attributes.
        let line =
            line.strip_prefix('<').and_then(|rest| rest.split_once('>')).map_or(line, |(_, rest)| rest);
        let heading = line.trim().trim_end_matches([':', '：']).trim_start_matches(['#', '=', '-', ' ']);
        let words: Vec<&str> = heading.split_whitespace().collect();
        let is_time = matches!(words.as_slice(), ["real" | "user" | "sys", _]);
        let is_name = heading.starts_with(char::is_alphanumeric) && heading.contains(char::is_alphabetic);
        if is_name && !is_time && heading.chars().count() <= LONGEST_HEADING {
            self.heading = heading;
        }
    }

    fn new_figure(&self) -> FigureBuilder {
        let mut figure = FigureBuilder::new("dd");
        figure.add_parameter(SERIES, self.heading);
        figure
    }

    /// Leaves the name of the series out where there is only one: nothing has to be told from it.
    fn name_figures(&self, reading: &mut ToolOutput) {
        let names: BTreeSet<_> = reading.figures.iter().map(|figure| figure.parameters.get(SERIES)).collect();
        if names.len() < 2 {
            reading.figures.iter_mut().for_each(|figure| drop(figure.parameters.remove(SERIES)));
        }
    }
}

/// Finds the totals that a line quotes between two marks of code, with the text before them; or the whole line. Marks of a list
/// are left out.
fn find_quoted(line: &str) -> (&str, &str) {
    let bare = line.trim_start_matches(['-', '•', '*', ' ']);
    let inner = bare.strip_suffix('`').and_then(|rest| rest.rsplit_once('`'));
    match inner.filter(|(_, quoted)| is_totals_alone(quoted)) {
        Some((heading, quoted)) => (quoted, heading.trim()),
        None if is_totals_alone(bare) => (bare, ""),
        None => (line, ""),
    }
}

/// Adds lines that were quoted without their records, but for those that dd drew while it ran.
fn push_alone(
    text: &Text,
    reading: &mut ToolOutput,
    lines: &[&str],
    series: &Series<'_>,
) -> Result<(), Refusal> {
    for line in lines.iter().filter(|line| !is_drawn(line)) {
        let mut figure = series.new_figure();
        totals(text, &mut figure, line)?;
        reading.push(text, figure)?;
    }
    Ok(())
}

/// Recognises progress by its whole seconds; a result has six digits.
fn is_drawn(line: &str) -> bool {
    numbers(&without_brackets(line)).get(1).is_some_and(|seconds| !seconds.digits.contains(['.', ',', 'e']))
}

/// Recognises lines that lead to a line of totals: neither bytes nor seconds become less.
fn is_progress(lines: &[&str], last: &str) -> bool {
    let state = |line: &str| {
        let found = numbers(&without_brackets(line));
        let value = |at: usize| found.get(at)?.digits.replace(',', ".").parse::<f64>().ok();
        Some((value(0)?, value(1)?))
    };
    let states: Vec<_> = lines.iter().copied().chain([last]).map(state).collect();
    states.windows(2).all(|pair| match (pair[0], pair[1]) {
        (Some(before), Some(after)) => before.0 <= after.0 && before.1 < after.1,
        _ => false,
    })
}

/// Recognises the line with the totals, which follows the records: it has a number of bytes, a time and a
/// rate.
///
/// A line about truncated records, or of another program, has not.
fn is_totals(line: &str) -> bool {
    numbers(&without_brackets(line)).len() >= 2
}

/// Recognises a line of totals by itself, as people quote it: in English by its words, in another language by sizes in brackets,
/// and by a rate that is that of its bytes and seconds.
fn is_totals_alone(line: &str) -> bool {
    let found = numbers(&without_brackets(line));
    let agrees = match found.as_slice() {
        [bytes, seconds, rate] => {
            let is_size =
                line.contains(['(', '（']) && line.trim_start().starts_with(|c: char| c.is_ascii_digit());
            let unit = seconds.unit.to_lowercase();
            is_size
                && unit.starts_with(['s', 'с', '秒'])
                && !fitting_scales(line, [bytes, seconds, rate]).is_empty()
        }
        _ => false,
    };
    agrees || is_totals_in_english(line)
}

fn is_totals_in_english(line: &str) -> bool {
    let is_bytes =
        |rest: &str| rest.starts_with(" bytes ") && (rest.contains("copied") || rest.contains("transferred"));
    let digits = leading_digits(line.trim_start());
    !digits.is_empty() && line.trim_start().strip_prefix(digits).is_some_and(is_bytes) && is_totals(line)
}

/// A number in a line, and the text after it up to the next number.
struct Number<'a> {
    digits: &'a str,
    unit: &'a str,
}

/// Splits off the brackets of a line: GNU gives sizes in them, BSD the rate.
fn without_brackets(line: &str) -> Vec<&str> {
    let mut pieces = Vec::new();
    let mut rest = line;
    while let Some(open) = rest.find(['(', '（']) {
        pieces.push(&rest[..open]);
        match rest[open..].find([')', '）']) {
            Some(close) => {
                let end = open + close;
                rest = &rest[end + rest[end..].chars().next().map_or(0, char::len_utf8)..];
            }
            None => return pieces,
        }
    }
    pieces.push(rest);
    pieces
}

/// Limit on the numbers of a line that are read; a line of totals has three.
const MOST_NUMBERS: usize = 8;

fn numbers<'a>(pieces: &[&'a str]) -> Vec<Number<'a>> {
    let mut found = Vec::new();
    for piece in pieces {
        let mut rest = *piece;
        while let Some(at) = rest.find(|c: char| c.is_ascii_digit()) {
            let from = &rest[at..];
            let digits = number(from);
            let after = &from[digits.len()..];
            let end = after.find(|c: char| c.is_ascii_digit()).unwrap_or(after.len());
            let unit = after[..end].trim_matches(|c: char| c.is_whitespace() || ",、，".contains(c));
            found.push(Number { digits, unit });
            if found.len() >= MOST_NUMBERS {
                return found;
            }
            rest = after;
        }
    }
    found
}

/// Takes the number at the beginning of a text, with a point or a comma before its decimals, and a power of
/// ten.
fn number(text: &str) -> &str {
    let digits = |text: &str| text.bytes().take_while(u8::is_ascii_digit).count();
    let mut end = digits(text);
    // A comma that a digit follows belongs to the number: dd writes no thousands.
    if let Some(decimals) = text[end..].strip_prefix([',', '.']).map(digits).filter(|count| *count > 0) {
        end += 1 + decimals;
    }
    if let Some(power) = text[end..].strip_prefix(['e', 'E']) {
        let sign = usize::from(power.starts_with(['+', '-']));
        if let count @ 1.. = digits(&power[sign..]) {
            end += 1 + sign + count;
        }
    }
    &text[..end]
}

fn totals(text: &Text, figure: &mut FigureBuilder, line: &str) -> Result<(), Refusal> {
    text.check_line_ends(line)?;
    let found = numbers(&without_brackets(line));
    let (Some(bytes), Some(seconds)) = (found.first(), found.get(1)) else {
        return Err(text.refuse_part(line, "no bytes and seconds stand here"));
    };
    if cut_before(seconds.unit, &[' ', ',']).ends_with("/s") {
        return Err(text.refuse_part(line, "a rate stands here, but no seconds"));
    }
    state(text, figure, Statistic::Count, bytes, BYTES)?;
    state(text, figure, Statistic::Elapsed, seconds, SECONDS)?;
    // BSD has its rate in brackets: `(214748364 bytes/sec)`.
    let bracketed = line.rsplit_once('(').filter(|_| found.len() == 2).map(|(_, inner)| numbers(&[inner]));
    let rate = found.get(2).or(bracketed.as_ref().and_then(|inner| inner.first()));
    match rate {
        Some(rate) => {
            let scale = choose_scale(text, line, [bytes, seconds, rate])?;
            state(text, figure, Statistic::Throughput, rate, scale)
        }
        // No time passed: GNU writes a word.
        None if line.contains("B/s") => Ok(()),
        None => Err(text.refuse_part(line, "no rate stands here")),
    }
}

/// Chooses the meaning of the rate's unit that fits bytes and seconds: GNU's MB are 10^6 bytes, those of BusyBox and of
/// Android's toybox 2^20.
fn choose_scale(text: &Text, line: &str, numbers: [&Number<'_>; 3]) -> Result<Scale, Refusal> {
    let [bytes, seconds, rate] = numbers;
    if scales(rate.unit).is_empty() {
        let cause = format!("'{}' is not a rate", shorten_text(rate.unit));
        return Err(text.refuse_part(rate.unit, cause));
    }
    fitting_scales(line, [bytes, seconds, rate])
        .first()
        .copied()
        .ok_or_else(|| text.refuse_part(rate.digits, "bytes, seconds and rate do not agree in this line"))
}

/// Lists the meanings of the rate's unit that fit bytes and seconds, the likeliest first.
fn fitting_scales(line: &str, numbers: [&Number<'_>; 3]) -> Vec<Scale> {
    let [bytes, seconds, rate] = numbers;
    let span = |number: &Number<'_>| Span::written(number.digits).unwrap_or(Span::exact(0.0));
    // The bytes are counted; only time and rate are rounded.
    let count = bytes.digits.replace(',', ".").parse().map_or(Span::exact(0.0), Span::exact);
    let computed = count.over(span(seconds));
    let fits = |scale: &&Scale| span(rate).scaled(scale.factor).meets(computed);
    // BusyBox sets no blank into its brackets, toybox writes no B.
    let is_binary = seconds.unit == "seconds" && has_compact_size(line) || !rate.unit.contains('B');
    let mut fitting: Vec<Scale> = scales(rate.unit).into_iter().filter(|scale| fits(&scale)).collect();
    if is_binary {
        fitting.reverse();
    }
    fitting
}

/// Recognises a size in brackets without a blank: `(1.0GB)`.
fn has_compact_size(line: &str) -> bool {
    let inner = line.split_once('(').and_then(|(_, rest)| rest.split_once(')'));
    inner.is_some_and(|(size, _)| !size.contains(' '))
}

fn state(
    text: &Text,
    figure: &mut FigureBuilder,
    statistic: Statistic,
    number: &Number<'_>,
    scale: Scale,
) -> Result<(), Refusal> {
    let value = number.digits.replace(',', ".").parse::<f64>().ok().filter(|value| value.is_finite());
    let value = value.ok_or_else(|| text.refuse_part(number.digits, "this is not a number"))?;
    figure.hold_as(statistic, value, scale, number.digits);
    Ok(())
}

/// Finds the meanings of a rate's unit, the decimal one first.
fn scales(unit: &str) -> Vec<Scale> {
    const UNITS: &[(&str, &str, i32)] = &[
        ("kB", "kB/s", 1),
        ("KB", "kB/s", 1),
        ("MB", "MB/s", 2),
        ("GB", "GB/s", 3),
        ("TB", "TB/s", 4),
        ("k", "k/s", 1),
        ("K", "K/s", 1),
        ("M", "M/s", 2),
        ("G", "G/s", 3),
        ("T", "T/s", 4),
    ];
    let known = |written, step: f64, power| Scale {
        written,
        unit: Some(Unit::BytesPerSecond),
        factor: step.powi(power),
    };
    let Some((size, _)) = unit.split_once('/') else { return Vec::new() };
    let size = size.trim();
    if let Some((_, written, power)) = UNITS.iter().find(|(name, ..)| *name == size) {
        return vec![known(*written, 1000.0, *power), known(*written, 1024.0, *power)];
    }
    match size {
        "B" | "bytes" => vec![known("B/s", 1.0, 0)],
        "KiB" => vec![known("KiB/s", 1024.0, 1)],
        "MiB" => vec![known("MiB/s", 1024.0, 2)],
        "GiB" => vec![known("GiB/s", 1024.0, 3)],
        _ => Vec::new(),
    }
}
