//! `ipc.unix`: two processes hand an 8-byte counter back and forth over a pair of Unix sockets.
//!
//! The least that a request to a local service (a database, a display server, a container runtime's API) costs.
//! As `ipc.context`, with a stream socket in place of two pipes. unix(7), socketpair(2).

use rustix::net::{AddressFamily, SocketFlags, SocketType, socketpair};

use crate::harness::handover::{self, Ends, exchange_counter};
use crate::probe::prelude::*;

pub static PROBE: Probe = Probe {
    name: "ipc.unix",
    title: "Unix socket round trip",
    summary: "An 8-byte counter goes to another process through a Unix socket and comes back.",
    timed: "a loop of one write and one read in each process, without a clock read between them",
    not_timed: "the fork of the other process",
    distorted_by: "where the scheduler places the two processes; idle states of a second processor; ptrace",
    parameters: &[PIN],
    metrics: &[time("time", "round"), per_second("rate", "round"), first("round")],
    needs: &[],
    revision: 1,
    label: |parameters| handover::label(parameters, "Unix socket", "Unix socket round trip"),
    run: |trial| {
        let (here, there) = socketpair(AddressFamily::UNIX, SocketType::STREAM, SocketFlags::CLOEXEC, None)
            .map_err(|e| broken("socketpair", e))?;
        exchange_counter(trial, Ends { here: both_ways(here)?, there: both_ways(there)? })
    },
};

/// A socket is written and read: one descriptor for each.
fn both_ways(socket: OwnedFd) -> Result<(OwnedFd, OwnedFd), Failure> {
    let copy = rustix::io::dup(&socket).map_err(|e| broken("dup", e))?;
    Ok((socket, copy))
}
