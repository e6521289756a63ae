//! Loop of `net.stream`: see its description.

use crate::descriptions::net_stream::SYSTEM;
use crate::far_end::Far;
use crate::net::flow::{Direction, Flow, LARGEST_BATCH, Transfer};
use crate::net::sockets;
use crate::net::transfer;
use crate::probe::prelude::*;

pub(super) fn measure_net_stream(trial: &mut Trial<'_>) -> Result<(), Failure> {
    let parameters = trial.parameters();
    let directions = [("send", Direction::Send), ("receive", Direction::Receive)];
    let direction = parameters.one_of("direction", &directions)?;
    let size = u32::try_from(parameters.get_integer("size")?).unwrap_or(u32::MAX);
    let congestion = Some(parameters.get_text("congestion")?.to_owned()).filter(|name| name != SYSTEM);
    let wanted = Transfer { direction, size, congestion: congestion.clone() };
    let buffer_bytes = wanted.buffer_bytes(Direction::Send);
    let flow = Flow::Transfer(wanted).into_checked()?;
    let placement = Placement::pin_this_side(parameters)?;
    let mut far = Far::open(trial, &flow, placement)?;
    let mut buffer = Buffer::new_random(buffer_bytes, trial.seed())?;
    let mut connection: Option<OwnedFd> = None;
    let mut sent_again = 0;
    let request = if far.is_netserver() { transfer::request_whole } else { transfer::request_batch };
    trial.repeat(|operations, report| {
        let bytes = operations.saturating_mul(u64::from(size)).min(LARGEST_BATCH);
        far.begin_batch(bytes)?;
        let open = match &connection {
            Some(connection) => connection,
            None => {
                let (fresh, stopwatch) = far.connect(false)?;
                if let (Some(name), Direction::Send) = (&congestion, direction) {
                    sockets::set_congestion_control(&fresh, name)?;
                }
                stopwatch.iter().for_each(|stopwatch| report.add_throughput("connect", 1, stopwatch));
                connection.insert(fresh)
            }
        };
        let mut stopwatch = Stopwatch::default();
        let arrived = request(direction, bytes, open.as_fd(), &mut buffer, &mut stopwatch)
            .map_err(|e| sockets::stream_failure("a stream", e))?;
        prove_count("bytes that arrived", arrived.bytes, operations.saturating_mul(u64::from(size)))?;
        sent_again = arrived.sent_again;
        if far.is_netserver() {
            // Its connection held this batch and nothing else.
            connection = None;
        }
        far.settle_batch(bytes, bytes, None)?;
        report.add_transfer("stream", operations, bytes, &stopwatch);
        Ok(())
    })?;
    drop(connection);
    // netserver's own count of retransmissions is not read.
    let is_known = !far.is_netserver() || direction == Direction::Send;
    far.finish()?;
    if !is_known {
        return Ok(());
    }
    trial.run_once(|report| {
        report.add_gauge("sent again", sent_again as f64);
        Ok(())
    })
}

#[cfg(test)]
mod tests {
    use tare_data::failure::FailureKind;

    use super::super::tests::{make_trial_request, run_trial};
    use crate::descriptions::net_stream::PROBE;

    #[test]
    fn both_directions_in_writes_of_any_size() {
        for direction in ["send", "receive"] {
            for size in ["1", "16KiB", "1MiB"] {
                run_trial(&make_trial_request(&PROBE, &[("direction", direction), ("size", size)])).unwrap();
            }
            run_trial(&make_trial_request(&PROBE, &[("direction", direction), ("congestion", "reno")]))
                .unwrap();
        }
        assert!(run_trial(&make_trial_request(&PROBE, &[("size", "2MiB")])).is_err());
    }

    #[test]
    fn a_congestion_control_that_is_not_there_is_a_missing() {
        let failure = run_trial(&make_trial_request(&PROBE, &[("congestion", "no_such")])).unwrap_err();
        assert_eq!(failure.kind, FailureKind::NotSupported);
    }
}
