//! `net.connect`: a new connection for each request: connect, request, response, close.
//!
//! As netperf's TCP_CRR: the far end closes first, so that TIME_WAIT is spent there and the near end does
//! not run out of ports. Unlike netperf, the connection is not bound to a port beforehand. connect(2) is timed
//! within, and also by itself. tcp(7).

use crate::probe::describing::*;

pub static PROBE: Probe = Probe {
    name: "net.connect",
    title: "TCP connect + request",
    summary: "A new TCP connection, one request and one response, and both ends close.",
    timed: "socket, connect, send, recv until the far end has closed, close; connect(2) also by itself",
    not_timed: "recording the times in the histograms",
    distorted_by: "connections of earlier rounds in TIME_WAIT; firewalls that track connections; SYN cookies",
    parameters: &[
        Parameter::same(
            "request",
            "16",
            "bytes of a request; with a tare peer it carries a token and has at least 16",
        ),
        Parameter::same("response", "1", "bytes of a response"),
        PIN,
    ],
    metrics: &[
        time("time", "transaction"),
        quantile("p50", "transaction", 0.5),
        quantile("p90", "transaction", 0.9),
        quantile("p99", "transaction", 0.99),
        quantile("p99.9", "transaction", 0.999),
        nanoseconds("min", "transaction", Reading::Minimum),
        nanoseconds("mean", "transaction", Reading::Mean),
        nanoseconds("max", "transaction", Reading::Maximum),
        nanoseconds("sd", "transaction", Reading::StandardDeviation),
        per_second("rate", "transaction"),
        nanoseconds("connect", "connect", Reading::Mean),
        quantile("connect p50", "connect", 0.5),
        quantile("connect p99", "connect", 0.99),
        nanoseconds("connect first", "connect", Reading::Cold),
    ],
    family: Family::Network { placed: false },
    revision: 1,
    label: |_| "TCP connect + request".into(),
};
