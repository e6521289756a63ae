//! `cpu.primes`: counting the primes below a number by trial division, as sysbench's cpu test does.
//!
//! One event: for every c from 3 below max_prime, divide by 2, 3, 4 ... up to and with sqrt(c), until a
//! division leaves nothing; c counts when none did. 64-bit unsigned division, by even numbers too. At 20000
//! an event makes 301,275 divisions and counts 2,261 primes. sysbench counts events a second over all threads.

use crate::probe::describing::*;

pub static PROBE: Probe = Probe {
    name: "cpu.primes",
    title: "primes to 20000",
    summary: "One event of sysbench's cpu test: count the primes below a number by trial division.",
    timed: "an event, with one clock read before and after it; threads start together",
    not_timed: "the start of threads; the check of the count",
    distorted_by: "frequency changes; a busy sibling on the same core; an emulated processor",
    parameters: &[
        Parameter::same("max_prime", "20000", "primes are counted below this number"),
        Parameter::same(
            "threads",
            "1",
            "threads that share the events; the number of events grows with them",
        ),
    ],
    metrics: &[
        time("time", "event"),
        per_second("rate", "event"),
        nanoseconds("min", "event", Reading::Minimum),
        nanoseconds("mean", "event", Reading::Mean),
        quantile("p95", "event", 0.95),
        nanoseconds("max", "event", Reading::Maximum),
    ],
    family: Family::Processor,
    revision: 2,
    label: |parameters| {
        let max_prime = parameters.text("max_prime").unwrap_or("20000");
        match parameters.text("threads").unwrap_or("1") {
            "1" => format!("primes to {max_prime}"),
            threads => format!("primes to {max_prime}, {threads}T"),
        }
    },
};
