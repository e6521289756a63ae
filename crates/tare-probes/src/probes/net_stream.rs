//! Loop of `net.stream`: see its description.

use crate::descriptions::net_stream::SYSTEM;
use crate::far_end::Far;
use crate::net::flow::{Direction, Flow, LARGEST_BATCH, Transfer};
use crate::net::sockets;
use crate::net::transfer;
use crate::probe::prelude::*;

pub(super) fn run(trial: &mut Trial<'_>) -> Result<(), Failure> {
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
}

#[cfg(test)]
mod tests {
    use tare_data::failure::FailureKind;

    use super::super::tests::{request, run};
    use crate::descriptions::net_stream::PROBE;

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
