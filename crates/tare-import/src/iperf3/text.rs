//! iperf3's output without `-J`, for a client or a server: the summary below its intervals, rounded as it is
//! printed.

use std::collections::BTreeMap;

use super::line::{RateLine, Side, StreamKey};
use crate::prelude::*;

/// Stands between the intervals and the summary, and between the intervals of several streams.
const RULE: &str = "- - - - ";
/// With `--get-server-output`, the rest is the server's view of the same run.
const SERVER: &str = "Server output:";

/// Beginning of the first line of a client's run.
const CONNECTING: &str = "Connecting to host ";

/// Recognises a line that iperf3 alone writes, or iperf 2, which is told from it when it is read.
pub fn begins_report(line: &str) -> bool {
    is_head(line) || begins_run(line) || is_of_iperf_2(line) || RateLine::parse(line, false).is_some()
}

fn is_head(line: &str) -> bool {
    line.starts_with("[ ID] Interval") || line.starts_with("[ ID][Role] Interval")
}

fn begins_run(line: &str) -> bool {
    [CONNECTING, "Server listening on ", "Accepted connection from ", "iperf 3"]
        .iter()
        .any(|beginning| line.starts_with(beginning))
}

fn is_of_iperf_2(line: &str) -> bool {
    ["Client connecting to ", "Server listening on TCP port ", "Server listening on UDP port "]
        .iter()
        .any(|beginning| line.starts_with(beginning))
}

/// Finds the stream and the number in `[  4] Sent 1585 datagrams`, which follows the summary before version 3.2.
fn find_sent(line: &str) -> Option<(&str, &str)> {
    let (stream, rest) = line.strip_prefix('[')?.split_once("] Sent ")?;
    Some((stream.trim(), rest.strip_suffix(" datagrams")?))
}

/// A run while it is read.
#[derive(Default)]
struct Run<'a> {
    /// The view of the other side follows.
    by_server: bool,
    /// A rule or a title stands above, and a head may follow: that of the summary.
    is_below_rule: bool,
    in_summary: bool,
    is_udp: bool,
    /// Tells of each view, this side's and the server's, that a line of its summary was read.
    has_summary: [bool; 2],
    /// A receiver's line tells of bytes.
    has_received: bool,
    /// This side received: it knows about lost datagrams, or says so.
    receives: bool,
    is_reverse: bool,
    /// True with several streams, whose intervals are also summed.
    has_sum: bool,
    version: Option<String>,
    intervals: Vec<RateLine<'a>>,
    summary: Vec<RateLine<'a>>,
    processors: Vec<FigureBuilder>,
}

pub fn read_iperf3_text(text: &Text) -> Result<ToolOutput, Refusal> {
    let mut reading = ToolOutput::new("iperf3");
    let mut run = Run::default();
    let mut is_cut = false;
    for line in text.lines() {
        if is_of_iperf_2(line) {
            return Err(
                text.refuse_part(line, "this is the output of iperf 2, which is not read; use iperf3")
            );
        }
        if let Some(cause) = line.strip_prefix("iperf3: error - ") {
            let cause = format!("iperf3 reports that the test failed: {}", fit_into_record(cause));
            return Err(text.refuse_part(line, cause));
        }
        if run.is_over_at(line) {
            // The version stands above the line that begins its run.
            let version = run.version.take().filter(|_| run.is_empty());
            let is_below_rule = run.is_below_rule && is_head(line);
            is_cut |= run.is_cut();
            finish(text, &mut reading, std::mem::take(&mut run))?;
            (run.version, run.is_below_rule) = (version, is_below_rule);
        }
        run.read_line(text, line)?;
    }
    if reading.figures.is_empty() && run.summary.is_empty() && (is_cut || run.is_cut()) {
        return Err(text.refuse_end("the report stops before its summary, the lines below '- - -'"));
    }
    finish(text, &mut reading, run)?;
    Ok(reading)
}

impl<'a> Run<'a> {
    fn is_empty(&self) -> bool {
        self.intervals.is_empty() && self.summary.is_empty()
    }

    fn is_cut(&self) -> bool {
        !self.intervals.is_empty() && self.summary.is_empty()
    }

    /// Recognises the first line of another run. A head below a summary is one: it was quoted from there on.
    fn is_over_at(&self, line: &str) -> bool {
        // The server tells of its own connection, too.
        let begins = if self.by_server { line.starts_with(CONNECTING) } else { begins_run(line) };
        begins || (is_head(line) && self.has_summary[usize::from(self.by_server)])
    }

    fn read_line(&mut self, text: &Text, line: &'a str) -> Result<(), Refusal> {
        if line.starts_with(SERVER) {
            (self.by_server, self.in_summary, self.is_below_rule) = (true, false, false);
        } else if is_head(line) {
            self.is_udp |= line.contains("Datagrams");
            self.in_summary = self.is_below_rule;
        } else if line.starts_with(RULE) || line.starts_with("Test Complete. Summary Results:") {
            self.is_below_rule = true;
        } else if line.starts_with("Reverse mode, ") {
            (self.is_reverse, self.receives) = (true, true);
        } else if let Some(version) = line.strip_prefix("iperf 3") {
            self.version = Some(fit_into_record(&format!("3{}", cut_before(version, &[' ']))));
        } else if let Some(shares) = line.strip_prefix("CPU Utilization: ") {
            self.receives |= shares.starts_with("local/receiver");
            self.processors = processors(text, shares)?;
        } else if let Some((stream, count)) = find_sent(line) {
            self.take_summary(stream, count);
        } else if let Some(rate) = RateLine::parse(line, self.by_server) {
            text.check_line_ends(line)?;
            self.has_sum |= rate.stream == "SUM";
            self.is_below_rule = false;
            if self.in_summary || rate.side().is_some() {
                self.has_summary[usize::from(self.by_server)] = true;
                self.has_received |= rate.side() == Some(Side::Receiver) && !rate.is_zero();
                self.summary.push(rate);
            } else {
                self.receives |= rate.has_datagrams() && !self.by_server;
                self.intervals.push(rate);
            }
        }
        Ok(())
    }

