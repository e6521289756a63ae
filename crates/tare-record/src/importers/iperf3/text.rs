//! iperf3's output without `-J`, for a client or a server: the summary below its intervals, rounded as it is
//! printed.

use super::super::prelude::*;
use super::super::text::Refusal;

/// Stands between the intervals and the summary.
const RULE: &str = "- - - - ";
/// With `--get-server-output`, the rest is the server's view of the same run.
const SERVER: &str = "Server output:";

pub fn is_report(text: &Text) -> bool {
    text.lines().any(|line| is_head(line) && line.contains("Transfer"))
}

fn is_head(line: &str) -> bool {
    line.starts_with("[ ID] Interval") || line.starts_with("[ ID][Role] Interval")
}

/// A run while its summary is read.
#[derive(Default)]
struct Run<'a> {
    in_summary: bool,
    is_udp: bool,
    /// True with several streams, whose intervals are also summed.
    has_sum: bool,
    lines: Vec<Summed<'a>>,
    processors: Vec<FigureBuilder>,
}

/// `[  5][TX-C]   0.00-1.00   sec   694 MBytes  5.80 Gbits/sec    8             sender`
struct Summed<'a> {
    /// `5`, `SUM`.
    stream: &'a str,
    is_reverse: bool,
    /// `0.00-1.00`.
    interval: &'a str,
    /// Amount and rate, with their units.
    amount: (&'a str, &'a str),
    rate: (&'a str, &'a str),
    rest: Vec<&'a str>,
    by_server: bool,
}

pub fn read_iperf3_text(text: &Text) -> Result<ToolOutput, Refusal> {
    let mut reading = ToolOutput::new("iperf3");
    let mut run = Run::default();
    let mut by_server = false;
    for line in text.lines() {
        run.has_sum |= line.starts_with("[SUM]");
        if let Some(cause) = line.strip_prefix("iperf3: error - ") {
            return Err(text.refuse_part(
                line,
                format!("iperf3 reports that the test failed: {}", fit_into_record(cause)),
            ));
        } else if line.starts_with("Connecting to host ") {
            finish(text, &mut reading, std::mem::take(&mut run))?;
            (by_server, run.in_summary) = (false, false);
        } else if line.starts_with(SERVER) {
            (by_server, run.in_summary) = (true, false);
        } else if is_head(line) {
            run.is_udp |= line.contains("Datagrams");
        } else if line.starts_with(RULE) {
            run.in_summary = true;
        } else if line.starts_with("Reverse mode, ") {
            reading.add_parameter("direction", "reverse");
        } else if let Some(version) = line.strip_prefix("iperf 3") {
            reading.version = Some(fit_into_record(&format!("3{}", cut_before(version, &[' ']))));
        } else if let Some(shares) = line.strip_prefix("CPU Utilization: ") {
            run.processors = processors(text, shares)?;
        } else if run.in_summary
            && let Some(summed) = Summed::parse(line, by_server)
        {
            text.check_line_ends(line)?;
            run.lines.push(summed);
        }
    }
    if !run.in_summary && run.lines.is_empty() && reading.figures.is_empty() {
        return Err(text.refuse_end("the report stops before its summary, the lines below '- - -'"));
    }
    finish(text, &mut reading, run)?;
    Ok(reading)
}

/// Labels the sums as the JSON does: all streams together, or the only one, by direction alone.
fn finish(text: &Text, reading: &mut ToolOutput, run: Run<'_>) -> Result<(), Refusal> {
    if !run.lines.is_empty() {
        reading.add_parameter("protocol", if run.is_udp { "UDP" } else { "TCP" });
    }
    for line in &run.lines {
        let stream = match line.stream {
            "SUM" => String::new(),
            stream if run.has_sum => format!(", stream {stream}"),
            _ => String::new(),
        };
        let reverse = if line.is_reverse { ", reverse" } else { "" };
        let server = if line.by_server { ", by the server" } else { "" };
        // Versions before 3.2 close UDP with one line: the datagrams sent, and the share that arrived.
        let is_received = line.rest.last() == Some(&"receiver");
        let direction = if is_received { "received" } else { "sent" };
        let name = format!("{direction}{reverse}{stream}{server}");
        reading.push(text, line.figure(text, &name)?)?;
        if run.is_udp && line.rest.last() != Some(&"sender") {
            reading.push(text, line.lost(text, &format!("received{reverse}{stream}{server}"))?)?;
        }
    }
    run.processors.into_iter().try_for_each(|figure| reading.push(text, figure))
}

