//! Loop of `time.wakeup`: see its description.

use crate::harness::syscall::sleep_until;
use crate::probe::prelude::*;

pub(super) fn measure_time_wakeup(trial: &mut Trial<'_>) -> Result<(), Failure> {
    let interval_us = trial.parameters().get_integer_within("interval_us", 1..=LONGEST_US)?;
    trial.repeat(|operations, report| {
        let mut laps = Laps::new();
        let early =
            sleeps(operations, interval_us * 1_000, &mut laps).map_err(|e| broken_failure("sleeping", e))?;
        prove_count("wake-ups before their time", early, 0)?;
        report.add_latency("late", 0, laps);
        Ok(())
    })
}

/// A second: what is longer makes a trial too long.
const LONGEST_US: u64 = 1_000_000;

crate::timed! {
    /// Sleeps `operations` times, and returns how many sleeps ended too early.
    fn sleeps(operations: u64, interval_ns: u64, laps: &mut Laps) -> Result<u64, Errno> {
        let mut early = 0;
        for _ in 0..operations {
            let wanted_ns = now_ns() + interval_ns;
            sleep_until(wanted_ns)?;
            let woken_ns = now_ns();
            early += u64::from(woken_ns < wanted_ns);
            laps.add(wanted_ns, woken_ns);
        }
        Ok(early)
    }
}
