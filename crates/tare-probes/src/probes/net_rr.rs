//! Loop of `net.rr`: see its description.

use tare_data::peer::Peer;

use crate::far_end::Far;
use crate::net::flow::{Flow, Pace, REQUEST, Rounds, Transport};
use crate::net::ledger::{Counts, Ledger};
use crate::net::{datagrams, sockets, streams};
use crate::probe::prelude::*;

pub(super) fn measure_net_rr(trial: &mut Trial<'_>) -> Result<(), Failure> {
    let parameters = trial.parameters();
    let transport = parameters.one_of("protocol", &[("tcp", Transport::Tcp), ("udp", Transport::Udp)])?;
    let no_delay = parameters.one_of("nodelay", &[("no", false), ("yes", true)])?;
    let size = |key| parameters.get_integer(key).map(|bytes| u32::try_from(bytes).unwrap_or(u32::MAX));
    let rounds = Rounds { transport, request: size("request")?, response: size("response")?, no_delay };
    let flow = Flow::Rounds(rounds.clone()).into_checked()?;
    let pace = Pace::from_parameters(parameters)?;
    let placement = Placement::pin_this_side(parameters)?;
    match transport {
        Transport::Tcp => over_tcp(trial, &flow, &rounds, (placement, pace)),
        Transport::Udp => over_udp(trial, Far::open(trial, &flow, placement)?, &rounds, pace),
    }
}

/// A far end and the connection to it.
struct Connected {
    far: Far,
    connection: OwnedFd,
    connecting: Option<Stopwatch>,
    answered: u64,
}

impl Connected {
    fn to(far: Far, flow: &Rounds) -> Result<Connected, Failure> {
        let (connection, connecting) = far.connect(flow.no_delay)?;
        sockets::without_deadline(&connection)?;
        Ok(Connected { far, connection, connecting, answered: 0 })
    }

    fn finish(self) -> Result<(), Failure> {
        let Connected { mut far, connection, answered, .. } = self;
        drop(connection);
        far.settle_batch(answered, answered, None)?;
        far.finish()
    }
}

/// Measures over TCP. On loopback each batch has a far end and a connection of its own: the scheduler's
/// placement of the two ends says more about a batch than anything else. A peer elsewhere, and ends that
/// are pinned, have one for the trial.
fn over_tcp(
    trial: &mut Trial<'_>,
    flow: &Flow,
    rounds: &Rounds,
    (placement, pace): (Placement, Pace),
) -> Result<(), Failure> {
    let mut outgoing = Buffer::new_zeroed(rounds.request as usize)?;
    let mut incoming = Buffer::new_zeroed(rounds.response as usize)?;
    outgoing.fill(REQUEST);
    let is_placed = *trial.peer()? == Peer::Loopback && matches!(placement, Placement::Free);
    // Before the first batch: a calibration would take it for a part of a round trip.
    let mut lasting = Some(Connected::to(Far::open(trial, flow, placement)?, rounds)?);
    let mut is_first = true;
    trial.repeat(|operations, report| {
        let mut connected = match lasting.take() {
            Some(lasting) => lasting,
            None => Connected::to(Far::on_loopback(flow, placement)?, rounds)?,
        };
        if std::mem::take(&mut is_first) {
            connected
                .connecting
                .iter()
                .for_each(|connecting| report.add_throughput("connect", 1, connecting));
        }
        let pace = (pace, connected.far.response_byte());
        let (connection, mut laps) = (connected.connection.as_fd(), Laps::new());
        let right =
            streams::request_rounds(operations, connection, &outgoing, &mut incoming, pace, &mut laps)
                .map_err(|e| sockets::stream_failure("a round trip", e))?;
        prove_count("responses that are the peer's", right, operations)?;
        connected.answered += operations;
        report.add_latency("round", operations * u64::from(rounds.request + rounds.response), laps);
        if is_placed {
            return connected.finish();
        }
        lasting = Some(connected);
        Ok(())
    })?;
    lasting.map_or(Ok(()), Connected::finish)?;
    report_counts(trial, Counts::default())
}

