//! Loop of `sys.operation`: see its description.

use crate::operations::prepare;
use crate::probe::prelude::*;

pub(super) fn run(trial: &mut Trial<'_>) -> Result<(), Failure> {
    let name = trial.parameters().text("operation")?;
    let prepare =
        prepare(name).ok_or_else(|| broken("parameter operation", "it is not one of the operations"))?;
    let mut repeat = prepare(trial.directory()?)?;
    trial.repeat(|operations, report| {
        let (stopwatch, right) = repeat(operations).map_err(|e| broken(name, e))?;
        prove(name, right, operations)?;
        report.throughput("operation", operations, &stopwatch);
        Ok(())
    })
}
