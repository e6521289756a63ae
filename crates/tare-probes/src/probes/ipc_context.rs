//! Loop of `ipc.context`: see its description.

#[cfg(unix)]
use crate::harness::handover::{Ends, exchange_counter};
use crate::probe::prelude::*;

#[cfg(unix)]
pub(super) fn measure_ipc_context(trial: &mut Trial<'_>) -> Result<(), Failure> {
    let pipe = || rustix::pipe::pipe().map_err(|e| broken_failure("pipe", e));
    exchange_counter(trial, || {
        let ((there_out, there_in), (back_out, back_in)) = (pipe()?, pipe()?);
        Ok(Ends { here: (there_in, back_out), there: (back_in, there_out) })
    })
}

/// Starts the other process, without forking and untimed, and measures.
#[cfg(windows)]
pub(super) fn measure_ipc_context(trial: &mut Trial<'_>) -> Result<(), Failure> {
    crate::harness::partner::exchange_by_pipes(trial)
}
