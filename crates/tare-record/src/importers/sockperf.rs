//! sockperf 3: the summary of a client and its percentiles, alone or at the head of a `--full-log`.
//!
//! Latency is half a round trip unless `--full-rtt` is given; only then is it a round trip in tare's sense.

use super::prelude::*;

/// The line with which a server's statistics end.
const LAST: &str = "<MIN> observation =";
const SERVER: &str = "Printing statistics for Server No:";

pub static IMPORTER: Importer = Importer {
    name: "sockperf",
    about: "the summary of ping-pong and under-load, and `--full-log`",
    end_mark: Some("the line '<MIN> observation'"),
    recognises: |text| text.lines().any(|line| line.starts_with("sockperf: ")),
    read: read_output,
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
        } else if let Some(figure) = &mut server {
            statistics(text, figure, &setting, line)?;
            if line.contains(LAST)
                && let Some(figure) = server.take()
            {
                reading.push(text, figure)?;
            }
        }
    }
    match (server, log_open) {
        (Some(_), _) => Err(text.refuse_end(format!("the statistics stop before their '{LAST}'"))),
        (None, true) => Err(text.refuse_end("the log of packets stops before its closing line")),
        (None, false) => Ok(reading),
    }
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
    // `# dropped messages = 0; # duplicated messages = 0; # out-of-order messages = 0`
    for key in ["dropped messages", "duplicated messages", "out-of-order messages"] {
        let count = find_text_after(line, &format!("# {key} =")).map(leading_digits);
        figure.add_parameter(key, count.filter(|count| *count != "0").unwrap_or_default());
    }
    let Some(observed) = find_text_after(line, "---> ") else { return Ok(()) };
    if let Some(value) = find_text_after(observed, "<MAX> observation =") {
        figure.add_text_value(text, Statistic::Maximum, value, MICROSECONDS)?;
        figure.set_metric("max");
    } else if let Some(value) = find_text_after(observed, LAST) {
        figure.add_text_value(text, Statistic::Minimum, value, MICROSECONDS)?;
        figure.set_metric("min");
    } else if let Some((percent, value)) =
        find_text_after(observed, "percentile ").and_then(|rest| rest.split_once('='))
    {
        let statistic = text.parse_percentile(percent.trim())?;
        figure.add_text_value(text, statistic, value.trim(), MICROSECONDS)?;
        let name = statistic.to_string();
        if matches!(name.as_str(), "p50" | "p90" | "p99" | "p99.9") {
            figure.set_metric(&name);
        }
    }
    Ok(())
}
