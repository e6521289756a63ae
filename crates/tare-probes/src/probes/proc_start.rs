//! Loop of `proc.start`: see its description.

use crate::probe::prelude::*;
use crate::variables::inherited_variables;

/// First argument at which the program ends at once.
pub const END: &str = "agent-end";

pub(super) fn measure_proc_start(trial: &mut Trial<'_>) -> Result<(), Failure> {
    let mut command = crate::starting::command(trial.program());
    command.arg(END).env_clear().envs(inherited_variables());
    trial.repeat(|operations, report| {
        let mut laps = Laps::new();
        let mut ended = 0;
        for _ in 0..operations {
            let started_ns = now_ns();
            let status = command.status().map_err(|e| broken_failure("starting a program", e))?;
            laps.add(started_ns, now_ns());
            ended += u64::from(status.success());
        }
        prove_count("programs that ended with 0", ended, operations)?;
        report.add_latency("program", 0, laps);
        Ok(())
    })
}
