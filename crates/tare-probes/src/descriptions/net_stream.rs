//! `net.stream`: bytes in one direction over one TCP connection.
//!
//! As netperf's TCP_STREAM and TCP_MAERTS, with writes of 16 KiB. The size of a write is worth a factor of four and
//! the congestion control one of 1.4 (netperf on loopback, two processors), so both are parameters, and only like is
//! compared with like. A batch ends when the receiving end has all of it, not when it is in a buffer. tcp(7).
//!
//! Since revision 2 the receiving end reads at least 128 KiB at a time, as netperf and iperf3 do by default, and sleeps until as much is
//! there (SO_RCVLOWAT, socket(7)), where its system can: a receiver that is woken for each segment now and then falls into a state of
//! half the rate.

use crate::probe::describing::*;

/// The value of `congestion` that leaves the choice to each end's system.
pub(crate) const SYSTEM: &str = "system";

pub static PROBE: Probe = Probe {
    name: "net.stream",
    title: "TCP stream",
    summary: "Bytes in one direction over one connection, in writes of one size.",
    timed: "a batch of writes, from its header until the receiving end has all of it",
    not_timed: "connecting, which is a metric of its own",
    distorted_by: "size of a write; congestion control; socket buffers; offloads; other traffic on the path",
    parameters: &[
        Parameter::from_one_value("direction", "send", "send or receive"),
        Parameter::from_one_value("size", "16KiB", "bytes of a write"),
        Parameter::from_one_value(
            "congestion",
            SYSTEM,
            "congestion control of the sending end, e.g. cubic or reno; system: the system's default, which is recorded as a fact",
        ),
        PIN,
    ],
    metrics: &[
        rate_metric("rate", "stream", Reading::BitsPerSecond, Unit::BitsPerSecond),
        bytes_per_second("bytes", "stream"),
        nanoseconds_metric("connect", "connect", Reading::Cold),
        gauge_metric("sent again", "sent again", Unit::Count),
    ],
    family: Family::Network { placed: false },
    alternates: |_| Alternates::Alone("it works for a fixed time, or a fixed amount"),
    revision: 2,
    label: |parameters| {
        let text = |key| parameters.get_text(key).unwrap_or_default();
        let direction = if text("direction") == "receive" { "receive" } else { "send" };
        format!("TCP {direction}, {}", text("size").trim_end_matches("iB"))
    },
};
