//! CrystalDiskMark 7 to 9, and 3 to 6: the text that it copies and saves. The best of its passes, for reads, writes and both.

use crate::prelude::*;

/// The line after all results; versions up to 6 set a blank before its colon.
const LAST: &str = "Date:";
const OLD_LAST: &str = "Date :";

pub static IMPORTER: Importer = Importer {
    name: "CrystalDiskMark",
    about: "the text that versions 3 to 9 save or copy, or its results alone",
    end_mark: Some("the line 'Date:', if it has the head"),
    begins: |line, next| begins_report(line) || is_result(line) || (is_section(line) && is_result(next)),
    read: read_output,
    json: None,
};

fn begins_report(line: &str) -> bool {
    line.strip_prefix("CrystalDiskMark ").is_some_and(|rest| rest.starts_with(|c: char| c.is_ascii_digit()))
}

/// Recognises `[Read]`, `[Write]` and `[Mix] Read 70%/Write 30%`.
fn is_section(line: &str) -> bool {
    ["[Read]", "[Write]", "[Mix]"].iter().any(|name| line.starts_with(name))
}

/// Recognises the line of a result: `SEQ    1MiB (Q=  8, T= 1):  3011.204 MB/s ...`, `Random Read 4KB (QD=1) : ...`.
fn is_result(line: &str) -> bool {
    let is_new = ["SEQ ", "RND "].iter().any(|kind| line.starts_with(kind)) && line.contains("(Q=");
    let mut words = line.split_whitespace();
    let is_old = matches!(words.next(), Some("Sequential" | "Random"))
        && matches!(words.next(), Some("Read" | "Write"));
    (is_new || is_old) && find_test(line).is_some() && line.contains(" MB/s")
}

/// Finds the test of a result, which stands before its colon.
fn find_test(line: &str) -> Option<&str> {
    line.split_once(':').map(|(test, _)| test.trim())
}

/// Reports one after another, each up to its date, and results that were quoted without their head.
fn read_output(text: &Text) -> Result<ToolOutput, Refusal> {
    let mut reading = ToolOutput::new("CrystalDiskMark");
    let mut report: Option<Report> = None;
    for line in text.lines() {
        let is_over = || report.as_ref().is_none_or(|open| open.is_over_at(line));
        let next = match begins_report(line) {
            true => Some(Report::from_head(line)),
            false => ((is_section(line) || is_result(line)) && is_over()).then(Report::default),
        };
        if let Some(open) = next.and_then(|next| report.replace(next)) {
            open.finish(text, &mut reading)?;
        }
        if let Some(open) = &mut report {
            open.read_line(text, line)?;
        }
    }
    report.map_or(Ok(()), |open| open.finish(text, &mut reading))?;
    Ok(reading)
}

/// Report while it is read.
struct Report<'a> {
    output: ToolOutput,
    /// `read`, `write` or `mix`, below its heading; versions up to 6 have none.
    section: Option<&'static str>,
    /// The test of the first result.
    first: Option<&'a str>,
    has_head: bool,
    has_ended: bool,
}

impl Default for Report<'_> {
    /// Begins results that have no head.
    fn default() -> Self {
        let output = ToolOutput::new("CrystalDiskMark");
        Report { output, section: None, first: None, has_head: false, has_ended: false }
    }
}

