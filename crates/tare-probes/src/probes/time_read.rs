//! Loop of `time.read`: see its description.

use crate::harness::stopwatch::smallest_step_ns;
use crate::probe::prelude::*;

pub(super) fn measure_time_read(trial: &mut Trial<'_>) -> Result<(), Failure> {
    trial.repeat(|operations, report| {
        let (stopwatch, forward) = reads(operations);
        prove_count("reads that did not go back", forward, operations)?;
        report.add_throughput("read", operations, &stopwatch);
        Ok(())
    })?;
    trial.run_once(|report| {
        report.add_gauge("step", smallest_step_ns() as f64);
        Ok(())
    })
}

#[inline(never)]
fn reads(operations: u64) -> (Stopwatch, u64) {
    let (mut forward, mut stopwatch) = (0, Stopwatch::start_new());
    let mut last_ns = 0;
    for _ in 0..operations {
        let now = now_ns();
        forward += u64::from(now >= last_ns);
        last_ns = now;
    }
    stopwatch.stop();
    (stopwatch, forward)
}
