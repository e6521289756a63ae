//! iperf3: the JSON of `-J`, and its text. Bytes sent, bytes received, and the round trips that TCP itself saw.

mod line;
mod text;

use crate::prelude::*;

pub static IMPORTER: Importer = Importer {
    name: "iperf3",
    about: "JSON (`-J`, `--json-stream`) and text, TCP and UDP",
    // A server's text has none.
    end_mark: None,
    begins: |line, _| text::begins_report(line),
    read: text::read_iperf3_text,
    json: Some(Json { words: &["\"start\"", "\"interval", "\"end\""], read: read_json }),
};

#[derive(Deserialize)]
struct Document {
    start: Start,
    end: End,
    /// Set when the test did not run to its end.
    error: Option<String>,
}

#[derive(Deserialize)]
struct Start {
    version: Option<String>,
    test_start: Option<TestStart>,
}

#[derive(Deserialize)]
struct TestStart {
    protocol: Option<String>,
    num_streams: Option<u64>,
    blksize: Option<u64>,
    duration: Option<f64>,
    omit: Option<f64>,
    reverse: Option<u64>,
    target_bitrate: Option<f64>,
}

#[derive(Default, Deserialize)]
struct End {
    #[serde(default)]
    streams: List<Stream>,
    /// Sum of UDP before version 3.2, which has no other.
    sum: Option<Sum>,
    sum_sent: Option<Sum>,
    sum_received: Option<Sum>,
    sum_sent_bidir_reverse: Option<Sum>,
    sum_received_bidir_reverse: Option<Sum>,
    cpu_utilization_percent: Option<Utilisation>,
}

#[derive(Deserialize)]
struct Stream {
    sender: Option<RoundTrips>,
}

#[derive(Deserialize)]
struct RoundTrips {
    min_rtt: Option<f64>,
    mean_rtt: Option<f64>,
    max_rtt: Option<f64>,
}

#[derive(Deserialize)]
struct Sum {
    seconds: Option<f64>,
    bytes: Option<f64>,
    bits_per_second: f64,
    retransmits: Option<f64>,
    jitter_ms: Option<f64>,
    lost_packets: Option<f64>,
    packets: Option<f64>,
    lost_percent: Option<f64>,
}

#[derive(Deserialize)]
struct Utilisation {
    host_total: Option<f64>,
    remote_total: Option<f64>,
}

/// An event of `--json-stream`, in a line of its own.
#[derive(Deserialize)]
struct Event<T> {
    data: T,
}

/// Reads the document of `-J`, or puts one together from the events of `--json-stream`.
fn read_document(text: &Text) -> Result<Document, Refusal> {
    let whole = text.as_str();
    let start = json::find_json_start(text).unwrap_or(0);
    if !json::is_event(&whole[start..]) {
        return json::parse_json(text);
    }
    let find = |event: &str| {
        let sign = format!("{{\"event\":\"{event}\"");
        let mut at = start;
        whole[start..].split_inclusive('\n').find_map(|line| {
            let from = at;
            at += line.len();
            line.trim_start().starts_with(&sign).then(|| text.cut_part(from..from + line.len()))
        })
    };
    let lacks = |event: &str| text.refuse_end(format!("the stream of events has no '{event}'"));
    let error = find("error").map(|line| json::parse_json::<Event<String>>(&line)).transpose()?;
    let begun = find("start").ok_or_else(|| lacks("start"))?;
    let ended = match find("end") {
        Some(line) => json::parse_json::<Event<End>>(&line)?.data,
        None if error.is_some() => End::default(),
        None => return Err(lacks("end")),
    };
    let start = json::parse_json::<Event<Start>>(&begun)?.data;
    Ok(Document { start, end: ended, error: error.map(|event| event.data) })
}

