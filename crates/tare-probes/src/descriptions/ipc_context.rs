//! `ipc.context`: two processes hand an 8-byte counter back and forth over two pipes.
//!
//! The definition is that of UnixBench's pipe-based context switching; one operation is a round trip, with
//! two wake-ups. On one processor that is two context switches; on two it is two wake-ups across them.
//! Where the processes run is worth a factor of four, so it is a parameter. Since revision 2 each batch has another process of
//! its own: which of the two ways a pair runs is drawn for each batch, and no longer once for a whole trial. Since revision 3
//! pinned processes, which the scheduler has nothing to draw for, last for a trial.
//! pipe(7), sched_setaffinity(2).

use crate::probe::describing::*;

pub static PROBE: Probe = CONTEXT;

pub const CONTEXT: Probe = Probe {
    name: "ipc.context",
    title: "context switch pair",
    summary: "An 8-byte counter goes to another process through one pipe and comes back through another.",
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
    label: |parameters| placement_label(parameters, "context switch", "context switch pair"),
};
