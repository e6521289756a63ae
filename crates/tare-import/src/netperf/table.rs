//! The tables of the classic tests, which are the same since netperf 2.0: columns of numbers under a head of words.

use super::banner::Banner;
use super::selected::read_throughput;
use crate::prelude::*;

/// Reads the figures of a classic table; None where the lines are none.
pub fn read_classic_table(
    text: &Text,
    banner: &Banner,
    lines: &[&str],
) -> Result<Option<Vec<FigureBuilder>>, Refusal> {
    // The last line of the head names units, and each kind of table begins it in its own way.
    let Some(at) = lines.iter().position(|line| unit_line(line).is_some()) else {
        return Ok(None);
    };
    let units = lines[at];
    let mut values = lines[at + 1..].iter().copied().filter(|line| !line.trim().is_empty());
    let mut next = |what: &str| {
        let missing = || text.refuse_end(format!("the line with {what} is missing"));
        let line = values.next().ok_or_else(missing)?;
        text.check_line_ends(line)?;
        Ok(line)
    };
    match unit_line(units) {
        Some(Kind::RoundTrips) => {
            let first = next("the local side's sizes and the rate")?;
            // The remote side's sizes are the end of the table.
            next("the remote side's sizes")?;
            let mut figure = round_trips(text, banner, first)?;
            latency(text, &mut figure, &mut values)?;
            Ok(Some(vec![figure]))
        }
        Some(Kind::Stream) => {
            let line = next("the throughput")?;
            Ok(Some(vec![stream(text, banner, units, line)?]))
        }
        Some(Kind::Datagrams) => {
            let (sent, received) = (next("the sent data")?, next("the received data")?);
            check_datagrams(text, units, [sent, received])?;
            Ok(Some(vec![
                datagrams(text, banner, units, sent, &["socket size", "message size", "", "", "errors", ""])?,
                datagrams(text, banner, units, received, &["socket size", "", "", ""])?,
            ]))
        }
        None => Ok(None),
    }
}

enum Kind {
    RoundTrips,
    Stream,
    Datagrams,
}

/// Recognises a table by the line of units that ends its head.
fn unit_line(line: &str) -> Option<Kind> {
    let words: Vec<&str> = line.split_whitespace().take(8).collect();
    match words[..] {
        ["bytes", "Bytes" | "bytes", "bytes", "bytes", "secs.", "per", ..] => Some(Kind::RoundTrips),
        ["bytes", "bytes", "bytes", "secs.", _, ..] => Some(Kind::Stream),
        ["bytes", "bytes", "secs", "#", "#", _, ..] => Some(Kind::Datagrams),
        _ => None,
    }
}

fn columns<'a>(text: &Text, line: &'a str, least: usize) -> Result<Vec<&'a str>, Refusal> {
    let columns: Vec<&str> = line.split_whitespace().take(16).collect();
    if columns.len() < least {
        return Err(
            text.refuse_part(line, format!("{} columns stand here where {least} belong", columns.len()))
        );
    }
    Ok(columns)
}

/// Reads `16384  131072 1        1       1.00     121714.60`, and with `-c -C` the use of the processors.
fn round_trips(text: &Text, banner: &Banner, line: &str) -> Result<FigureBuilder, Refusal> {
    let values = columns(text, line, 6)?;
    let mut figure = named(banner);
    for (key, value) in
        ["send socket size", "receive socket size", "request_size", "response_size"].iter().zip(&values)
    {
        text.parse_number(value)?;
        figure.add_parameter(key, value);
    }
    let protocol = banner.test.split(' ').next().unwrap_or_default().to_ascii_lowercase();
    let is_burst = banner.burst.as_deref().is_some_and(|burst| burst != "0");
    if banner.test.ends_with(" REQUEST/RESPONSE") && !is_burst && matches!(protocol.as_str(), "tcp" | "udp") {
        let fixed = [
            ("protocol", protocol.as_str()),
            ("burst", "1"),
            ("rate", "0"),
            ("request", values[2]),
            ("response", values[3]),
        ];
        figure.set_counterpart("net.rr", &fixed);
        figure.set_peer(banner.peer.as_deref());
    }
    figure.add_text_value(text, Statistic::Elapsed, values[4], SECONDS)?;
    let (statistic, scale) = read_throughput(text, "Trans/s")?;
    figure.add_text_value(text, statistic, values[5], scale)?;
    figure.set_metric("rate");
    processors(text, &mut figure, &values, 6)?;
    Ok(figure)
}

