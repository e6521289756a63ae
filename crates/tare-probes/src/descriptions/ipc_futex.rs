//! `ipc.futex`: two threads wake each other in turn through a word of memory: the cost of a contended lock.
//!
//! One operation is a round trip: a store, a wake and a wait on each side. A thread that finds the word
//! changed already does not wait, as in any lock; both always make the wake call. futex(2).

use crate::probe::describing::*;

pub static PROBE: Probe = Probe {
    name: "ipc.futex",
    title: "futex round trip",
    summary: "Two threads wake each other in turn through a futex: the cost of handing over a lock.",
    timed: "a loop of store, wake and wait in each thread, without a clock read between them",
    not_timed: "the start of the other thread, in each batch",
    distorted_by: "where the scheduler places the two threads; idle states of a second processor; ptrace",
    parameters: &[PIN],
    metrics: &[time_metric("time", "round"), per_second("rate", "round"), first_call_metric("round")],
    family: Family::Pair { placed: false },
    alternates: |parameters| match parameters.get_text(PIN.name) {
        Ok("same") => Alternates::OneProcessor,
        Ok("cross") => Alternates::Alone("its two processes are on two processors"),
        _ => Alternates::Anywhere,
    },
    revision: 1,
    label: |parameters| placement_label(parameters, "futex", "futex round trip"),
};