fn read_json(text: &Text) -> Result<ToolOutput, Refusal> {
    let document = read_document(text)?;
    if let Some(error) = document.error {
        return Err(
            text.refuse_end(format!("iperf3 reports that the test failed: {}", fit_into_record(&error)))
        );
    }
    let mut reading = ToolOutput::new("iperf3");
    let version = document.start.version.unwrap_or_default();
    reading.version = version.strip_prefix("iperf ").map(fit_into_record);
    let is_udp = start(&mut reading, document.start.test_start);
    let end = document.end;
    if let (Some(sum), None, None) = (&end.sum, &end.sum_sent, &end.sum_received) {
        let name = if reading.parameters.contains_key("direction") { "received" } else { "sent" };
        reading.push(text, summed(text, name, sum)?)?;
        if is_udp && sum.packets.is_some_and(|packets| packets > 0.0) {
            reading.push(text, lost("received", sum))?;
        }
    }
    let sums = [
        ("sent", end.sum_sent),
        ("received", end.sum_received),
        ("sent, reverse", end.sum_sent_bidir_reverse),
        ("received, reverse", end.sum_received_bidir_reverse),
    ];
    for (name, sum) in sums {
        if let Some(sum) = sum {
            reading.push(text, summed(text, name, &sum)?)?;
            if is_udp && name.starts_with("received") {
                reading.push(text, lost(name, &sum))?;
            }
        }
    }
    for (number, stream) in end.streams.0.iter().enumerate() {
        let Some(times) = &stream.sender else { continue };
        let mut figure = FigureBuilder::new(&format!("round trips of stream {}, by TCP", number + 1));
        // A receiver knows none, and writes 0.
        let known = |time: Option<f64>| time.filter(|time| *time > 0.0);
        figure.add_json_value(Statistic::Minimum, known(times.min_rtt), MICROSECONDS);
        figure.add_json_value(Statistic::Mean, known(times.mean_rtt), MICROSECONDS);
        figure.add_json_value(Statistic::Maximum, known(times.max_rtt), MICROSECONDS);
        if !figure.is_empty() {
            reading.push(text, figure)?;
        }
    }
    if let Some(utilisation) = end.cpu_utilization_percent {
        for (name, value) in [("local", utilisation.host_total), ("remote", utilisation.remote_total)] {
            let mut figure = FigureBuilder::new(&format!("processor time, {name}"));
            figure.add_json_value(Statistic::Value, value, PERCENT);
            reading.push(text, figure)?;
        }
    }
    Ok(reading)
}

/// Notes the setting of the test; true if it used UDP.
fn start(reading: &mut ToolOutput, test: Option<TestStart>) -> bool {
    let Some(test) = test else { return false };
    let protocol = test.protocol.unwrap_or_default();
    reading.add_parameter("protocol", &protocol);
    let numbers = [
        ("streams", test.num_streams.map(|n| n as f64)),
        ("block size", test.blksize.map(|n| n as f64)),
        ("seconds", test.duration),
        ("omitted seconds", test.omit.filter(|n| *n > 0.0)),
        ("target bits/s", test.target_bitrate.filter(|n| *n > 0.0)),
    ];
    for (key, value) in numbers {
        reading.add_parameter(key, &value.map(|n| n.to_string()).unwrap_or_default());
    }
    if test.reverse.is_some_and(|reverse| reverse > 0) {
        reading.add_parameter("direction", "reverse");
    }
    protocol.eq_ignore_ascii_case("udp")
}

fn summed(text: &Text, name: &str, sum: &Sum) -> Result<FigureBuilder, Refusal> {
    let mut figure = FigureBuilder::new(name);
    figure.add_json_value(Statistic::Throughput, Some(sum.bits_per_second), BITS_PER_SECOND);
    figure.add_json_value(Statistic::Count, sum.bytes, BYTES);
    figure.add_json_value(Statistic::Elapsed, sum.seconds, SECONDS);
    if let Some(retransmits) = sum.retransmits {
        figure.add_parameter("retransmits", &retransmits.to_string());
    }
    if let (Some(bytes), Some(seconds)) = (sum.bytes, sum.seconds.filter(|seconds| *seconds > 0.0)) {
        let computed = Span::exact(8.0 * bytes / seconds).widened(0.02);
        if !Span::exact(sum.bits_per_second).meets(computed) {
            let cause = "bytes, seconds and bits_per_second do not agree";
            return Err(text.refuse_number(sum.bits_per_second, cause));
        }
    }
    Ok(figure)
}

/// Builds the figure of datagrams that UDP lost, and of the jitter of the rest.
fn lost(name: &str, sum: &Sum) -> FigureBuilder {
    let mut figure = FigureBuilder::new(&format!("{name}: jitter and loss"));
    figure.add_json_value(Statistic::Mean, sum.jitter_ms, MILLISECONDS);
    figure.add_json_value(Statistic::Value, sum.lost_percent, PERCENT);
    figure.add_json_value(Statistic::Count, sum.packets, COUNT);
    if let Some(packets) = sum.lost_packets {
        figure.add_parameter("lost packets", &packets.to_string());
    }
    figure
}
