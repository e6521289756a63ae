//! `net.rr`: a request goes out, a response comes back; the round trip over TCP or UDP.
//!
//! As netperf's TCP_RR and UDP_RR: blocking send then recv, one byte each way by default, one request
//! outstanding, Nagle's algorithm left on, no busy polling, no pinning. The response is not an echo. Other than
//! netperf, the time to connect is not the first round trip but a figure of its own, times are whole
//! nanoseconds, and datagrams are numbered within the bytes that netperf sends too, so that one that is lost,
//! late, doubled or out of order is counted and never taken for another's answer. `burst=N` has N requests in
//! flight (netperf's -b N-1). At a fixed `rate` a request's time counts from when it was to be sent, so that a
//! stall is seen by all the requests that it held up. tcp(7), udp(7).

use crate::net::far::Far;
use crate::net::flow::{Flow, Pace, Rounds, Transport};
use crate::net::ledger::{Counts, Ledger};
use crate::net::{datagrams, sockets, streams};
use crate::probe::prelude::*;

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
        Parameter::same("protocol", "tcp", "tcp or udp"),
        Parameter::same("request", "1", "bytes of a request"),
        Parameter::same("response", "1", "bytes of a response; over udp at most the bytes of a request"),
        Parameter::same("nodelay", "no", "yes: TCP_NODELAY, as netperf -D"),
        Parameter::same("burst", "1", "requests in flight"),
        Parameter::same(
            "rate",
            "0",
            "requests a second, sent when they are due; 0: a response brings the next request",
        ),
        PIN,
    ],
    metrics: &[
        time("time", "round"),
        quantile("p50", "round", 0.5),
        quantile("p90", "round", 0.9),
        quantile("p99", "round", 0.99),
        quantile("p99.9", "round", 0.999),
        nanoseconds("min", "round", Reading::Minimum),
        nanoseconds("mean", "round", Reading::Mean),
        nanoseconds("max", "round", Reading::Maximum),
        nanoseconds("sd", "round", Reading::StandardDeviation),
        per_second("rate", "round"),
        nanoseconds("connect", "connect", Reading::Cold),
        gauge("lost", "lost", Unit::Count),
        gauge("late", "late", Unit::Count),
        gauge("duplicated", "duplicated", Unit::Count),
        gauge("reordered", "reordered", Unit::Count),
    ],
    needs: &[Need::Peer],
    revision: 4,
    label: |parameters| {
        let text = |key| parameters.text(key).unwrap_or_default();
        let protocol = if text("protocol") == "udp" { "UDP" } else { "TCP" };
        match (text("rate"), text("burst"), text("pin")) {
            ("0" | "", "1" | "", "same") => format!("{protocol} round trip, 1 CPU"),
            ("0" | "", "1" | "", "cross") => format!("{protocol} round trip, 2 CPU"),
            ("0" | "", "1" | "", _) => format!("{protocol} round trip"),
            ("0" | "", burst, _) => format!("{protocol} round trip x{burst}"),
            (rate, ..) => format!("{protocol} round trip {rate}/s"),
        }
    },
    run: |trial| {
        let parameters = trial.parameters();
        let transport = parameters.one_of("protocol", &[("tcp", Transport::Tcp), ("udp", Transport::Udp)])?;
        let no_delay = parameters.one_of("nodelay", &[("no", false), ("yes", true)])?;
        let size = |key| parameters.integer(key).map(|bytes| u32::try_from(bytes).unwrap_or(u32::MAX));
        let rounds = Rounds { transport, request: size("request")?, response: size("response")?, no_delay };
        let flow = Flow::Rounds(rounds.clone()).checked()?;
        let pace = Pace::from_parameters(parameters)?;
        let placement = Placement::of(parameters)?;
        let far = Far::open(trial, &flow, placement)?;
        match transport {
            Transport::Tcp => over_tcp(trial, far, &rounds, pace),
            Transport::Udp => over_udp(trial, far, &rounds, pace),
        }
    },
};

