//! CrystalDiskMark 7 to 9, and 3 to 6: the text that it copies and saves. The best of its passes, for reads, writes and both.

use super::prelude::*;

/// The line after all results; versions up to 6 set a blank before its colon.
const LAST: &str = "Date:";
const OLD_LAST: &str = "Date :";

pub static IMPORTER: Importer = Importer {
    name: "CrystalDiskMark",
    about: "the text that versions 3 to 9 save or copy",
    end_mark: Some("the line 'Date:'"),
    begins: |line, _| begins_report(line),
    read: read_output,
    json: None,
};

fn begins_report(line: &str) -> bool {
    line.strip_prefix("CrystalDiskMark ").is_some_and(|rest| rest.starts_with(|c: char| c.is_ascii_digit()))
}

/// Reports one after another, each up to its date.
fn read_output(text: &Text) -> Result<ToolOutput, Refusal> {
    let mut reading = ToolOutput::new("CrystalDiskMark");
    let mut report: Option<Report> = None;
    for line in text.lines() {
        if begins_report(line) {
            if let Some(open) = report.replace(Report::new(line)) {
                open.finish(text, &mut reading)?;
            }
        } else if let Some(open) = &mut report {
            open.read_line(text, line)?;
        }
    }
    report.map_or(Ok(()), |open| open.finish(text, &mut reading))?;
    Ok(reading)
}

/// Report while it is read.
struct Report {
    output: ToolOutput,
    /// `read`, `write` or `mix`, below its heading; versions up to 6 have none.
    section: Option<&'static str>,
    has_ended: bool,
}

impl Report {
    fn new(line: &str) -> Report {
        let mut output = ToolOutput::new("CrystalDiskMark");
        let version = line.strip_prefix("CrystalDiskMark ").unwrap_or_default();
        output.version = Some(fit_into_record(cut_before(version, &[' '])));
        Report { output, section: None, has_ended: false }
    }

    fn finish(self, text: &Text, reading: &mut ToolOutput) -> Result<(), Refusal> {
        match self.has_ended {
            true => reading.append(text, self.output),
            false => Err(text.refuse_end(format!("the report stops before its '{LAST}'"))),
        }
    }

    fn read_line(&mut self, text: &Text, line: &str) -> Result<(), Refusal> {
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
