//! `sys.getppid`: one raw system call that does next to nothing; what crossing into the kernel costs.
//!
//! getppid is used because no library caches it and every kernel, real or translated, has to look it up.
//! See getppid(2).

use tare_data::metric::Reading;
use tare_data::unit::{Direction, Unit};

use crate::probe::{MetricDescription, Probe};
use crate::stopwatch::Stopwatch;
use crate::trial::prove;

pub static PROBE: Probe = Probe {
    name: "sys.getppid",
    title: "system call",
    summary: "One raw getppid call: the cost of entering and leaving the kernel, or whatever stands for it.",
    timed: "a loop of getppid calls, without a clock read between them",
    not_timed: "the clock reads around the loop",
    distorted_by: "seccomp filters, ptrace, audit rules, mitigations (page-table isolation)",
    parameters: &[],
    metrics: &[
        MetricDescription {
            name: "time",
            series: "call",
            reading: Reading::TimePerOperation,
            unit: Unit::Nanoseconds,
            direction: Direction::Lower,
        },
        MetricDescription {
            name: "first",
            series: "call",
            reading: Reading::Cold,
            unit: Unit::Nanoseconds,
            direction: Direction::Lower,
        },
    ],
    needs: &[],
    revision: 1,
    label: |_| "system call".into(),
    run: |trial| {
        let parent = rustix::process::getppid();
        trial.repeat(|operations, report| {
            let mut stopwatch = Stopwatch::default();
            let mut answered = 0u64;
            stopwatch.start();
            for _ in 0..operations {
                answered += u64::from(rustix::process::getppid() == parent);
            }
            stopwatch.stop();
            prove("calls answered with the parent's number", answered, operations)?;
            report.throughput("call", operations, &stopwatch);
            Ok(())
        })
    },
};
