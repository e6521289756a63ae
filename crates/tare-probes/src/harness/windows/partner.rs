//! The other process of a handover: Windows has no fork, so that it is this program, started again.

use std::ffi::OsString;
use std::io;
use std::os::windows::io::AsHandle;

use tare_data::failure::Failure;

use crate::harness::affinity;
use crate::harness::handover::{Placement, exchange_batch, hand_back};
use crate::harness::trial::{Trial, broken_failure, prove_count};
use crate::platform::{AsFd, pipe};
use crate::variables::inherited_variables;

/// First argument under which this program hands back what it is sent; the processor that it stays on may follow.
pub(crate) const PARTNER: &str = "agent-partner";
/// Exit code of one that cannot.
const CANNOT: i32 = 4;

/// Passes an 8-byte counter there and back over two pipes, as often as the trial demands; each batch with a process of its own.
pub(crate) fn exchange_by_pipes(trial: &mut Trial<'_>) -> Result<(), Failure> {
    let placement = Placement::pin_this_side(trial.parameters())?;
    let program = trial.program().to_owned();
    let mut is_first = true;
    trial.repeat(|operations, report| {
        let mut command = crate::starting::command(&program);
        command.arg(PARTNER).env_clear().envs(inherited_variables());
        if let Placement::Pinned { there } = placement {
            command.arg(there.to_string());
        }
        // Not `Stdio::piped`: its pipes are overlapped, which costs more and which plain calls must not be made on.
        let pipe = || pipe().map_err(|e| broken_failure("pipe", e));
        let ((its_input, there), (back, its_output)) = (pipe()?, pipe()?);
        command.stdin(its_input).stdout(its_output);
        let mut partner = command.spawn().map_err(|e| broken_failure("starting the other process", e))?;
        // With the command its ends are closed here.
        drop(command);
        exchange_batch(operations, std::mem::take(&mut is_first), (there.as_fd(), back.as_fd()), report)?;
        drop(there);
        let status = partner.wait().map_err(|e| broken_failure("waiting for the other process", e))?;
        prove_count("exit code of the other process", status.code().unwrap_or(-1) as u64, 0)
    })
}

/// Runs the other process and returns its exit code.
pub(crate) fn run_partner(rest: &[OsString]) -> i32 {
    let cpu = rest.first().map(|cpu| cpu.to_str().and_then(|cpu| cpu.parse().ok()));
    match cpu {
        Some(None) => return CANNOT,
        Some(Some(cpu)) if affinity::pin_to_processor(cpu).is_err() => return CANNOT,
        _ => {}
    }
    hand_back(io::stdin().as_handle(), io::stdout().as_handle())
}
