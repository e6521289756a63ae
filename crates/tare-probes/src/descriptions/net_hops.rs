//! `net.hops`: the time of a round trip by hop, from the kernel's timestamps at each place that a datagram
//! passes.
//!
//! A request and a response of 64 bytes over UDP, one at a time, with the software stamps of SO_TIMESTAMPING
//! at both ends. Reading the stamps costs time between the rounds, so this is a separate probe and `net.rr`
//! stays undisturbed. A stack without stamps (gVisor's) makes its hops "not visible", never zero. The hops
//! add up to the round trip: the path between the ends is the rest. udp(7), socket(7).

use crate::probe::describing::*;

pub static PROBE: Probe = Probe {
    name: "net.hops",
    title: "round trip, by hop",
    summary: "Where the time of a UDP round trip goes, by the kernel's timestamps at both ends.",
    timed: "between the timestamps: call to queue, queue to driver, the path, driver to program and program to driver at \
            the far end, driver to program here",
    not_timed: "reading the timestamps, after each round trip",
    distorted_by: "taking the timestamps, about 100 ns each; whatever distorts net.rr",
    parameters: &[PIN],
    metrics: &[
        mean("round"),
        mean("call"),
        mean("device"),
        mean("way"),
        mean("far arrival"),
        mean("far turn"),
        mean("far leave"),
        mean("arrival"),
        nanoseconds_metric("arrival sd", "arrival", Reading::StandardDeviation),
        quantile_metric("round p50", "round", 0.5),
    ],
    family: Family::Network { placed: false },
    alternates: |_| Alternates::Alone("its answer comes by several hosts, which both sides would share"),
    revision: 1,
    label: |_| "round trip, by hop".into(),
};

/// Builds the description of a mean, because the means of parts add up to the mean of the whole.
const fn mean(name: &'static str) -> MetricDescription {
    nanoseconds_metric(name, name, Reading::Mean)
}
