//! `ipc.context`: two processes hand an 8-byte counter back and forth over two pipes.
//!
//! The definition is that of UnixBench's pipe-based context switching; one operation is a round trip, with
//! two wake-ups. On one processor that is two context switches; on two it is two wake-ups across them.
//! Where the processes run is worth a factor of four, so it is a parameter. pipe(7), sched_setaffinity(2).

use std::panic::AssertUnwindSafe;

use rustix::fd::{AsFd, BorrowedFd};
use rustix::io::Errno;
use tare_data::failure::{Failure, FailureKind};

use crate::affinity;
use crate::child::Child;
use crate::probe::{MetricDescription, Parameter, Probe};
use crate::stopwatch::Stopwatch;
use crate::syscall::{read, write};
use crate::trial::{broken, prove};

pub static PROBE: Probe = Probe {
    name: "ipc.context",
    title: "context switch pair",
    summary: "An 8-byte counter goes to another process through a pipe and comes back through another.",
    timed: "a loop of one write and one read in each process, without a clock read between them",
    not_timed: "the fork of the other process",
    distorted_by: "where the scheduler puts the two processes; idle states of a second processor; ptrace",
    parameters: &[Parameter {
        name: "pin",
        quick: "none",
        reference: "none",
        about: "none: as the scheduler likes; same: both on one processor; cross: one on each of two",
    }],
    metrics: &[
        MetricDescription::time("time", "round"),
        MetricDescription::per_second("rate", "round"),
        MetricDescription::first("round"),
    ],
    needs: &[],
    revision: 1,
    label: |parameters| match parameters.text("pin") {
        Ok("same") => "context switch, 1 CPU".into(),
        Ok("cross") => "context switch, 2 CPU".into(),
        _ => "context switch pair".into(),
    },
    run: |trial| {
        let placement = Placement::of(trial.parameters().text("pin")?)?;
        let pipe = || rustix::pipe::pipe().map_err(|e| broken("pipe", e));
        let ((there_out, there_in), (back_out, back_in)) = (pipe()?, pipe()?);
        placement.here()?;
        let ours = [there_in.as_fd(), back_out.as_fd()];
        let other = Child::fork(
            &ours,
            AssertUnwindSafe(move || {
                let placed = placement.there();
                if placed.is_err() { 1 } else { hand_back(there_out.as_fd(), back_in.as_fd()) }
            }),
        )?;
        let mut counter = 0u64;
        trial.repeat(|operations, report| {
            let before = counter;
            let stopwatch = hand_over(operations, there_in.as_fd(), back_out.as_fd(), &mut counter)
                .map_err(|e| broken("handing the counter over", e))?;
            prove("hands that the counter went through", counter - before, 2 * operations)?;
            report.throughput("round", operations, &stopwatch);
            Ok(())
        })?;
        drop(there_in);
        prove("exit code of the other process", other.wait().unwrap_or(-1) as u64, 0)
    },
};

/// On which processors the two processes run.
#[derive(Clone, Copy)]
enum Placement {
    Free,
    Pinned { here: usize, there: usize },
}

impl Placement {
    fn of(text: &str) -> Result<Placement, Failure> {
        let allowed = affinity::allowed();
        match (text, &allowed[..]) {
            ("none", _) => Ok(Placement::Free),
            ("same", [first, ..]) => Ok(Placement::Pinned { here: *first, there: *first }),
            ("cross", [first, second, ..]) => Ok(Placement::Pinned { here: *first, there: *second }),
            ("same" | "cross", few) => {
                let reason = format!("pin={text} needs more than {} processors", few.len());
                Err(Failure::new(FailureKind::NotSupported, reason))
            }
            _ => Err(broken("pin", format!("{text} is neither none, same nor cross"))),
        }
    }

    fn here(self) -> Result<(), Failure> {
        match self {
            Placement::Free => Ok(()),
            Placement::Pinned { here, .. } => affinity::pin(here),
        }
    }

    fn there(self) -> Result<(), Failure> {
        match self {
            Placement::Free => Ok(()),
            Placement::Pinned { there, .. } => affinity::pin(there),
        }
    }
}

crate::timed! {
    /// Sends the counter and takes it back, one higher each time it changes hands.
    fn hand_over(
        operations: u64,
        there: BorrowedFd<'_>,
        back: BorrowedFd<'_>,
        counter: &mut u64,
    ) -> Result<Stopwatch, Errno> {
        let mut stopwatch = Stopwatch::default();
        stopwatch.start();
        for _ in 0..operations {
            let sent = *counter + 1;
            if write(there, &sent.to_le_bytes())? != 8 {
                return Err(Errno::PIPE);
            }
            let mut bytes = [0; 8];
            if read(back, &mut bytes)? != 8 {
                return Err(Errno::PIPE);
            }
            *counter = u64::from_le_bytes(bytes);
        }
        stopwatch.stop();
        Ok(stopwatch)
    }
}

crate::timed! {
    /// The other process: adds one and sends back, until the pipe is closed. Gives its exit code.
    fn hand_back(there: BorrowedFd<'_>, back: BorrowedFd<'_>) -> i32 {
        let mut bytes = [0; 8];
        loop {
            match read(there, &mut bytes) {
                Ok(8) => {}
                Ok(0) => return 0,
                _ => return 2,
            }
            let next = u64::from_le_bytes(bytes).wrapping_add(1);
            if write(back, &next.to_le_bytes()) != Ok(8) {
                return 3;
            }
        }
    }
}
