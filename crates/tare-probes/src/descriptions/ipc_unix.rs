//! `ipc.unix`: two processes hand an 8-byte counter back and forth over a pair of Unix sockets.
//!
//! The least that a request to a local service (a database, a display server, a container runtime's API) costs.
//! As `ipc.context`, with a stream socket in place of two pipes. unix(7), socketpair(2).

use super::ipc_context::CONTEXT;
use crate::probe::describing::*;

pub static PROBE: Probe = Probe {
    name: "ipc.unix",
    title: "Unix socket round trip",
    summary: "An 8-byte counter goes to another process through a Unix socket and comes back.",
    timed: "a loop of one write and one read in each process, without a clock read between them",
    label: |parameters| placement_label(parameters, "Unix socket", "Unix socket round trip"),
    ..CONTEXT
};
