//! `net.stream`: bytes in one direction over one TCP connection.
//!
//! As netperf's TCP_STREAM and TCP_MAERTS, with writes of 16 KiB. The size of a write is worth a factor of four and
//! the congestion control one of 1.4 (netperf on loopback, two processors), so both are parameters, and only like is
//! compared with like. A batch ends when the receiving end has all of it, not when it is in a buffer. tcp(7).

use crate::net::far::Far;
use crate::net::flow::{Direction, Flow, Transfer};
use crate::net::sockets;
use crate::net::transfer::{self, LARGEST_BATCH};
use crate::probe::prelude::*;

/// The value of `congestion` that leaves the choice to each end's system.
const SYSTEM: &str = "system";

pub static PROBE: Probe = Probe {
    name: "net.stream",
    title: "TCP stream",
    summary: "Bytes in one direction over one connection, in writes of one size.",
    timed: "a batch of writes, from its header until the receiving end has all of it",
    not_timed: "connecting, which is a metric of its own",
    distorted_by: "size of a write; congestion control; socket buffers; offloads; other traffic on the path",
    parameters: &[
        Parameter::same("direction", "send", "send or receive"),
        Parameter::same("size", "16KiB", "bytes of a write"),
        Parameter::same(
            "congestion",
            SYSTEM,
            "congestion control of the sending end, e.g. cubic or reno; system: the system's default, which is recorded as a fact",
        ),
        PIN,
    ],
    metrics: &[
        rate("rate", "stream", Reading::BitsPerSecond, Unit::BitsPerSecond),
        bytes_per_second("bytes", "stream"),
        nanoseconds("connect", "connect", Reading::Cold),
        gauge("sent again", "sent again", Unit::Count),
    ],
    needs: &[Need::Peer],
    revision: 1,
    label: |parameters| {
        let text = |key| parameters.text(key).unwrap_or_default();
        let direction = if text("direction") == "receive" { "receive" } else { "send" };
        format!("TCP {direction}, {}", text("size").trim_end_matches("iB"))
    },
    run: |trial| {
        let parameters = trial.parameters();
        let directions = [("send", Direction::Send), ("receive", Direction::Receive)];
        let direction = parameters.one_of("direction", &directions)?;
        let size = u32::try_from(parameters.integer("size")?).unwrap_or(u32::MAX);
        let congestion = Some(parameters.text("congestion")?.to_owned()).filter(|name| name != SYSTEM);
        let flow = Flow::Transfer(Transfer { direction, size, congestion: congestion.clone() }).checked()?;
        let placement = Placement::of(parameters)?;
        let mut far = Far::open(trial, &flow, placement)?;
        let mut buffer = Buffer::random(size as usize, trial.seed())?;
        let mut connection: Option<OwnedFd> = None;
        let mut sent_again = 0;
        let request = if far.is_netserver() { transfer::request_whole } else { transfer::request };
        trial.repeat(|operations, report| {
            let bytes = operations.saturating_mul(u64::from(size)).min(LARGEST_BATCH);
            far.begin(bytes)?;
            let open = match &connection {
                Some(connection) => connection,
                None => {
                    let (fresh, stopwatch) = far.connect(false)?;
                    if let (Some(name), Direction::Send) = (&congestion, direction) {
                        sockets::congestion(&fresh, name)?;
                    }
                    report.throughput("connect", 1, &stopwatch);
                    connection.insert(fresh)
                }
            };
            let mut stopwatch = Stopwatch::default();
            let arrived = request(direction, bytes, open.as_fd(), &mut buffer, &mut stopwatch)
                .map_err(|e| sockets::stream_failure("a stream", e))?;
            prove("bytes that arrived", arrived.bytes, operations.saturating_mul(u64::from(size)))?;
            sent_again = arrived.sent_again;
            if far.is_netserver() {
                // Its connection held this batch and nothing else.
                connection = None;
            }
            far.settle(bytes, bytes, None)?;
            report.moved("stream", operations, bytes, &stopwatch);
            Ok(())
        })?;
        drop(connection);
        // netserver's own count of retransmissions is not read.
        let is_known = !far.is_netserver() || direction == Direction::Send;
        far.finish()?;
        if !is_known {
            return Ok(());
        }
        trial.once(|report| {
            report.gauge("sent again", sent_again as f64);
            Ok(())
        })
    },
};

#[cfg(test)]
mod tests {
    use tare_data::failure::FailureKind;

    use super::super::tests::{request, run};
    use super::*;

    #[test]
    fn both_directions_in_writes_of_any_size() {
        for direction in ["send", "receive"] {
            for size in ["1", "16KiB", "1MiB"] {
                run(&request(&PROBE, &[("direction", direction), ("size", size)])).unwrap();
            }
            run(&request(&PROBE, &[("direction", direction), ("congestion", "reno")])).unwrap();
        }
        assert!(run(&request(&PROBE, &[("size", "2MiB")])).is_err());
    }

    #[test]
    fn a_congestion_control_that_is_not_there_is_a_missing() {
        let failure = run(&request(&PROBE, &[("congestion", "no_such")])).unwrap_err();
        assert_eq!(failure.kind, FailureKind::NotSupported);
    }
}
