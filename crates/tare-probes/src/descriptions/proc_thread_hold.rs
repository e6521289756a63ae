//! `proc.thread_hold`: many threads at once, started one after another and kept; time and memory of each.
//!
//! As `proc.fork_hold`, with threads of this process that wait on a futex. Their stacks are a parameter:
//! `default` is what the C library gives (8 MiB of address space on most systems), of which only what is
//! touched takes memory. pthread_create(3).

use super::proc_fork_hold::held_metrics;
use crate::probe::describing::*;

pub static PROBE: Probe = Probe {
    name: "proc.thread_hold",
    title: "thread, kept alive",
    summary: "Many threads kept alive at once: time and memory per thread.",
    timed: "each start in the starting thread, one clock read before and after; ending all at the end",
    not_timed: "reading memory use; the hold",
    distorted_by: "limits on threads; memory use of other programs",
    parameters: &[
        Parameter::from_values("n", ["100", "1000"], "threads kept alive at once"),
        Parameter::from_values(
            "stack",
            ["64KiB", "default"],
            "bytes of a stack, at least what the C library demands on the processor (arm64: 128 KiB), or default",
        ),
        Parameter::from_values(
            "hold_ms",
            ["50", "1000"],
            "milliseconds for which all threads are kept, so that the host can read its memory use",
        ),
    ],
    metrics: &held_metrics("thread"),
    family: Family::Held,
    alternates: |_| Alternates::Alone("it reads the memory that the whole machine has left"),
    revision: 2,
    label: |parameters| format!("thread, {} stack", parameters.get_text("stack").unwrap_or_default()),
};