fn over_tcp(trial: &mut Trial<'_>, mut far: Far, flow: &Rounds, pace: Pace) -> Result<(), Failure> {
    let mut outgoing = Buffer::zeroed(flow.request as usize)?;
    let mut incoming = Buffer::zeroed(flow.response as usize)?;
    outgoing.fill(streams::REQUEST);
    // Before the first batch: a calibration would take it for a part of a round trip.
    let (connection, stopwatch) = far.connect(flow.no_delay)?;
    let mut connecting = Some(stopwatch);
    sockets::without_deadline(&connection)?;
    let (pace, mut answered) = ((pace, far.response()), 0);
    trial.repeat(|operations, report| {
        connecting.take().iter().for_each(|stopwatch| report.throughput("connect", 1, stopwatch));
        let mut laps = Laps::new();
        let right =
            streams::request(operations, connection.as_fd(), &outgoing, &mut incoming, pace, &mut laps)
                .map_err(|e| sockets::stream_failure("a round trip", e))?;
        prove("responses that are the peer's", right, operations)?;
        answered += operations;
        report.latency("round", operations * u64::from(flow.request + flow.response), laps);
        Ok(())
    })?;
    drop(connection);
    far.settle(answered, answered, None)?;
    far.finish()?;
    report_counts(trial, Counts::default())
}

fn over_udp(trial: &mut Trial<'_>, mut far: Far, flow: &Rounds, pace: Pace) -> Result<(), Failure> {
    let mut outgoing = Buffer::zeroed(flow.request as usize)?;
    // One byte more: a longer datagram is distinguished from one of the right length.
    let mut incoming = Buffer::zeroed(flow.response as usize + 1)?;
    let ledger = if far.is_netserver() { Ledger::unnumbered } else { Ledger::new };
    let mut ledger = ledger(flow.request as usize, flow.response as usize);
    let (line, stopwatch) = far.greet()?;
    let mut greeting = Some(stopwatch);
    let (mut sent, mut all_answered) = (0, 0);
    trial.repeat(|operations, report| {
        greeting.take().iter().for_each(|stopwatch| report.throughput("connect", 1, stopwatch));
        let mut laps = Laps::new();
        let messages = (&mut outgoing[..], &mut incoming[..]);
        datagrams::request(operations, &line, messages, pace, &mut ledger, &mut laps)?;
        let answered = laps.operations();
        sent += operations;
        all_answered += answered;
        if answered > 0 {
            report.latency("round", answered * u64::from(flow.request + flow.response), laps);
        }
        Ok(())
    })?;
    datagrams::listen_on(&line, &mut incoming, &mut ledger)?;
    far.settle(all_answered, sent, Some(&line))?;
    drop(line);
    far.finish()?;
    report_counts(trial, ledger.counts)
}

/// What became of requests that were not simply answered, once a trial: a median of batches would hide it.
fn report_counts(trial: &mut Trial<'_>, counts: Counts) -> Result<(), Failure> {
    trial.once(|report| {
        report.gauge("lost", counts.lost as f64);
        report.gauge("late", counts.late as f64);
        report.gauge("duplicated", counts.duplicated as f64);
        report.gauge("reordered", counts.reordered as f64);
        Ok(())
    })
}

#[cfg(test)]
mod tests {
    use tare_data::failure::FailureKind;
    use tare_data::peer::Peer;

    use super::super::tests::{request, run};
    use super::*;

    #[test]
    fn messages_of_any_size_come_whole() {
        for (out, back) in [("1", "64KiB"), ("64KiB", "1"), ("3000", "5000")] {
            run(&request(&PROBE, &[("request", out), ("response", back), ("nodelay", "yes")])).unwrap();
        }
        for (out, back) in [("1", "1"), ("16", "16"), ("60000", "1"), ("1400", "1400")] {
            run(&request(&PROBE, &[("protocol", "udp"), ("request", out), ("response", back)])).unwrap();
        }
    }

    #[test]
    fn requests_in_flight_together_and_on_time_are_all_answered() {
        for protocol in ["tcp", "udp"] {
            run(&request(&PROBE, &[("protocol", protocol), ("burst", "16")])).unwrap();
            run(&request(&PROBE, &[("protocol", protocol), ("rate", "100000")])).unwrap();
            assert!(run(&request(&PROBE, &[("protocol", protocol), ("rate", "9"), ("burst", "2")])).is_err());
            assert!(run(&request(&PROBE, &[("protocol", protocol), ("burst", "129")])).is_err());
        }
    }

    #[test]
    fn a_netserver_that_is_not_there_is_told_as_such() {
        let mut request = request(&PROBE, &[]);
        // Nothing listens on the port of a service that is long gone.
        request.peer = Some(Peer::Netperf { address: "127.0.0.1:1".into() });
        let failure = run(&request).unwrap_err();
        assert_eq!(failure.kind, FailureKind::Broken);
        assert!(failure.reason.contains("netserver"), "{failure}");
    }
}
