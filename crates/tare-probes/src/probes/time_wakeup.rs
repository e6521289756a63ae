//! `time.wakeup`: sleeping until a given time: how late the program is woken.
//!
//! The lateness holds the timer's own slack (50 us by default for ordinary programs), the interrupt, the
//! wait for a virtual processor to be scheduled, and the scheduler inside. clock_nanosleep(2), prctl(2).

use crate::harness::syscall::sleep_until;
use crate::probe::prelude::*;

pub static PROBE: Probe = Probe {
    name: "time.wakeup",
    title: "timer wake-up latency",
    summary: "Sleep until an absolute time, repeatedly: how late the program resumes.",
    timed: "from the requested time to the first clock read after the sleep",
    not_timed: "the sleep itself",
    distorted_by: "timer slack; power saving of idle processors; a host that runs other virtual machines",
    parameters: &[Parameter::sized(
        "interval_us",
        ["200", "1000"],
        "microseconds from one wake-up to the next",
    )],
    metrics: &[
        quantile("p50", "late", 0.5),
        quantile("p99", "late", 0.99),
        nanoseconds("mean", "late", Reading::Mean),
        nanoseconds("max", "late", Reading::Maximum),
    ],
    needs: &[],
    revision: 1,
    label: |_| "timer wake-up latency".into(),
    run: |trial| {
        let interval_us = trial.parameters().within("interval_us", 1..=LONGEST_US)?;
        trial.repeat(|operations, report| {
            let mut laps = Laps::new();
            let early =
                sleeps(operations, interval_us * 1_000, &mut laps).map_err(|e| broken("sleeping", e))?;
            prove("wake-ups before their time", early, 0)?;
            report.latency("late", 0, laps);
            Ok(())
        })
    },
};

/// A second: what is longer makes a trial too long.
const LONGEST_US: u64 = 1_000_000;

crate::timed! {
    /// Sleeps `operations` times; gives how many sleeps ended too early.
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
