//! CrystalDiskMark 7 to 9, and 3 to 6: the text that it copies and saves. The best of its passes, for reads, writes and both.

use super::prelude::*;

/// The line after all results; versions up to 6 set a blank before its colon.
const LAST: &str = "Date:";
const OLD_LAST: &str = "Date :";

pub static IMPORTER: Importer = Importer {
    name: "CrystalDiskMark",
    about: "the text that versions 3 to 9 save or copy",
    end_mark: Some("the line 'Date:'"),
    recognises: |text| text.lines().take(20).any(|line| line.starts_with("CrystalDiskMark ")),
    read: read_output,
};

fn read_output(text: &Text) -> Result<ToolOutput, Refusal> {
    let mut reading = ToolOutput::new("CrystalDiskMark");
    let mut section = None;
    let mut ended = false;
    let mut figures = Vec::new();
    for line in text.lines() {
        if let Some(version) = line.strip_prefix("CrystalDiskMark ") {
            if reading.version.is_some() {
                return Err(text.refuse_part(line, "a second report begins here; one file holds one"));
            }
            reading.version = Some(fit_into_record(cut_before(version, &[' '])));
        } else if let Some((name, shares)) =
            line.trim().strip_prefix('[').and_then(|rest| rest.split_once(']'))
        {
            section = match name {
                "Read" => Some("read"),
                "Write" => Some("write"),
                // Reads and writes at once, 70 to 30 unless it is set otherwise; named as the report does.
                name if name.starts_with("Mix") => Some("mix"),
                _ => section,
            };
            if section == Some("mix") {
                reading.add_parameter("mix", shares);
            }
        } else if let (Some(op), Some((test, result))) = (section, line.split_once("):")) {
            figures.push(measured(text, op, test, result)?);
        } else if let (None, Some((test, result))) = (section, line.split_once(") :")) {
            figures.push(old_measured(text, test.trim(), result)?);
        } else {
            let labels = [("Profile:", "profile"), ("Test:", "test"), ("Mode:", "mode"), ("Time:", "time")];
            let old = [("Test :", "test"), ("OS :", "os"), (OLD_LAST, "date")];
            for (label, key) in labels.into_iter().chain([("OS:", "os"), (LAST, "date")]).chain(old) {
                reading.add_parameter(key, strip_label(line, label).unwrap_or_default());
            }
            if let Some(date) = strip_label(line, LAST).or_else(|| strip_label(line, OLD_LAST)) {
                text.check_line_ends(date)?;
                ended = true;
            }
        }
        if figures.len() > super::output::MOST_FIGURES {
            break;
        }
    }
    if !ended {
        return Err(text.refuse_end(format!("the report stops before its '{LAST}'")));
    }
    for figure in figures {
        reading.push(text, figure)?;
    }
    Ok(reading)
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
    // Version 7 and earlier state no latency.
    if !rest.trim().is_empty() {
        let latency = find_text_after(rest, "<").and_then(|rest| rest.split_once("us>"));
        let (latency, _) = latency.ok_or_else(|| text.refuse_part(rest, "no '< ... us>' stands here"))?;
        figure.add_text_value(text, Statistic::Mean, latency.trim(), MICROSECONDS)?;
        figure.set_metric("mean");
    }
    Ok(figure)
}

/// Reads lines of versions up to 6: `Sequential Read (Q= 32,T= 1` and `  3474.312 MB/s`, `Random Write 4KiB
/// (Q= 8,T= 8` and `1125.034 MB/s [ 274666.5 IOPS]`. The block size of a sequential test is not stated, so no
/// probe is known to measure the same.
fn old_measured(text: &Text, test: &str, result: &str) -> Result<FigureBuilder, Refusal> {
    let shape = || text.refuse_part(test, "this is not a test with its kind, queues and threads");
    let (kind, queues) = test.split_once('(').ok_or_else(shape)?;
    let kind: Vec<&str> = kind.split_whitespace().collect();
    let (pattern, op, bs) = match kind[..] {
        ["Sequential", op] => ("sequential", op, None),
        ["Random", op, bs] => ("random", op, Some(bs)),
        _ => return Err(shape()),
    };
    let value = |label| find_text_after(queues, label).map(|rest| cut_before(rest, &[',', ' ']));
    let (depth, threads) = (value("Q="), value("T="));
    let mut figure = FigureBuilder::new(&format!("{} {}", kind.join(" "), queues.replace(' ', "")));
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
    }
    Ok(figure)
}