impl<'a> Report<'a> {
    fn from_head(line: &str) -> Report<'a> {
        let mut report = Report { has_head: true, ..Report::default() };
        let version = line.strip_prefix("CrystalDiskMark ").unwrap_or_default();
        report.output.version = Some(fit_into_record(cut_before(version, &[' '])));
        report
    }

    /// Recognises the first line of further results: behind the end of a report, or those of the same tests again.
    fn is_over_at(&self, line: &str) -> bool {
        let is_again = match self.section {
            Some(_) => line.starts_with("[Read]") && self.first.is_some(),
            None => self.first.is_some() && find_test(line) == self.first,
        };
        self.has_ended || (!self.has_head && is_again)
    }

    fn finish(self, text: &Text, reading: &mut ToolOutput) -> Result<(), Refusal> {
        match self.has_ended || !self.has_head {
            true => reading.append(text, self.output),
            false => Err(text.refuse_end(format!("the report stops before its '{LAST}'"))),
        }
    }

    fn read_line(&mut self, text: &Text, line: &'a str) -> Result<(), Refusal> {
        self.first = self.first.or_else(|| find_test(line).filter(|_| is_result(line)));
        if let Some((name, shares)) = line.strip_prefix('[').and_then(|rest| rest.split_once(']')) {
            self.section = match name {
                "Read" => Some("read"),
                "Write" => Some("write"),
                // Reads and writes at once, 70 to 30 unless it is set otherwise; named as the report does.
                name if name.starts_with("Mix") => Some("mix"),
                _ => self.section,
            };
            if self.section == Some("mix") {
                self.output.add_parameter("mix", shares);
            }
            return Ok(());
        }
        if let (Some(op), Some((test, result))) = (self.section, line.split_once("):")) {
            let figure = measured(text, op, test, result)?;
            return self.output.push(text, figure);
        }
        let is_old = |(test, result): &(&str, &str)| {
            (test.starts_with("Sequential ") || test.starts_with("Random ")) && result.contains("MB/s")
        };
        if let (None, Some((test, result))) = (self.section, line.split_once(':').filter(is_old)) {
            let figure = old_measured(text, test.trim().trim_end_matches(')'), result)?;
            return self.output.push(text, figure);
        }
        let labels = [("Profile:", "profile"), ("Test:", "test"), ("Mode:", "mode"), ("Time:", "time")];
        let old = [("Test :", "test"), ("OS :", "os"), (OLD_LAST, "date")];
        for (label, key) in labels.into_iter().chain([("OS:", "os"), (LAST, "date")]).chain(old) {
            self.output.add_parameter(key, strip_label(line, label).unwrap_or_default());
        }
        if let Some(date) = strip_label(line, LAST).or_else(|| strip_label(line, OLD_LAST)) {
            text.check_line_ends(date)?;
            self.has_ended = true;
        }
        Ok(())
    }
}

/// Reads `SEQ    1MiB (Q=  8, T= 1` and `   543.188 MB/s [    518.0 IOPS] < 15407.04 us>`.
fn measured(text: &Text, op: &str, test: &str, result: &str) -> Result<FigureBuilder, Refusal> {
    let shape = || text.refuse_part(test, "this is not a test with its block size, queues and threads");
    let (kind, queues) = test.split_once("(Q=").ok_or_else(shape)?;
    let (depth, threads) = queues.split_once(", T=").ok_or_else(shape)?;
    let (depth, threads) = (depth.trim(), threads.trim());
    let (kind, bs) = kind.trim().split_once(char::is_whitespace).ok_or_else(shape)?;
    let bs = bs.replace(char::is_whitespace, "");
    let mut figure = FigureBuilder::new(&format!("{kind} {bs} Q{depth}T{threads} {op}"));
    let pattern = match kind {
        "SEQ" | "Sequential" => "sequential",
        "RND" | "Random" => "random",
        _ => return Err(shape()),
    };
    let parameters =
        [("bs", bs.as_str()), ("op", op), ("pattern", pattern), ("depth", depth), ("threads", threads)];
    if op != "mix" {
        figure.set_counterpart("file.queue", &parameters);
    }
    parameters.iter().for_each(|(key, value)| figure.add_parameter(key, value));
    figure.add_parameter("kept", "the best pass");
    let (rate, rest) =
        result.split_once("MB/s").ok_or_else(|| text.refuse_part(result, "no 'MB/s' stands here"))?;
    figure.add_text_value(text, Statistic::Throughput, rate.trim(), MEGABYTES_PER_SECOND)?;
    figure.set_metric("rate");
    let iops = find_text_after(rest, "[").and_then(|rest| rest.split_once("IOPS]"));
    let (iops, rest) = iops.ok_or_else(|| text.refuse_part(rest, "no '[ ... IOPS]' stands here"))?;
    figure.add_text_value(text, Statistic::Rate, iops.trim(), PER_SECOND)?;
    figure.set_metric("iops");
    check_rates(text, &bs, rate.trim(), iops.trim())?;
    // Version 7 and earlier state no latency.
    if !rest.trim().is_empty() {
        let latency = find_text_after(rest, "<").and_then(|rest| rest.split_once("us>"));
        let (latency, _) = latency.ok_or_else(|| text.refuse_part(rest, "no '< ... us>' stands here"))?;
        figure.add_text_value(text, Statistic::Mean, latency.trim(), MICROSECONDS)?;
        figure.set_metric("mean");
    }
    Ok(figure)
}

