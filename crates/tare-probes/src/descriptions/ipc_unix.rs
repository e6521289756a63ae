//! `ipc.unix`: two processes hand an 8-byte counter back and forth over a pair of Unix sockets.
//!
//! The least that a request to a local service (a database, a display server, a container runtime's API) costs.
//! As `ipc.context`, with a stream socket in place of two pipes. unix(7), socketpair(2).

use crate::probe::describing::*;

pub static PROBE: Probe = Probe {
    name: "ipc.unix",
    title: "Unix socket round trip",
    summary: "An 8-byte counter goes to another process through a Unix socket and comes back.",
    timed: "a loop of one write and one read in each process, without a clock read between them",
    not_timed: "the fork of the other process (unpinned, a new one for each batch), and its first round trip, but for that of the first",
    distorted_by: "where the scheduler places the two processes; idle states of a second processor; ptrace",
    parameters: &[PIN],
    metrics: &[time_metric("time", "round"), per_second("rate", "round"), first_call_metric("round")],
    family: Family::Pair { placed: true },
    alternates: |parameters| match parameters.get_text(PIN.name) {
        Ok("same") => Alternates::OneProcessor,
        Ok("cross") => Alternates::Alone("its two processes are on two processors"),
        _ => Alternates::Anywhere,
    },
    revision: 3,
    label: |parameters| placement_label(parameters, "Unix socket", "Unix socket round trip"),
};