/// Reads the columns that `-c -C` adds after the rate: both processors' shares, and their time per
/// transaction or kilobyte.
fn processors(text: &Text, figure: &mut FigureBuilder, values: &[&str], first: usize) -> Result<(), Refusal> {
    for (side, column) in [("local", first), ("remote", first + 1)] {
        // The processor's share is -1 where it was not measured.
        if let Some(share) = values.get(column).filter(|share| !share.starts_with('-')) {
            text.parse_number(share)?;
            figure.add_parameter(&format!("{side} processor time"), &format!("{share} {}", PERCENT.written));
        }
        if let Some(demand) = values.get(column + 2).filter(|demand| !demand.starts_with('-')) {
            text.parse_number(demand)?;
            figure.add_parameter(&format!("{side} service demand"), demand);
        }
    }
    Ok(())
}

/// Reads the line that `-v 2` adds: `    8      0       0      0   7.275    137456.075 1.100     1.100`.
fn latency<'a>(
    text: &Text,
    figure: &mut FigureBuilder,
    lines: &mut impl Iterator<Item = &'a str>,
) -> Result<(), Refusal> {
    if lines.any(|line| line.contains("usec/Tran")) {
        let line = lines.next().ok_or_else(|| text.refuse_end("the line with the latency is missing"))?;
        let values = columns(text, line, 6)?;
        figure.add_text_value(text, Statistic::TimePerOperation, values[4], MICROSECONDS)?;
        figure.set_metric("time");
    }
    Ok(())
}

/// Reads `131072  16384  16384    1.00     34242.30`.
fn stream(text: &Text, banner: &Banner, units: &str, line: &str) -> Result<FigureBuilder, Refusal> {
    let values = columns(text, line, 5)?;
    let mut figure = named(banner);
    for (key, value) in ["receive socket size", "send socket size", "message size"].iter().zip(&values) {
        text.parse_number(value)?;
        figure.add_parameter(key, value);
    }
    figure.add_text_value(text, Statistic::Elapsed, values[3], SECONDS)?;
    let unit = units.split_whitespace().nth(4).unwrap_or_default();
    let (statistic, scale) = read_throughput(text, unit)?;
    figure.add_text_value(text, statistic, values[4], scale)?;
    processors(text, &mut figure, &values, 5)?;
    Ok(figure)
}

/// Reads `212992    1000   1.00       449120      0    3592.70`, and below it the line of arrivals, without
/// sizes and errors.
fn datagrams(
    text: &Text,
    banner: &Banner,
    units: &str,
    line: &str,
    keys: &[&str],
) -> Result<FigureBuilder, Refusal> {
    let values = columns(text, line, keys.len())?;
    let sent = keys.len() == 6;
    let (elapsed, count) = if sent { (2, 3) } else { (1, 2) };
    let mut figure =
        named(banner).with_name(&format!("{}: {}", banner.test, if sent { "sent" } else { "received" }));
    for (key, value) in keys.iter().zip(&values).filter(|(key, _)| !key.is_empty()) {
        text.parse_number(value)?;
        figure.add_parameter(key, value);
    }
    figure.add_text_value(text, Statistic::Elapsed, values[elapsed], SECONDS)?;
    figure.add_text_value(text, Statistic::Count, values[count], COUNT)?;
    let unit = units.split_whitespace().nth(5).unwrap_or_default();
    let (statistic, scale) = read_throughput(text, unit)?;
    figure.add_text_value(text, statistic, values[keys.len() - 1], scale)?;
    Ok(figure)
}

/// Refuses a rate that is not that of the messages, their size and the time.
fn check_datagrams(text: &Text, units: &str, lines: [&str; 2]) -> Result<(), Refusal> {
    let [sent, received] = [columns(text, lines[0], 6)?, columns(text, lines[1], 4)?];
    let (_, scale) = read_throughput(text, units.split_whitespace().nth(5).unwrap_or_default())?;
    let bits = if scale.unit == Some(Unit::BitsPerSecond) { 8.0 } else { 1.0 };
    let Ok(size) = text.parse_number(sent[1]) else { return Ok(()) };
    for [elapsed, count, rate] in [[sent[2], sent[3], sent[5]], [received[1], received[2], received[3]]] {
        if let (Some(elapsed), Some(count), Some(stated)) =
            (Span::written(elapsed), Span::written(count), Span::written(rate))
        {
            let computed = count.scaled(size * bits).over(elapsed).widened(0.01);
            let what = "messages, size, time and throughput";
            check_agreement(text, rate, stated.scaled(scale.factor), computed, what)?;
        }
    }
    Ok(())
}

fn named(banner: &Banner) -> FigureBuilder {
    let mut figure = FigureBuilder::new(if banner.test.is_empty() { "netperf" } else { &banner.test });
    banner.describe_figure(&mut figure);
    figure
}