    /// Takes a line for the summary that was quoted without its rule: of all datagrams, and from the beginning on.
    fn take_summary(&mut self, stream: &str, count: &str) {
        let is_whole = |line: &RateLine| line.stream == stream && line.is_whole(count);
        if self.summary.is_empty()
            && let Some(line) = self.intervals.pop_if(|line| is_whole(line))
        {
            self.has_summary[usize::from(self.by_server)] = true;
            self.receives = self.is_reverse || self.intervals.iter().any(RateLine::has_datagrams);
            self.summary.push(line);
        }
    }

    /// Recognises a line of the summary that has zeros in place of what its side does not know.
    fn is_placeholder(&self, line: &RateLine<'_>) -> bool {
        line.has_uncounted_arrivals()
            || (line.is_zero() && line.side() == Some(Side::Sender) && self.has_received)
    }
}

/// Labels the sums as the JSON does: all streams together, or the only one, by direction alone.
fn finish(text: &Text, reading: &mut ToolOutput, run: Run<'_>) -> Result<(), Refusal> {
    let mut output = ToolOutput::new("iperf3");
    output.version.clone_from(&run.version);
    if !run.summary.is_empty() {
        output.add_parameter("protocol", if run.is_udp { "UDP" } else { "TCP" });
    }
    if run.is_reverse {
        output.add_parameter("direction", "reverse");
    }
    let amounts = add_amounts(text, &run)?;
    for line in &run.summary {
        if let Some(amounts) = amounts.get(&line.key()).filter(|_| !run.is_placeholder(line)) {
            check_intervals(text, line, amounts)?;
        }
        let stream = match line.stream {
            "SUM" => String::new(),
            stream if run.has_sum => format!(", stream {stream}"),
            _ => String::new(),
        };
        let reverse = if line.is_reverse { ", reverse" } else { "" };
        let server = if line.by_server { ", by the server" } else { "" };
        // Versions before 3.2 close UDP with one line, and count in it what this side counts.
        let direction = match line.side() {
            Some(Side::Receiver) => "received",
            Some(Side::Sender) => "sent",
            None if run.is_udp && run.receives && !line.by_server => "received",
            None => "sent",
        };
        if !run.is_placeholder(line) {
            let name = format!("{direction}{reverse}{stream}{server}");
            output.push(text, line.read_figure(text, &name)?)?;
        }
        if run.is_udp && line.side() != Some(Side::Sender) {
            let loss = line.read_loss(text, &format!("received{reverse}{stream}{server}"))?;
            loss.map_or(Ok(()), |figure| output.push(text, figure))?;
        }
    }
    run.processors.into_iter().try_for_each(|figure| output.push(text, figure))?;
    reading.append(text, output)
}

/// Share by which the sum of intervals may pass the summary: each of them is rounded, and the last one may end after
/// the summary was taken.
const BEYOND_SUMMARY: f64 = 0.02;

/// Bytes of one stream and direction, as one side tells of them.
struct Amounts {
    intervals: Span,
    /// End of the last interval in seconds.
    until: f64,
    /// Greatest amount in the summary: what was sent, or what arrived.
    most: Span,
}

/// Adds up what the lines of a run tell of each stream.
fn add_amounts<'a>(text: &Text, run: &Run<'a>) -> Result<BTreeMap<StreamKey<'a>, Amounts>, Refusal> {
    let mut all = BTreeMap::new();
    let none = || Amounts { intervals: Span::exact(0.0), until: 0.0, most: Span::exact(0.0) };
    for line in &run.summary {
        let amounts = all.entry(line.key()).or_insert_with(none);
        let bytes = line.bytes(text)?;
        if bytes.exceeds(amounts.most) {
            amounts.most = bytes;
        }
    }
    for interval in run.intervals.iter().filter(|interval| !interval.is_omitted()) {
        let amounts = all.entry(interval.key()).or_insert_with(none);
        let (from, to) = interval.seconds(text)?;
        // A client that is terminated writes its last interval twice.
        if from >= amounts.until {
            amounts.intervals = amounts.intervals.plus(interval.bytes(text)?);
            amounts.until = to;
        }
    }
    Ok(all)
}

/// Refuses a line of the summary that has less than its intervals carried.
fn check_intervals(text: &Text, line: &RateLine<'_>, amounts: &Amounts) -> Result<(), Refusal> {
    if amounts.intervals.exceeds(amounts.most.widened(BEYOND_SUMMARY)) {
        let cause = "the intervals above carried more than this line of the summary";
        return Err(text.refuse_part(line.stream, cause));
    }
    Ok(())
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
