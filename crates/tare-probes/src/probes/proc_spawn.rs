//! `proc.spawn`: fork, the child exits at once, the parent waits: the cost of a process.
//!
//! UnixBench's process creation and lmbench's fork time the same three calls. fork(2), _exit(2), wait4(2).

#![allow(unsafe_code, reason = "fork is what is measured")]

use crate::probe::prelude::*;

pub static PROBE: Probe = Probe {
    name: "proc.spawn",
    title: "fork + wait",
    summary: "fork() of a small process whose child exits at once, until wait() returns.",
    timed: "fork in the parent, _exit in the child, wait in the parent; one clock read before and after each",
    not_timed: "recording the time in the histogram",
    distorted_by: "memory that the process has mapped (here little); where the scheduler places the child; ptrace",
    parameters: &[],
    metrics: &[
        time("time", "process"),
        quantile("p50", "process", 0.5),
        quantile("p99", "process", 0.99),
        per_second("rate", "process"),
        first("process"),
    ],
    needs: &[],
    revision: 1,
    label: |_| "fork + wait".into(),
    run: |trial| {
        trial.repeat(|operations, report| {
            let mut laps = Laps::new();
            let mut answered = 0;
            for _ in 0..operations {
                let started_ns = now_ns();
                let ended_well = spawn()?;
                laps.add(started_ns, now_ns());
                answered += u64::from(ended_well);
            }
            prove("children that exited with 0", answered, operations)?;
            report.latency("process", 0, laps);
            Ok(())
        })
    },
};

/// One child, from fork to wait; whether it exited with 0.
#[inline(always)]
fn spawn() -> Result<bool, Failure> {
    // SAFETY: the child calls nothing but _exit.
    let child = unsafe { libc::fork() };
    if child == 0 {
        // SAFETY: ends the child.
        unsafe { libc::_exit(0) };
    }
    if child < 0 {
        return Err(broken("fork", std::io::Error::last_os_error()));
    }
    let mut status = -1;
    // SAFETY: `status` lives through the call.
    let waited = unsafe { libc::waitpid(child, &mut status, 0) };
    Ok(waited == child && status == 0)
}
