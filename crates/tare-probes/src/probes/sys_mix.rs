//! Loop of `sys.mix`: see its description.

#![allow(unsafe_code, reason = "descriptors by number are what is measured")]

use crate::descriptions::sys_mix::CALLS_A_TURN;
use crate::harness::syscall::{close, dup, getpid, getuid, umask};
use crate::probe::prelude::*;

/// The mask that each turn sets; setting it again gives it back, which is the proof of the call.
const MASK: usize = 0o22;

pub(super) fn measure_sys_mix(trial: &mut Trial<'_>) -> Result<(), Failure> {
    let (pipe, _other_end) = rustix::pipe::pipe().map_err(|e| broken_failure("pipe", e))?;
    let (pid, uid) = (getpid(), getuid());
    umask(MASK);
    trial.repeat(|operations, report| {
        let (stopwatch, right) =
            turns(operations, pipe.as_fd(), pid, uid).map_err(|e| broken_failure("dup and close", e))?;
        prove_count("turns answered right", right, operations)?;
        report.add_throughput("call", operations * CALLS_A_TURN, &stopwatch);
        report.add_throughput("turn", operations, &stopwatch);
        Ok(())
    })
}

crate::timed! {
    fn turns(
        operations: u64,
        pipe: BorrowedFd<'_>,
        pid: isize,
        uid: isize,
    ) -> Result<(Stopwatch, u64), Errno> {
        let (mut right, mut stopwatch) = (0, Stopwatch::start_new());
        for _ in 0..operations {
            // SAFETY: nobody else knows the number that dup gave.
            unsafe { close(dup(pipe)?) }?;
            right += u64::from((getpid() == pid) & (getuid() == uid) & (umask(MASK) == MASK as isize));
        }
        stopwatch.stop();
        Ok((stopwatch, right))
    }
}
