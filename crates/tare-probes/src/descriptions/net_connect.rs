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
        Parameter::from_one_value(
            "request",
            "16",
            "bytes of a request; with a tare peer it carries a token and has at least 16",
        ),
        Parameter::from_one_value("response", "1", "bytes of a response"),
        PIN,
    ],
    metrics: &[
        time_metric("time", "transaction"),
        quantile_metric("p50", "transaction", 0.5),
        quantile_metric("p90", "transaction", 0.9),
        quantile_metric("p99", "transaction", 0.99),
        quantile_metric("p99.9", "transaction", 0.999),
        nanoseconds_metric("min", "transaction", Reading::Minimum),
        nanoseconds_metric("mean", "transaction", Reading::Mean),
        nanoseconds_metric("max", "transaction", Reading::Maximum),
        nanoseconds_metric("sd", "transaction", Reading::StandardDeviation),
        per_second("rate", "transaction"),
        nanoseconds_metric("connect", "connect", Reading::Mean),
        quantile_metric("connect p50", "connect", 0.5),
        quantile_metric("connect p99", "connect", 0.99),
        nanoseconds_metric("connect first", "connect", Reading::Cold),
    ],
    family: Family::Network { placed: false },
    alternates: |_| Alternates::Anywhere,
    revision: 1,
    label: |_| "TCP connect + request".into(),
};
