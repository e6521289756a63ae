//! Loop of `proc.spawn`: see its description.

#![allow(unsafe_code, reason = "fork is what is measured")]

use crate::probe::prelude::*;

pub(super) fn measure_proc_spawn(trial: &mut Trial<'_>) -> Result<(), Failure> {
    trial.repeat(|operations, report| {
        let mut laps = Laps::new();
        let mut answered = 0;
        for _ in 0..operations {
            let started_ns = now_ns();
            let ended_well = spawn()?;
            laps.add(started_ns, now_ns());
            answered += u64::from(ended_well);
        }
        prove_count("children that exited with 0", answered, operations)?;
        report.add_latency("process", 0, laps);
        Ok(())
    })
}

/// Runs one child, from fork to wait; tells whether it exited with 0.
#[inline(always)]
pub(super) fn spawn() -> Result<bool, Failure> {
    // SAFETY: the child calls nothing but _exit.
    let child = unsafe { libc::fork() };
    if child == 0 {
        // SAFETY: ends the child.
        unsafe { libc::_exit(0) };
    }
    if child < 0 {
        return Err(broken_failure("fork", std::io::Error::last_os_error()));
    }
    let mut status = -1;
    // SAFETY: `status` lives through the call.
    let waited = unsafe { libc::waitpid(child, &mut status, 0) };
    Ok(waited == child && status == 0)
}
