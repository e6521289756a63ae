//! dd: the lines that GNU's, BusyBox's and BSD's close with, in whatever language: numbers are where they are in all.
//!
//! A report is two lines of records (`200+0 ...`) and one with the bytes, the seconds and the rate. Sizes in
//! brackets, words and the kind of comma differ by language; the order of the numbers does not.

use super::prelude::*;

pub static IMPORTER: Importer = Importer {
    name: "dd",
    about: "the closing lines of GNU, BusyBox and BSD dd, in any language",
    end_mark: Some("the line with bytes, seconds and rate"),
    recognises: |text| text.lines().any(|line| records(line).is_some() || is_totals_alone(line)),
    read: read_output,
};

/// Finds `200+0` in a line of records, whose other words are translated.
fn records(line: &str) -> Option<&str> {
    let is_records = |word: &&str| {
        word.split_once('+').is_some_and(|(full, part)| {
            let digits = |text: &str| !text.is_empty() && text.bytes().all(|b| b.is_ascii_digit());
            digits(full) && digits(part)
        })
    };
    line.split_whitespace().find(is_records).filter(|_| line.chars().any(char::is_alphabetic))
}

fn read_output(text: &Text) -> Result<ToolOutput, Refusal> {
    let mut reading = ToolOutput::new("dd");
    let mut seen: Vec<&str> = Vec::new();
    let mut lines = text.lines().peekable();
    while let Some(line) = lines.next() {
        if let Some(records) = records(line) {
            seen.push(records);
            if seen.len() > 2 {
                return Err(
                    text.refuse_part(line, "records again, before the bytes and seconds of those above")
                );
            }
        } else if seen.len() == 2 && is_totals(line) {
            let mut figure = FigureBuilder::new("dd");
            figure.add_parameter("records in", seen[0]);
            figure.add_parameter("records out", seen[1]);
            totals(text, &mut figure, line)?;
            reading.push(text, figure)?;
            seen.clear();
        } else if seen.is_empty()
            && is_totals_alone(line)
            // The lines of `status=progress`, drawn over each other, come before the report.
            && !line.starts_with('\r')
            && lines.peek().is_none_or(|next| records(next).is_none())
        {
            let mut figure = FigureBuilder::new("dd");
            totals(text, &mut figure, line)?;
            reading.push(text, figure)?;
        }
    }
    if !seen.is_empty() {
        return Err(text.refuse_end("the line with the bytes and seconds is missing"));
    }
    Ok(reading)
}

/// Recognises the line with the totals, which follows the records: it has a number of bytes, a time and a
/// rate.
///
/// A line about truncated records, or of another program, has not.
fn is_totals(line: &str) -> bool {
    numbers(&without_brackets(line)).len() >= 2
}

/// Recognises a line of totals by itself, as people quote it: in English, since nothing else identifies it.
fn is_totals_alone(line: &str) -> bool {
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
    state(text, figure, Statistic::Count, bytes, BYTES)?;
    state(text, figure, Statistic::Elapsed, seconds, SECONDS)?;
    // BSD has its rate in brackets: `(214748364 bytes/sec)`.
    let bracketed = line.rsplit_once('(').filter(|_| found.len() == 2).map(|(_, inner)| numbers(&[inner]));
    let rate = found.get(2).or(bracketed.as_ref().and_then(|inner| inner.first()));
    match rate {
        Some(rate) => {
            let binary = seconds.unit == "seconds";
            let scale = scale(rate.unit, binary).ok_or_else(|| {
                text.refuse_part(rate.unit, format!("'{}' is not a rate", shorten_text(rate.unit)))
            })?;
            state(text, figure, Statistic::Throughput, rate, scale)
        }
        // No time passed: GNU writes a word.
        None if line.contains("B/s") => Ok(()),
        None => Err(text.refuse_part(line, "no rate stands here")),
    }
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

/// Reads the unit of a rate: GNU counts in thousands, BusyBox (which writes "seconds" and is not translated)
/// in 1024.
fn scale(unit: &str, binary: bool) -> Option<Scale> {
    let (size, _) = unit.split_once('/')?;
    let known = |written, power: i32, binary: bool| {
        let step: f64 = if binary { 1024.0 } else { 1000.0 };
        Some(Scale { written, unit: Some(Unit::BytesPerSecond), factor: step.powi(power) })
    };
    match size.trim() {
        "B" | "bytes" => known("B/s", 0, false),
        "kB" | "KB" => known("kB/s", 1, binary),
        "MB" => known("MB/s", 2, binary),
        "GB" => known("GB/s", 3, binary),
        "TB" => known("TB/s", 4, binary),
        "KiB" => known("KiB/s", 1, true),
        "MiB" => known("MiB/s", 2, true),
        "GiB" => known("GiB/s", 3, true),
        _ => None,
    }
}
