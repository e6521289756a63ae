//! `sys.mix`: five cheap system calls in turn, as UnixBench's system call overhead makes them.
//!
//! A turn is close(dup(fd)) on a pipe of its own, getpid, getuid and umask: five calls, none answered by a
//! library. dup(2), close(2), getpid(2), getuid(2), umask(2).

#![allow(unsafe_code, reason = "descriptors by number are what is measured")]

use crate::harness::syscall::{close, dup, getpid, getuid, umask};
use crate::probe::prelude::*;

/// Calls a turn.
pub(crate) const CALLS_A_TURN: u64 = 5;
/// The mask that each turn sets; setting it again gives it back, which is the proof of the call.
const MASK: usize = 0o22;

pub static PROBE: Probe = Probe {
    name: "sys.mix",
    title: "system call mix",
    summary: "dup, close, getpid, getuid and umask in turn: five cheap system calls that no library caches.",
    timed: "a loop of the five calls, without a clock read between them",
    not_timed: "creating the pipe; the first umask",
    distorted_by: "seccomp filters, ptrace, audit rules, mitigations",
    parameters: &[],
    metrics: &[time("time", "call"), per_second("turns", "turn"), first("turn")],
    needs: &[],
    revision: 1,
    label: |_| "system call mix".into(),
    run: |trial| {
        let (pipe, _other_end) = rustix::pipe::pipe().map_err(|e| broken("pipe", e))?;
        let (pid, uid) = (getpid(), getuid());
        umask(MASK);
        trial.repeat(|operations, report| {
            let (stopwatch, right) =
                turns(operations, pipe.as_fd(), pid, uid).map_err(|e| broken("dup and close", e))?;
            prove("turns answered right", right, operations)?;
            report.throughput("call", operations * CALLS_A_TURN, &stopwatch);
            report.throughput("turn", operations, &stopwatch);
            Ok(())
        })
    },
};

crate::timed! {
    fn turns(
        operations: u64,
        pipe: BorrowedFd<'_>,
        pid: isize,
        uid: isize,
    ) -> Result<(Stopwatch, u64), Errno> {
        let (mut right, mut stopwatch) = (0, Stopwatch::started());
        for _ in 0..operations {
            // SAFETY: nobody else knows the number that dup gave.
            unsafe { close(dup(pipe)?) }?;
            right += u64::from((getpid() == pid) & (getuid() == uid) & (umask(MASK) == MASK as isize));
        }
        stopwatch.stop();
        Ok((stopwatch, right))
    }
}
