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
        Parameter::from_one_value("max_prime", "20000", "primes are counted below this number"),
        Parameter::from_one_value(
            "threads",
            "1",
            "threads that share the events, of which an operation has 16 for each",
        ),
    ],
    metrics: &[
        time_metric("time", "event"),
        per_second("rate", "event"),
        nanoseconds_metric("min", "event", Reading::Minimum),
        nanoseconds_metric("mean", "event", Reading::Mean),
        quantile_metric("p95", "event", 0.95),
        nanoseconds_metric("max", "event", Reading::Maximum),
    ],
    family: Family::Processor,
    alternates: |parameters| match parameters.get_text("threads") {
        Ok("1") => Alternates::OneProcessor,
        _ => Alternates::Alone("its threads use several processors"),
    },
    revision: 3,
    label: |parameters| {
        let max_prime = parameters.get_text("max_prime").unwrap_or("20000");
        match parameters.get_text("threads").unwrap_or("1") {
            "1" => format!("primes to {max_prime}"),
            threads => format!("primes to {max_prime}, {threads}T"),
        }
    },
};