/// Refuses rates that are not each other's: bytes a second are requests a second times the block size.
fn check_rates(text: &Text, bs: &str, rate: &str, iops: &str) -> Result<(), Refusal> {
    let digits = leading_digits(bs);
    let block = match (digits.parse::<f64>(), bs[digits.len()..].trim()) {
        (Ok(size), "KB" | "KiB") => size * 1024.0,
        (Ok(size), "MB" | "MiB") => size * 1_048_576.0,
        _ => return Ok(()),
    };
    if let (Some(stated), Some(requests)) = (Span::written(rate), Span::written(iops)) {
        let computed = requests.scaled(block / 1e6).widened(0.001);
        check_agreement(text, rate, stated, computed, "MB/s, IOPS and block size")?;
    }
    Ok(())
}

/// Reads lines of versions up to 6: `Sequential Read (Q= 32,T= 1` and `  3474.312 MB/s`, `Random Write 4KiB
/// (Q= 8,T= 8` and `1125.034 MB/s [ 274666.5 IOPS]`; in version 3 `Random Read 512KB` and `Random Read 4KB (QD=32`.
/// The block size of a sequential test is not stated, so no probe is known to measure the same.
fn old_measured(text: &Text, test: &str, result: &str) -> Result<FigureBuilder, Refusal> {
    let shape = || text.refuse_part(test, "this is not a test with its kind, queues and threads");
    let (kind, queues) = test.split_once('(').unwrap_or((test, ""));
    let kind: Vec<&str> = kind.split_whitespace().collect();
    let (pattern, op, bs) = match kind[..] {
        ["Sequential", op @ ("Read" | "Write")] => ("sequential", op, None),
        ["Random", op @ ("Read" | "Write"), bs] => ("random", op, Some(bs)),
        _ => return Err(shape()),
    };
    let value = |label| find_text_after(queues, label).map(|rest| cut_before(rest, &[',', ' ']));
    let (depth, threads) = (value("Q=").or_else(|| value("QD=")), value("T="));
    let name = format!("{} {}", kind.join(" "), queues.replace(' ', ""));
    let mut figure = FigureBuilder::new(name.trim());
    let op = op.to_ascii_lowercase();
    let noted = [
        ("pattern", Some(pattern)),
        ("op", Some(op.as_str())),
        ("bs", bs),
        ("depth", depth),
        ("threads", threads),
    ];
    for (key, value) in noted {
        figure.add_parameter(key, value.unwrap_or_default());
    }
    figure.add_parameter("kept", "the best pass");
    let (rate, rest) =
        result.split_once("MB/s").ok_or_else(|| text.refuse_part(result, "no 'MB/s' stands here"))?;
    figure.add_text_value(text, Statistic::Throughput, rate.trim(), MEGABYTES_PER_SECOND)?;
    if let Some((iops, _)) = find_text_after(rest, "[").and_then(|rest| rest.split_once("IOPS]")) {
        figure.add_text_value(text, Statistic::Rate, iops.trim(), PER_SECOND)?;
        check_rates(text, bs.unwrap_or_default(), rate.trim(), iops.trim())?;
    }
    Ok(figure)
}
