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
        if let Some(version) = after(line, "== version #") {
            reading.version = Some(kept(until(version, &[' ', '='])));
        } else if line.starts_with("[ ") {
            let protocol = after(line, "# ").map(|name| until(name, &[' ', '(']).to_ascii_lowercase());
            setting.protocol = match protocol.as_deref() {
                Some("tcp") => Some("tcp"),
                Some("udp") => Some("udp"),
                _ => None,
            };
            setting.address = after(line, "IP = ").map(|rest| until(rest, &[' ']).to_owned());
            reading.note("protocol", setting.protocol.unwrap_or_default());
        } else if let Some(asked) = after(line, "following parameters:") {
            reading.note("parameters", asked);
            setting.message = after(asked, "--msg-size=").map(|size| leading_digits(size).to_owned());
        } else if line.starts_with("packet, txTime(sec)") {
            log_open = true;
        } else if line.starts_with("-----") {
            log_open = false;
        } else if let Some(number) = after(line, SERVER) {
            if server.is_some() {
                return Err(text.refuse(line, format!("the server above has no '{LAST}'")));
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
    if let Some(valid) = after(line, "[Valid Duration] RunTime=") {
        figure.state(text, Statistic::Elapsed, until(valid, &[' ']), SECONDS)?;
        if let Some(received) = after(valid, "ReceivedMessages=") {
            figure.state(text, Statistic::Count, until(received, &[';', ' ']), COUNT)?;
        }
    }
    // `====> avg-latency=9.452 (std-dev=4.733, mean-ad=0.0, ...)`; `avg-lat=` in earlier versions, `avg-rtt=`.
    if let Some((kind, mean)) = after(line, "> avg-").and_then(|rest| rest.split_once('=')) {
        if kind == "rtt" {
            let size = setting.message.as_deref();
            let fixed = [("protocol", setting.protocol), ("request", size), ("response", size)];
            let fixed: Vec<_> = fixed.into_iter().filter_map(|(key, value)| Some((key, value?))).collect();
            figure.counterpart("net.rr", &fixed);
            figure.peer(setting.address.as_deref());
        }
        figure.note("latency", if kind == "rtt" { "a round trip" } else { "half a round trip" });
        figure.state(text, Statistic::Mean, until(mean.trim(), &[' ']), MICROSECONDS)?;
        figure.metric("mean");
        if let Some(deviation) = after(mean, "(std-dev=") {
            figure.state(text, Statistic::StandardDeviation, until(deviation, &[')', ',']), MICROSECONDS)?;
            figure.metric("sd");
        }
    }
    // `# dropped messages = 0; # duplicated messages = 0; # out-of-order messages = 0`
    for key in ["dropped messages", "duplicated messages", "out-of-order messages"] {
        let count = after(line, &format!("# {key} =")).map(leading_digits);
        figure.note(key, count.filter(|count| *count != "0").unwrap_or_default());
    }
    let Some(observed) = after(line, "---> ") else { return Ok(()) };
    if let Some(value) = after(observed, "<MAX> observation =") {
        figure.state(text, Statistic::Maximum, value, MICROSECONDS)?;
        figure.metric("max");
    } else if let Some(value) = after(observed, LAST) {
        figure.state(text, Statistic::Minimum, value, MICROSECONDS)?;
        figure.metric("min");
    } else if let Some((percent, value)) =
        after(observed, "percentile ").and_then(|rest| rest.split_once('='))
    {
        let statistic = text.percentile(percent.trim())?;
        figure.state(text, statistic, value.trim(), MICROSECONDS)?;
        let name = statistic.to_string();
        if matches!(name.as_str(), "p50" | "p90" | "p99" | "p99.9") {
            figure.metric(&name);
        }
    }
    Ok(())
}
