//! Loop of `sys.operation`: see its description.

use crate::operations::find_operation;
use crate::probe::prelude::*;

pub(super) fn measure_sys_operation(trial: &mut Trial<'_>) -> Result<(), Failure> {
    let name = trial.parameters().get_text("operation")?;
    let prepare = find_operation(name)
        .ok_or_else(|| broken_failure("parameter operation", "it is not one of the operations"))?;
    let mut repeat = prepare(trial.folder()?)?;
    trial.repeat(|operations, report| {
        let (stopwatch, right) = repeat(operations).map_err(|e| broken_failure(name, e))?;
        prove_count(name, right, operations)?;
        report.add_throughput("operation", operations, &stopwatch);
        Ok(())
    })
}
