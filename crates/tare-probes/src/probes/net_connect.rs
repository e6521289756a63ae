//! Loop of `net.connect`: see its description.

use crate::far_end::Far;
use crate::net::connections::{self, Connections};
use crate::net::flow::{Flow, REQUEST};
use crate::net::sockets;
use crate::net::token::TOKEN_BYTES;
use crate::probe::prelude::*;

pub(super) fn measure_net_connect(trial: &mut Trial<'_>) -> Result<(), Failure> {
    let parameters = trial.parameters();
    let size = |key| parameters.get_integer(key).map(|bytes| u32::try_from(bytes).unwrap_or(u32::MAX));
    let (request, response) = (size("request")?, size("response")?);
    let flow = Flow::Connections { request, response }.into_checked()?;
    let placement = Placement::pin_this_side(parameters)?;
    let mut far = Far::open(trial, &flow, placement)?;
    let mut outgoing = Buffer::new_zeroed(request as usize)?;
    outgoing.fill(REQUEST);
    match outgoing.first_chunk_mut::<TOKEN_BYTES>() {
        Some(first) if !far.is_netserver() => *first = *far.token(),
        Some(_) => {}
        None if far.is_strict() => {
            let reason = format!("a request to this peer has at least {TOKEN_BYTES} bytes");
            return Err(Failure::new(FailureKind::NotSupported, reason));
        }
        None => {}
    }
    let mut incoming = Buffer::new_zeroed(response as usize)?;
    trial.repeat(|operations, report| {
        far.begin_batch(operations)?;
        let (address, expected) = (far.address(), far.response_byte());
        let mut connections = Connections { address, request: &outgoing, response: &mut incoming, expected };
        let (mut whole, mut connect) = (Laps::new(), Laps::new());
        let right = connections::request_connections(operations, &mut connections, &mut whole, &mut connect)
            .map_err(|e| sockets::stream_failure("a connection", e))?;
        prove_count("responses that are the peer's", right, operations)?;
        far.settle_batch(operations, operations, None)?;
        report.add_latency("transaction", operations * u64::from(request + response), whole);
        report.add_latency("connect", 0, connect);
        Ok(())
    })?;
    far.finish()
}

#[cfg(test)]
mod tests {
    use super::super::tests::{make_trial_request, run_trial};
    use super::*;
    use crate::descriptions::net_connect::PROBE;

    #[test]
    fn requests_of_any_size_are_answered_on_a_connection_each() {
        for (out, back) in [("1", "1"), ("16", "1"), ("17", "3000"), ("64KiB", "64KiB")] {
            run_trial(&make_trial_request(&PROBE, &[("request", out), ("response", back)])).unwrap();
        }
        assert!(run_trial(&make_trial_request(&PROBE, &[("request", "0")])).is_err());
    }

    #[test]
    fn a_parameter_that_is_no_placement_is_refused() {
        let failure = run_trial(&make_trial_request(&PROBE, &[("pin", "both")])).unwrap_err();
        assert_eq!(
            failure,
            Failure::new(FailureKind::Broken, "parameter pin=both is not one of none, same, cross")
        );
    }
}
