//! Loop of `ipc.futex`: see its description.

use std::sync::atomic::{AtomicU32, Ordering};

use crate::harness::syscall::{futex_wait, futex_wake};
use crate::probe::prelude::*;

pub(super) fn measure_ipc_futex(trial: &mut Trial<'_>) -> Result<(), Failure> {
    let placement = Placement::pin_this_side(trial.parameters())?;
    trial.repeat(|operations, report| {
        let turns = u32::try_from(2 * (operations + 1));
        let turns = turns.map_err(|_| broken_failure("a batch", "more turns than the word counts"))?;
        let word = AtomicU32::new(0);
        let (stopwatch, there) = std::thread::scope(|scope| {
            let there = scope.spawn(|| {
                placement.pin_other_side()?;
                odd_turns(turns, &word).map_err(|e| broken_failure("futex", e))
            });
            let here = even_turns(turns, &word).map_err(|e| broken_failure("futex", e));
            (here, there.join())
        });
        there.map_err(|_| broken_failure("the other thread", "it panicked"))??;
        prove_count("turns of the word", u64::from(word.load(Ordering::Acquire)), 2 * (operations + 1))?;
        report.add_throughput("round", operations, &stopwatch?);
        Ok(())
    })
}

/// Time after which a side that has not moved is given up, in seconds.
const PATIENCE_S: i64 = 5;

/// Waits until it is this turn.
#[inline(always)]
fn wait_for(turn: u32, word: &AtomicU32) -> Result<(), Errno> {
    loop {
        let now = word.load(Ordering::Acquire);
        if now == turn {
            return Ok(());
        }
        match futex_wait(word, now, PATIENCE_S) {
            Ok(_) | Err(Errno::AGAIN | Errno::INTR) => {}
            Err(e) => return Err(e),
        }
    }
}

#[inline(always)]
fn take_turn(turn: u32, word: &AtomicU32) -> Result<(), Errno> {
    word.store(turn + 1, Ordering::Release);
    futex_wake(word).map(drop)
}

crate::timed! {
    fn even_turns(turns: u32, word: &AtomicU32) -> Result<Stopwatch, Errno> {
        let mut stopwatch = Stopwatch::default();
        // The first round is made before the clock runs, so that the other thread is there.
        take_turn(0, word)?;
        wait_for(2, word)?;
        stopwatch.start();
        for turn in (2..turns).step_by(2) {
            take_turn(turn, word)?;
            wait_for(turn + 2, word)?;
        }
        stopwatch.stop();
        Ok(stopwatch)
    }

    fn odd_turns(turns: u32, word: &AtomicU32) -> Result<(), Errno> {
        for turn in (1..turns).step_by(2) {
            wait_for(turn, word)?;
            take_turn(turn, word)?;
        }
        Ok(())
    }
}
