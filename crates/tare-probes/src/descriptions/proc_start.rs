//! `proc.start`: a program started as a new process, until it has ended, as a shell, make or a build does for
//! each command.
//!
//! The program is this binary with an argument that makes it end at once. It is started as standard libraries
//! do: by posix_spawn(3) on Linux, by CreateProcess on Windows, which has neither fork nor exec. Its standard
//! streams are those of the trial. On Linux, `proc.spawn` and `proc.exec` have the separate costs.

use crate::probe::describing::*;

pub static PROBE: Probe = Probe {
    name: "proc.start",
    title: "program start",
    summary: "A program started as a new process that ends at once, until it was waited for.",
    timed: "posix_spawn or CreateProcess, the program, and the wait; one clock read before and after",
    not_timed: "recording the time in the histogram",
    distorted_by: "size of the binary; what reads every program that starts; where the scheduler places it",
    parameters: &[],
    metrics: &[
        time_metric("time", "program"),
        quantile_metric("p50", "program", 0.5),
        quantile_metric("p99", "program", 0.99),
        per_second("rate", "program"),
        first_call_metric("program"),
    ],
    family: Family::Kernel,
    alternates: |_| Alternates::OneProcessor,
    revision: 1,
    label: |_| "program start".into(),
};
