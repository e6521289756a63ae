//! Loop of `time.spin`: see its description.

use crate::probe::prelude::*;

/// Gaps above this are time stolen: beyond what an interrupt takes, below any time slice.
const GAP_NS: u64 = 20_000;

pub(super) fn measure_time_spin(trial: &mut Trial<'_>) -> Result<(), Failure> {
    let spin_ns = trial.parameters().get_integer("ms")?.saturating_mul(1_000_000);
    trial.run_once(|report| {
        let spin = spin(spin_ns);
        let elapsed_ns = spin.stopwatch.elapsed_ns().max(1);
        report.add_throughput("read", spin.reads, &spin.stopwatch);
        report.add_gauge("longest", spin.longest_ns as f64);
        report.add_gauge("stolen", 100.0 * spin.stolen_ns as f64 / elapsed_ns as f64);
        Ok(())
    })
}

struct Spin {
    stopwatch: Stopwatch,
    reads: u64,
    longest_ns: u64,
    stolen_ns: u64,
}

#[inline(never)]
fn spin(spin_ns: u64) -> Spin {
    let started_ns = now_ns();
    let (mut last_ns, mut longest_ns, mut stolen_ns, mut reads) = (started_ns, 0, 0, 0);
    while last_ns.saturating_sub(started_ns) < spin_ns {
        let now = now_ns();
        let gap_ns = now.saturating_sub(last_ns);
        longest_ns = longest_ns.max(gap_ns);
        stolen_ns += if gap_ns > GAP_NS { gap_ns } else { 0 };
        last_ns = now;
        reads += 1;
    }
    Spin { stopwatch: Stopwatch::from_stretch(started_ns, last_ns), reads, longest_ns, stolen_ns }
}
