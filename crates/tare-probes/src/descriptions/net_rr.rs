//! `net.rr`: a request goes out, a response comes back; the round trip over TCP or UDP.
//!
//! As netperf's TCP_RR and UDP_RR: blocking send then recv, one byte each way by default, one request
//! outstanding, Nagle's algorithm left on, no busy polling, no pinning. The response is not an echo. Other than
//! netperf, the time to connect is not the first round trip but a figure of its own, times are whole
//! nanoseconds, and datagrams are numbered within the bytes that netperf sends too, so that one that is lost,
//! late, doubled or out of order is counted and never taken for another's answer. `burst=N` has N requests in
//! flight (netperf's -b N-1). Over TCP on loopback each batch has a server and a connection of its own since revision 5, so that
//! which processors the two ends run on is drawn for each batch, and no longer once for a whole trial; pinned ends last for a
//! trial since revision 6. At a fixed `rate` a request's time counts from when it was to be sent, so that a
//! stall is seen by all the requests that it held up. tcp(7), udp(7).

use crate::probe::describing::*;

pub static PROBE: Probe = Probe {
    name: "net.rr",
    title: "TCP round trip",
    summary: "A request to a peer and a response back, one request outstanding unless `burst` is higher.",
    timed: "from send until the whole response has arrived, with one clock read before and after; at a fixed \
            rate, from the time at which the request was due",
    not_timed: "connecting, which is a metric of its own; recording the time in the histogram; the wait for a \
                datagram that is given up, which is counted as lost",
    distorted_by: "which processors the two ends run on; idle states; offloads; firewalls on the path",
    parameters: &[
        Parameter::from_one_value("protocol", "tcp", "tcp or udp"),
        Parameter::from_one_value("request", "1", "bytes of a request"),
        Parameter::from_one_value(
            "response",
            "1",
            "bytes of a response; over udp at most the bytes of a request",
        ),
        Parameter::from_one_value("nodelay", "no", "yes: TCP_NODELAY, as netperf -D"),
        Parameter::from_one_value("burst", "1", "requests in flight"),
        Parameter::from_one_value(
            "rate",
            "0",
            "requests a second, sent when they are due; 0: a response brings the next request",
        ),
        PIN,
    ],
    metrics: &[
        time_metric("time", "round"),
        quantile_metric("p50", "round", 0.5),
        quantile_metric("p90", "round", 0.9),
        quantile_metric("p99", "round", 0.99),
        quantile_metric("p99.9", "round", 0.999),
        nanoseconds_metric("min", "round", Reading::Minimum),
        nanoseconds_metric("mean", "round", Reading::Mean),
        nanoseconds_metric("max", "round", Reading::Maximum),
        nanoseconds_metric("sd", "round", Reading::StandardDeviation),
        per_second("rate", "round"),
        nanoseconds_metric("connect", "connect", Reading::Cold),
        gauge_metric("lost", "lost", Unit::Count),
        gauge_metric("late", "late", Unit::Count),
        gauge_metric("duplicated", "duplicated", Unit::Count),
        gauge_metric("reordered", "reordered", Unit::Count),
    ],
    family: Family::Network { placed: true },
    alternates: |parameters| match (parameters.get_text("rate"), parameters.get_text(PIN.name)) {
        (Ok("0"), Ok("none")) => Alternates::Anywhere,
        (Ok("0"), Ok("same")) => Alternates::OneProcessor,
        _ => Alternates::Alone("requests have their own times, or two processors"),
    },
    revision: 6,
    label: |parameters| {
        let text = |key| parameters.get_text(key).unwrap_or_default();
        let protocol = if text("protocol") == "udp" { "UDP" } else { "TCP" };
        match (text("rate"), text("burst"), text("pin")) {
            ("0" | "", "1" | "", "same") => format!("{protocol} round trip, 1 CPU"),
            ("0" | "", "1" | "", "cross") => format!("{protocol} round trip, 2 CPU"),
            ("0" | "", "1" | "", _) => format!("{protocol} round trip"),
            ("0" | "", burst, _) => format!("{protocol} round trip x{burst}"),
            (rate, ..) => format!("{protocol} round trip {rate}/s"),
        }
    },
};
