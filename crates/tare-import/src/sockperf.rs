//! sockperf 3: the summary of a client and its percentiles, alone or at the head of a `--full-log`, and of throughput.
//!
//! Latency is half a round trip unless `--full-rtt` is given; only then is it a round trip in tare's sense.

use crate::prelude::*;

/// The line with which a server's statistics end; some versions leave the brackets out.
const LAST: &str = "<MIN> observation =";
const OLD_LAST: &str = "---> MIN observation =";
const SERVER: &str = "Printing statistics for Server No:";

pub static IMPORTER: Importer = Importer {
    name: "sockperf",
    about: "the summary of ping-pong, under-load and throughput, and `--full-log`",
    end_mark: Some("the line '<MIN> observation'"),
    begins: |line, _| line.starts_with("sockperf: ") || line.starts_with("sockperf["),
    read: read_output,
    json: None,
};

/// Settings before the statistics, which hold for all of them.
#[derive(Default)]
struct Setting {
    protocol: Option<&'static str>,
    message: Option<String>,
    /// Address of the other end.
    address: Option<String>,
}

fn read_output(text: &Text) -> Result<ToolOutput, Refusal> {
    let mut reading = ToolOutput::new("sockperf");
    let mut setting = Setting::default();
    let mut server: Option<FigureBuilder> = None;
    let mut throughput: Option<FigureBuilder> = None;
    let mut log_open = false;
    for line in text.lines() {
        if let Some(version) = find_text_after(line, "== version #") {
            reading.version = Some(fit_into_record(cut_before(version, &[' ', '='])));
        } else if line.starts_with("[ ") {
            let protocol =
                find_text_after(line, "# ").map(|name| cut_before(name, &[' ', '(']).to_ascii_lowercase());
            setting.protocol = match protocol.as_deref() {
                Some("tcp") => Some("tcp"),
                Some("udp") => Some("udp"),
                _ => None,
            };
            setting.address = find_text_after(line, "IP = ").map(|rest| cut_before(rest, &[' ']).to_owned());
            reading.add_parameter("protocol", setting.protocol.unwrap_or_default());
        } else if let Some(asked) = find_text_after(line, "following parameters:") {
            reading.add_parameter("parameters", asked);
            setting.message =
                find_text_after(asked, "--msg-size=").map(|size| leading_digits(size).to_owned());
        } else if line.starts_with("packet, txTime(sec)") {
            log_open = true;
        } else if line.starts_with("-----") {
            log_open = false;
        } else if let Some(number) = find_text_after(line, SERVER) {
            if server.is_some() {
                return Err(text.refuse_part(line, format!("the server above has no '{LAST}'")));
            }
            server = Some(FigureBuilder::new(&format!("server {number}")));
        } else if let Some(figure) = &mut throughput
            && line.contains("Summary: BandWidth is ")
        {
            bandwidth(text, figure, line)?;
            throughput.take().map_or(Ok(()), |figure| reading.push(text, figure))?;
        } else if let Some((rate, _)) =
            find_text_after(line, "Summary: Message Rate is ").and_then(|rest| rest.split_once(" [msg/sec]"))
        {
            let mut figure = FigureBuilder::new("throughput");
            figure.add_text_value(text, Statistic::Rate, rate, PER_SECOND)?;
            throughput = Some(figure);
        } else if server.is_some() || begins_summary(line) {
            // Quotations often begin here.
            let figure = server.get_or_insert_with(|| FigureBuilder::new("server 0"));
            statistics(text, figure, &setting, line)?;
            if (line.contains(LAST) || line.contains(OLD_LAST))
                && let Some(figure) = server.take()
            {
                reading.push(text, figure)?;
            }
        }
    }
    if throughput.is_some() {
        return Err(text.refuse_end("the report stops before its 'Summary: BandWidth'"));
    }
    match (server, log_open) {
        (Some(_), _) => Err(text.refuse_end(format!("the statistics stop before their '{LAST}'"))),
        (None, true) => Err(text.refuse_end("the log of packets stops before its closing line")),
        (None, false) => Ok(reading),
    }
}

/// Recognises the first lines of a summary that do without the lines above.
fn begins_summary(line: &str) -> bool {
    SUMMARIES.iter().any(|(label, _)| line.contains(label))
        || (line.contains(" observations") && line.contains("Total "))
}

/// Labels of the mean in a summary, each with the time that it is of.
const SUMMARIES: &[(&str, &str)] =
    &[("Summary: Latency is ", "half a round trip"), ("Summary: Round trip is ", "a round trip")];

