//! `cpu.dhrystone`: Dhrystone 2.1, an integer program with the mix of statements that Weicker counted in
//! real ones: assignments, comparisons, procedure calls, records, strings.
//!
//! Written from R. P. Weicker, "Dhrystone: a synthetic systems programming benchmark", CACM 27(10), 1984, and
//! the rules of version 2 (which makes the results used, so that nothing can be left out). Its rules ask for
//! two compilation units without inlining between them: the procedures of the second are never inlined here.
//! The final values of its variables are the proof. A compiler's string code decides much of the figure, so
//! compare environments with it, not with figures from another compiler.

use crate::probe::describing::*;

pub static PROBE: Probe = Probe {
    name: "cpu.dhrystone",
    title: "Dhrystone 2.1",
    summary: "Dhrystone 2.1, a synthetic integer benchmark: loops per second.",
    timed: "the loop of the benchmark, without a clock read in it",
    not_timed: "initialising its variables, and checking them at the end",
    distorted_by: "frequency changes; a busy sibling on the same core; the compiler that built this binary",
    parameters: &[],
    metrics: &[time_metric("time", "loop"), per_second("rate", "loop")],
    family: Family::Processor,
    alternates: |_| Alternates::OneProcessor,
    revision: 1,
    label: |_| "Dhrystone 2.1".into(),
};