fn over_udp(trial: &mut Trial<'_>, mut far: Far, flow: &Rounds, pace: Pace) -> Result<(), Failure> {
    let mut outgoing = Buffer::new_zeroed(flow.request as usize)?;
    // A byte more, so that a longer datagram is distinguished from one of the right length.
    let mut incoming = Buffer::new_zeroed(flow.response as usize + 1)?;
    let ledger = if far.is_netserver() { Ledger::new_unnumbered } else { Ledger::new };
    let mut ledger = ledger(flow.request as usize, flow.response as usize);
    let (line, stopwatch) = far.greet()?;
    let mut greeting = stopwatch;
    let (mut sent, mut all_answered) = (0, 0);
    trial.repeat(|operations, report| {
        greeting.take().iter().for_each(|stopwatch| report.add_throughput("connect", 1, stopwatch));
        let mut laps = Laps::new();
        let messages = (&mut outgoing[..], &mut incoming[..]);
        datagrams::request_datagrams(operations, &line, messages, pace, &mut ledger, &mut laps)?;
        let answered = laps.operations();
        sent += operations;
        all_answered += answered;
        if answered > 0 {
            report.add_latency("round", answered * u64::from(flow.request + flow.response), laps);
        }
        Ok(())
    })?;
    datagrams::listen_on(&line, &mut incoming, &mut ledger)?;
    far.settle_batch(all_answered, sent, Some(&line))?;
    drop(line);
    far.finish()?;
    report_counts(trial, ledger.counts)
}

/// Reports requests that were not simply answered, once a trial: a median of batches would hide them.
fn report_counts(trial: &mut Trial<'_>, counts: Counts) -> Result<(), Failure> {
    trial.run_once(|report| {
        report.add_gauge("lost", counts.lost as f64);
        report.add_gauge("late", counts.late as f64);
        report.add_gauge("duplicated", counts.duplicated as f64);
        report.add_gauge("reordered", counts.reordered as f64);
        Ok(())
    })
}

#[cfg(test)]
mod tests {
    use tare_data::failure::FailureKind;
    use tare_data::peer::Peer;

    use super::super::tests::{make_trial_request, run_trial};
    use crate::descriptions::net_rr::PROBE;

    #[test]
    fn messages_of_any_size_come_whole() {
        for (out, back) in [("1", "64KiB"), ("64KiB", "1"), ("3000", "5000")] {
            run_trial(&make_trial_request(
                &PROBE,
                &[("request", out), ("response", back), ("nodelay", "yes")],
            ))
            .unwrap();
        }
        for (out, back) in [("1", "1"), ("16", "16"), ("60000", "1"), ("1400", "1400")] {
            run_trial(&make_trial_request(
                &PROBE,
                &[("protocol", "udp"), ("request", out), ("response", back)],
            ))
            .unwrap();
        }
    }

    #[test]
    fn requests_in_flight_together_and_on_time_are_all_answered() {
        for protocol in ["tcp", "udp"] {
            run_trial(&make_trial_request(&PROBE, &[("protocol", protocol), ("burst", "16")])).unwrap();
            run_trial(&make_trial_request(&PROBE, &[("protocol", protocol), ("rate", "100000")])).unwrap();
            assert!(
                run_trial(&make_trial_request(
                    &PROBE,
                    &[("protocol", protocol), ("rate", "9"), ("burst", "2")]
                ))
                .is_err()
            );
            assert!(
                run_trial(&make_trial_request(&PROBE, &[("protocol", protocol), ("burst", "129")])).is_err()
            );
        }
    }

    #[test]
    fn a_netserver_that_is_not_there_is_told_as_such() {
        let mut request = make_trial_request(&PROBE, &[]);
        // Nothing listens on the port of a service that is long gone.
        request.peer = Some(Peer::Netperf { address: "127.0.0.1:1".into() });
        let failure = run_trial(&request).unwrap_err();
        assert_eq!(failure.kind, FailureKind::Broken);
        assert!(failure.reason.contains("netserver"), "{failure}");
    }
}
