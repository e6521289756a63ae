//! The netperf view: round trips, connections and streams under the names that netperf's omni output gives them.

use tare_analysis::findings::Findings;
use tare_analysis::pooled::{Pooled, Runs};
use tare_data::session::Session;

use super::view_text::{fixed, pooled_view};
use crate::text::clean;

/// Nanoseconds of a microsecond, netperf's unit of latency.
const MICROSECOND: f64 = 1e3;

type Line = (&'static str, String);

const ABOUT: &str = "netperf view: netperf's names for what tare measured; netperf did not run. A block is the trials of \
                     all rounds together. Times are microseconds and keep their fractions, which netperf cuts off; \
                     connecting is not the first round trip, as it is with netperf's TCP_RR.";
const ABSENT: &str =
    "This session measured neither net.rr, net.connect nor net.stream: tare run --only 'net.*' does.";

pub fn render(session: &Session, findings: &Findings) -> String {
    let label = |run: &Runs<'_>| {
        format!("{} · peer {}", run.case.label, clean(run.case.case.peer.as_deref().unwrap_or("?")))
    };
    let probes = ["net.rr", "net.connect", "net.stream"];
    pooled_view((session, findings), (ABOUT, ABSENT), &probes, label, |out, run, pooled| {
        block(run, pooled).iter().for_each(|(name, value)| out.line(&format!("{name}={value}")));
    })
}

fn block(run: &Runs<'_>, pooled: &Pooled) -> Vec<Line> {
    match run.case.case.probe.as_str() {
        "net.connect" => transactions(run, pooled, "transaction", "Connect|Send|Recv"),
        "net.stream" => stream(run, pooled),
        _ => transactions(run, pooled, "round", "Send|Recv"),
    }
}

/// A parameter as it stands in the case.
fn text(run: &Runs<'_>, key: &str, default: &str) -> String {
    clean(run.case.case.parameters.text(key).unwrap_or(default))
}

/// A parameter of bytes, in bytes; as it stands where it is not a number.
fn bytes(run: &Runs<'_>, key: &str, default: &str) -> String {
    let parameter = run.case.case.parameters.integer(key);
    parameter.map_or_else(|_| text(run, key, default), |bytes| bytes.to_string())
}

/// TCP_RR, UDP_RR and TCP_CRR.
fn transactions(run: &Runs<'_>, pooled: &Pooled, series: &str, direction: &str) -> Vec<Line> {
    let protocol = text(run, "protocol", "tcp").to_uppercase();
    let socket = if protocol == "UDP" { "Datagram" } else { "Stream" };
    // netperf counts those that are in flight beside the first.
    let in_flight = run.case.case.parameters.integer("burst").unwrap_or(1).max(1);
    let count = pooled.series(series).operations;
    let rate = pooled.per_second(count);
    let micros = |ns: f64| fixed(ns / MICROSECOND, 3);
    let no_delay = if text(run, "nodelay", "no") == "yes" { "1" } else { "0" };
    let mut lines = vec![
        ("SOCKET_TYPE", socket.to_owned()),
        ("PROTOCOL", protocol),
        ("DIRECTION", direction.to_owned()),
        ("REQUEST_SIZE", bytes(run, "request", "1")),
        ("RESPONSE_SIZE", bytes(run, "response", "1")),
        ("BURST_SIZE", (in_flight - 1).to_string()),
        ("LOCAL_NODELAY", no_delay.to_owned()),
        ("ELAPSED_TIME", fixed(pooled.total_ns as f64 / 1e9, 2)),
        ("THROUGHPUT", fixed(rate, 2)),
        ("THROUGHPUT_UNITS", "Trans/s".to_owned()),
        ("TRANSACTION_RATE", fixed(rate, 3)),
        // By netperf's definition, which is not a mean of samples: time over transactions, times those in flight.
        ("RT_LATENCY", micros(pooled.total_ns as f64 / count as f64 * in_flight as f64)),
    ];
    if let Some(t) = pooled.times(&[series]) {
        lines.extend([
            ("MIN_LATENCY", micros(t.min_ns)),
            ("MEAN_LATENCY", micros(t.mean_ns)),
            ("MAX_LATENCY", micros(t.max_ns)),
            ("P50_LATENCY", micros(t.p50_ns)),
            ("P90_LATENCY", micros(t.p90_ns)),
            ("P99_LATENCY", micros(t.p99_ns)),
            ("STDDEV_LATENCY", micros(t.deviation_ns)),
        ]);
    }
    lines
}

/// TCP_STREAM and TCP_MAERTS. Their latencies are those of single writes, which tare does not time.
fn stream(run: &Runs<'_>, pooled: &Pooled) -> Vec<Line> {
    let is_receiving = text(run, "direction", "send") == "receive";
    let (direction, size, counted) = match is_receiving {
        true => ("Receive", "LOCAL_RECV_SIZE", "LOCAL_BYTES_RECVD"),
        false => ("Send", "LOCAL_SEND_SIZE", "LOCAL_BYTES_SENT"),
    };
    let moved = pooled.series("stream").bytes;
    let mut lines = vec![
        ("SOCKET_TYPE", "Stream".to_owned()),
        ("PROTOCOL", "TCP".to_owned()),
        ("DIRECTION", direction.to_owned()),
        (size, bytes(run, "size", "16384")),
        ("ELAPSED_TIME", fixed(pooled.total_ns as f64 / 1e9, 2)),
        ("THROUGHPUT", fixed(pooled.per_second(moved) * 8.0 / 1e6, 2)),
        ("THROUGHPUT_UNITS", "10^6bits/s".to_owned()),
        (counted, moved.to_string()),
    ];
    let congestion = text(run, "congestion", "system");
    if congestion != "system" {
        let end = if is_receiving { "REMOTE_CONG_CONTROL" } else { "LOCAL_CONG_CONTROL" };
        lines.push((end, congestion));
    }
    lines
}
