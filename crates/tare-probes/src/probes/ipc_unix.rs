//! Loop of `ipc.unix`: see its description.

use rustix::net::{AddressFamily, SocketFlags, SocketType, socketpair};

use crate::harness::handover::{Ends, exchange_counter};
use crate::probe::prelude::*;

pub(super) fn measure_ipc_unix(trial: &mut Trial<'_>) -> Result<(), Failure> {
    exchange_counter(trial, || {
        let pair = socketpair(AddressFamily::UNIX, SocketType::STREAM, SocketFlags::CLOEXEC, None);
        let (here, there) = pair.map_err(|e| broken_failure("socketpair", e))?;
        Ok(Ends { here: both_ways(here)?, there: both_ways(there)? })
    })
}

/// Duplicates the socket, to have one descriptor for each direction.
fn both_ways(socket: OwnedFd) -> Result<(OwnedFd, OwnedFd), Failure> {
    let copy = rustix::io::dup(&socket).map_err(|e| broken_failure("dup", e))?;
    Ok((socket, copy))
}
