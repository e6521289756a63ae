//! `proc.fork_hold`: many processes at once, forked one after another and kept; what each costs in time and
//! in memory.
//!
//! The children of a raw fork pause until they are killed. The parent's ballast is what fork has to copy the
//! page tables of: none, memory that is mapped only, or memory in which a byte of each page was written.
//! Memory is read inside, from meminfo and from smaps_rollup; a layer that does not count its own share
//! shows less than the host does, so the host reads its own figure as well, with no child there and with all:
//! the trial reports when, and waits. A guest that got its memory from the host in an earlier trial gets no more,
//! and has no figure. fork(2), pause(2).

use tare_data::batch::OUTSIDE;

use crate::probe::describing::*;

pub static PROBE: Probe = Probe {
    name: "proc.fork_hold",
    title: "fork, kept alive",
    summary: "Many forked children kept alive at once: time and memory per process.",
    timed: "each fork in the parent, one clock read before and after; killing and reaping all of them at the end",
    not_timed: "allocating the ballast; reading memory use; the hold",
    distorted_by: "huge pages (disabled for the ballast); limits on processes; memory use of other programs",
    parameters: &[
        Parameter::from_values("n", ["100", "1000"], "children kept alive at once"),
        Parameter::from_one_value(
            "ballast",
            "none",
            "none; mapped: memory that is only mapped; written: a byte of each of its pages is written",
        ),
        Parameter::from_values("size", ["16MiB", "256MiB"], "bytes of the ballast"),
        Parameter::from_values(
            "hold_ms",
            ["50", "1000"],
            "milliseconds for which all children are kept, so that the host can read its memory use",
        ),
    ],
    metrics: &held_metrics("process"),
    family: Family::Held,
    alternates: |_| Alternates::Alone("it reads the memory that the whole machine has left"),
    revision: 2,
    label: |parameters| {
        let size = size_of(parameters, "size");
        match parameters.get_text("ballast") {
            Ok("mapped") => format!("fork, {size} mapped"),
            Ok("written") => format!("fork, {size} written"),
            _ => "fork, kept alive".into(),
        }
    },
};

/// Builds the metrics of held processes or threads, whose times are in `series`.
pub(super) const fn held_metrics(series: &'static str) -> [MetricDescription; 7] {
    [
        time_metric("time", series),
        quantile_metric("p50", series, 0.5),
        quantile_metric("p99", series, 0.99),
        gauge_metric("memory", "memory", Unit::Bytes),
        gauge_metric("pss", "pss", Unit::Bytes),
        gauge_metric("outside", OUTSIDE, Unit::Bytes),
        time_metric("end", "end"),
    ]
}
