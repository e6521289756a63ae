//! `time.spin`: a thread that only reads the clock; the time that something else took from it.
//!
//! A gap between two reads that is far longer than a read is time in which the thread did not run: an
//! interrupt, another program, the host. The operating system inside a virtual machine does not see what the
//! host takes; this does. One operation is a clock read.

use tare_data::unit::Unit;

use crate::probe::{MetricDescription, Probe};
use crate::stopwatch::{Stopwatch, now_ns};
use crate::trial::prove;

/// Gaps above this are time stolen: beyond what an interrupt takes, below any time slice.
const GAP_NS: u64 = 20_000;

pub static PROBE: Probe = Probe {
    name: "time.spin",
    title: "longest gap spinning",
    summary: "A thread spins on the clock: the longest gap, and the share of time that it did not run.",
    timed: "every difference between two clock reads in a row",
    not_timed: "nothing",
    distorted_by: "this is the distortion",
    parameters: &[],
    metrics: &[
        MetricDescription::gauge("longest", "longest", Unit::Nanoseconds),
        MetricDescription::gauge("stolen", "stolen", Unit::Percent),
        MetricDescription::time("read", "read"),
    ],
    needs: &[],
    revision: 1,
    label: |_| "longest gap spinning".into(),
    run: |trial| {
        trial.repeat(|operations, report| {
            let spin = spin(operations);
            prove("reads", spin.reads, operations)?;
            let elapsed_ns = spin.stopwatch.elapsed_ns().max(1);
            report.throughput("read", operations, &spin.stopwatch);
            report.gauge("longest", spin.longest_ns as f64);
            report.gauge("stolen", 100.0 * spin.stolen_ns as f64 / elapsed_ns as f64);
            Ok(())
        })
    },
};

struct Spin {
    stopwatch: Stopwatch,
    reads: u64,
    longest_ns: u64,
    stolen_ns: u64,
}

#[inline(never)]
fn spin(operations: u64) -> Spin {
    let started_ns = now_ns();
    let (mut last_ns, mut longest_ns, mut stolen_ns, mut reads) = (started_ns, 0, 0, 0);
    for _ in 0..operations {
        let now = now_ns();
        let gap_ns = now.saturating_sub(last_ns);
        longest_ns = longest_ns.max(gap_ns);
        stolen_ns += if gap_ns > GAP_NS { gap_ns } else { 0 };
        last_ns = now;
        reads += 1;
    }
    Spin { stopwatch: Stopwatch::stretch(started_ns, last_ns), reads, longest_ns, stolen_ns }
}