/// Reads the mean and the number of observations where the lines that have more digits of them are missing.
fn summary(text: &Text, figure: &mut FigureBuilder, line: &str) -> Result<(), Refusal> {
    for (label, latency) in SUMMARIES {
        if let Some(mean) = find_text_after(line, label).filter(|_| !figure.has(Statistic::Mean)) {
            figure.add_parameter("latency", latency);
            figure.add_text_value(text, Statistic::Mean, cut_before(mean, &[' ']), MICROSECONDS)?;
            figure.set_metric("mean");
        }
    }
    if let Some((_, rest)) = line.split_once("Total ").filter(|_| !figure.has(Statistic::Count))
        && let Some((count, _)) = rest.split_once(" observations;")
    {
        figure.add_text_value(text, Statistic::Count, count, COUNT)?;
    }
    Ok(())
}

/// Reads `sockperf: Summary: BandWidth is 4873.781 MBps (38990.250 Mbps)`: MBps are 2^20 bytes, as the message rate tells.
fn bandwidth(text: &Text, figure: &mut FigureBuilder, line: &str) -> Result<(), Refusal> {
    let rest = find_text_after(line, "BandWidth is ").unwrap_or_default();
    let (rate, bits) =
        rest.split_once(" MBps (").ok_or_else(|| text.refuse_part(line, "no 'MBps' stands here"))?;
    let scale = Scale { written: "MBps", ..MEBIBYTES_PER_SECOND };
    figure.add_text_value(text, Statistic::Throughput, rate, scale)?;
    if let (Some(bytes), Some(bits)) = (Span::written(rate), Span::written(cut_before(bits, &[' ']))) {
        check_agreement(text, rate, bytes.scaled(8.0), bits, "MBps and Mbps")?;
    }
    Ok(())
}

fn statistics(text: &Text, figure: &mut FigureBuilder, setting: &Setting, line: &str) -> Result<(), Refusal> {
    // `[Valid Duration] RunTime=0.550 sec; SentMessages=28993; ReceivedMessages=28993`
    if let Some(valid) = find_text_after(line, "[Valid Duration] RunTime=") {
        figure.add_text_value(text, Statistic::Elapsed, cut_before(valid, &[' ']), SECONDS)?;
        if let Some(received) = find_text_after(valid, "ReceivedMessages=") {
            figure.add_text_value(text, Statistic::Count, cut_before(received, &[';', ' ']), COUNT)?;
        }
    }
    // `====> avg-latency=9.452 (std-dev=4.733, mean-ad=0.0, ...)`; `avg-lat=` in earlier versions, `avg-rtt=`.
    if let Some((kind, mean)) = find_text_after(line, "> avg-").and_then(|rest| rest.split_once('=')) {
        if kind == "rtt" {
            let size = setting.message.as_deref();
            let fixed = [("protocol", setting.protocol), ("request", size), ("response", size)];
            let fixed: Vec<_> = fixed.into_iter().filter_map(|(key, value)| Some((key, value?))).collect();
            figure.set_counterpart("net.rr", &fixed);
            figure.set_peer(setting.address.as_deref());
        }
        figure.add_parameter("latency", if kind == "rtt" { "a round trip" } else { "half a round trip" });
        figure.add_text_value(text, Statistic::Mean, cut_before(mean.trim(), &[' ']), MICROSECONDS)?;
        figure.set_metric("mean");
        if let Some(deviation) = find_text_after(mean, "(std-dev=") {
            figure.add_text_value(
                text,
                Statistic::StandardDeviation,
                cut_before(deviation, &[')', ',']),
                MICROSECONDS,
            )?;
            figure.set_metric("sd");
        }
    }
    summary(text, figure, line)?;
    // `# dropped messages = 0; # duplicated messages = 0; # out-of-order messages = 0`
    for key in ["dropped messages", "duplicated messages", "out-of-order messages"] {
        let count = find_text_after(line, &format!("# {key} =")).map(leading_digits);
        figure.add_parameter(key, count.filter(|count| *count != "0").unwrap_or_default());
    }
    let Some((label, value)) = find_text_after(line, "---> ").and_then(|rest| rest.split_once('=')) else {
        return Ok(());
    };
    let value = cut_before(value.trim(), &[' ']);
    match label.trim() {
        "<MAX> observation" | "MAX observation" => {
            figure.add_text_value(text, Statistic::Maximum, value, MICROSECONDS)?;
            figure.set_metric("max");
        }
        "<MIN> observation" | "MIN observation" => {
            figure.add_text_value(text, Statistic::Minimum, value, MICROSECONDS)?;
            figure.set_metric("min");
        }
        label => {
            let Some(percent) = label.strip_prefix("percentile ") else { return Ok(()) };
            let statistic = text.parse_percentile(percent.trim())?;
            figure.add_text_value(text, statistic, value, MICROSECONDS)?;
            let name = statistic.to_string();
            if matches!(name.as_str(), "p50" | "p90" | "p99" | "p99.9") {
                figure.set_metric(&name);
            }
        }
    }
    // They are written from the greatest to the least.
    if !figure.has_descending_observations() {
        return Err(text.refuse_part(value, "this is greater than the observation above it"));
    }
    Ok(())
}
