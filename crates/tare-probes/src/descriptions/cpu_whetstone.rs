//! `cpu.whetstone`: the double-precision Whetstone program; floating point, its library functions, branches.
//!
//! Written from H. J. Curnow and B. A. Wichmann, "A synthetic benchmark", The Computer Journal 19(1), 1976, in
//! the form that UnixBench scores: eight modules, a pass of each being 100 times N1 12, N2 14, N3 345, N4 210,
//! N5 32, N6 899, N7 616 and N8 93 turns. N1 is run ten times as long, for the clock's sake, and a tenth of
//! its time counts. A pass stands for 10 million Whetstone instructions.

use crate::probe::describing::*;

pub(crate) const MILLIONS_A_PASS: u64 = 10;

pub static PROBE: Probe = Probe {
    name: "cpu.whetstone",
    title: "Whetstone, double",
    summary: "The Whetstone benchmark in double precision: millions of Whetstone instructions per second.",
    timed: "the eight modules, one clock read before and after each; a tenth of the first one's time counts",
    not_timed: "the check of the results",
    distorted_by: "frequency changes; a busy sibling on the same core; the C library's math functions",
    parameters: &[],
    metrics: &[
        rate_metric("mwips", "million", Reading::OperationsPerSecond, Unit::Mwips),
        time_metric("pass", "pass"),
    ],
    family: Family::Processor,
    alternates: |_| Alternates::OneProcessor,
    revision: 2,
    label: |_| "Whetstone, double".into(),
};
