//! Loop of `sys.getppid`: see its description.

use crate::harness::syscall::getppid;
use crate::probe::prelude::*;

pub(super) fn measure_sys_getppid(trial: &mut Trial<'_>) -> Result<(), Failure> {
    let parent = getppid();
    trial.repeat(|operations, report| {
        let (stopwatch, answered) = calls(operations, parent);
        prove_count("calls answered with the parent's number", answered, operations)?;
        report.add_throughput("call", operations, &stopwatch);
        Ok(())
    })
}

crate::timed! {
    fn calls(operations: u64, parent: isize) -> (Stopwatch, u64) {
        let (mut answered, mut stopwatch) = (0, Stopwatch::start_new());
        for _ in 0..operations {
            answered += u64::from(getppid() == parent);
        }
        stopwatch.stop();
        (stopwatch, answered)
    }
}
