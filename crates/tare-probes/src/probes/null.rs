//! Loop of `null`: see its description.

use crate::probe::prelude::*;

pub(super) fn measure_null(trial: &mut Trial<'_>) -> Result<(), Failure> {
    trial.repeat(|operations, report| {
        let mut stopwatch = Stopwatch::default();
        let mut turns = 0u64;
        stopwatch.start();
        for _ in 0..operations {
            turns = std::hint::black_box(turns + 1);
        }
        stopwatch.stop();
        prove_count("turns", turns, operations)?;
        report.add_throughput("turn", operations, &stopwatch);
        Ok(())
    })
}