/// Reads `local/sender 42.7% (1.6%u/41.1%s), remote/receiver 35.4% (1.4%u/34.0%s)`.
fn processors(text: &Text, shares: &str) -> Result<Vec<FigureBuilder>, Refusal> {
    let mut figures = Vec::new();
    for side in ["local", "remote"] {
        let share = find_text_after(shares, side).and_then(|rest| rest.split_once(' '));
        if let Some((_, share)) = share {
            let mut figure = FigureBuilder::new(&format!("processor time, {side}"));
            figure.add_text_value(text, Statistic::Value, cut_before(share, &['%']), PERCENT)?;
            figures.push(figure);
        }
    }
    Ok(figures)
}

impl<'a> Summed<'a> {
    fn parse(line: &'a str, by_server: bool) -> Option<Summed<'a>> {
        let (stream, rest) = line.strip_prefix('[')?.split_once(']')?;
        let (role, rest) = match rest.strip_prefix('[').and_then(|rest| rest.split_once(']')) {
            Some((role, rest)) => (role, rest),
            None => ("", rest),
        };
        let words: Vec<&str> = rest.split_whitespace().take(16).collect();
        let [interval, "sec", amount, amount_unit, rate, rate_unit, rest @ ..] = &words[..] else {
            return None;
        };
        Some(Summed {
            stream: stream.trim(),
            is_reverse: role.starts_with("RX"),
            interval,
            amount: (amount, amount_unit),
            rate: (rate, rate_unit),
            rest: rest.to_vec(),
            by_server,
        })
    }

    fn figure(&self, text: &Text, name: &str) -> Result<FigureBuilder, Refusal> {
        let mut figure = FigureBuilder::new(name);
        let unit = |(_, unit): (&str, &'a str)| {
            scale(unit).ok_or_else(|| {
                text.refuse_part(unit, format!("'{}' is not a unit of iperf3", shorten_text(unit)))
            })
        };
        figure.add_text_value(text, Statistic::Throughput, self.rate.0, unit(self.rate)?)?;
        figure.add_text_value(text, Statistic::Count, self.amount.0, unit(self.amount)?)?;
        let elapsed = self.interval.split_once('-').filter(|(from, _)| text.parse_number(from) == Ok(0.0));
        if let Some((_, elapsed)) = elapsed {
            figure.add_text_value(text, Statistic::Elapsed, elapsed, SECONDS)?;
        }
        let is_number = |word: &&&str| word.bytes().all(|byte| byte.is_ascii_digit());
        if let [retransmits, "sender"] = self.rest[..]
            && is_number(&&retransmits)
        {
            figure.add_parameter("retransmits", retransmits);
        }
        Ok(figure)
    }

    /// Reads `0.034 ms  0/77 (0%)  receiver`.
    fn lost(&self, text: &Text, name: &str) -> Result<FigureBuilder, Refusal> {
        let shape =
            || text.refuse_part(self.interval, "no jitter, lost and total datagrams stand in this line");
        let [jitter, "ms", datagrams, percent, ..] = self.rest[..] else { return Err(shape()) };
        let (lost, total) = datagrams.split_once('/').ok_or_else(shape)?;
        let percent = percent.strip_prefix('(').and_then(|rest| rest.strip_suffix("%)")).ok_or_else(shape)?;
        let mut figure = FigureBuilder::new(&format!("{name}: jitter and loss"));
        figure.add_text_value(text, Statistic::Mean, jitter, MILLISECONDS)?;
        figure.add_text_value(text, Statistic::Value, percent, PERCENT)?;
        figure.add_text_value(text, Statistic::Count, total, COUNT)?;
        text.parse_number(lost)?;
        figure.add_parameter("lost packets", lost);
        Ok(figure)
    }
}

/// Reads a unit: iperf3 counts bytes by 1024 and bits by 1000.
fn scale(unit: &str) -> Option<Scale> {
    const UNITS: &[(&str, Unit, f64)] = &[
        ("Bytes", Unit::Bytes, 1024.0),
        ("Bytes/sec", Unit::BytesPerSecond, 1024.0),
        ("bits/sec", Unit::BitsPerSecond, 1000.0),
    ];
    const WRITTEN: &[&str] = &[
        "Bytes",
        "KBytes",
        "MBytes",
        "GBytes",
        "TBytes",
        "Bytes/sec",
        "KBytes/sec",
        "MBytes/sec",
        "GBytes/sec",
        "TBytes/sec",
        "bits/sec",
        "Kbits/sec",
        "Mbits/sec",
        "Gbits/sec",
        "Tbits/sec",
    ];
    let written = *WRITTEN.iter().find(|written| **written == unit)?;
    let (base, known, step) =
        UNITS.iter().find(|(base, ..)| written.trim_start_matches(['K', 'M', 'G', 'T']) == *base)?;
    let power = "KMGT".find(&written[..written.len() - base.len()]).map_or(0, |at| at as i32 + 1);
    let power = if written.len() == base.len() { 0 } else { power };
    Some(Scale { written, unit: Some(*known), factor: step.powi(power) })
}
