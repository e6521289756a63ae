//! `proc.fork_hold`: many processes at once, forked one after another and kept; what each costs in time and
//! in memory.
//!
//! The children of a raw fork pause until they are killed. The parent's ballast is what fork has to copy the
//! page tables of: none, memory that is mapped only, or memory in which a byte of each page was written.
//! Memory is read inside, from meminfo and from smaps_rollup; a layer that does not count its own share
//! shows less than the host does, so the host reads its own figure as well, with no child there and with all:
//! the trial reports when, and waits. A guest that got its memory from the host in an earlier trial gets no more,
//! and has no figure. fork(2), pause(2).

#![allow(unsafe_code, reason = "forked processes wait for a signal")]

use std::time::Duration;

use tare_data::batch::{HELD, OUTSIDE};

use crate::harness::child::Child;
use crate::harness::kernel_files::{available_bytes, meminfo_bytes, read_text};
use crate::probe::prelude::*;

pub static PROBE: Probe = Probe {
    name: "proc.fork_hold",
    title: "fork, kept alive",
    summary: "Many forked children kept alive at once: time and memory per process.",
    timed: "each fork in the parent, one clock read before and after; killing and reaping all of them at the end",
    not_timed: "allocating the ballast; reading memory use; the hold",
    distorted_by: "huge pages (disabled for the ballast); limits on processes; memory use of other programs",
    parameters: &[
        Parameter::sized("n", ["100", "1000"], "children kept alive at once"),
        Parameter::same(
            "ballast",
            "none",
            "none; mapped: memory that is only mapped; written: a byte of each of its pages is written",
        ),
        Parameter::sized("size", ["16MiB", "256MiB"], "bytes of the ballast"),
        Parameter::sized(
            "hold_ms",
            ["50", "1000"],
            "milliseconds for which all children are kept, so that the host can read its memory use",
        ),
    ],
    metrics: &held_metrics("process"),
    needs: &[],
    revision: 2,
    label: |parameters| {
        let size = size_of(parameters, "size");
        match parameters.text("ballast") {
            Ok("mapped") => format!("fork, {size} mapped"),
            Ok("written") => format!("fork, {size} written"),
            _ => "fork, kept alive".into(),
        }
    },
    run: |trial| {
        let parameters = trial.parameters();
        let (n, hold_ms) = bounded(parameters)?;
        let kinds = [("none", Ballast::None), ("mapped", Ballast::Mapped), ("written", Ballast::Written)];
        let kind = parameters.one_of("ballast", &kinds)?;
        let _ballast = ballast(kind, parameters.integer("size")?)?;
        hold(trial, n, hold_ms)
    },
};

/// More than any default limit on processes and threads.
const MOST_HELD: u64 = 100_000;
const LONGEST_HOLD_MS: u64 = 60_000;
/// Before anything is held there is nothing to wait for but the host's reading of its memory.
pub(super) const LONGEST_LOOK_MS: u64 = 100;
/// Children whose smaps_rollup is read: reading one walks all its page tables.
const LOOKED_AT: usize = 20;

/// What is measured of processes or threads that are held; `series` has the time of each.
pub(super) const fn held_metrics(series: &'static str) -> [MetricDescription; 7] {
    [
        time("time", series),
        quantile("p50", series, 0.5),
        quantile("p99", series, 0.99),
        gauge("memory", "memory", Unit::Bytes),
        gauge("pss", "pss", Unit::Bytes),
        gauge("outside", OUTSIDE, Unit::Bytes),
        time("end", "end"),
    ]
}

/// How many are held, and for how many milliseconds.
pub(super) fn bounded(parameters: &Parameters) -> Result<(u64, u64), Failure> {
    Ok((parameters.within("n", 1..=MOST_HELD)?, parameters.within("hold_ms", 0..=LONGEST_HOLD_MS)?))
}

#[derive(Clone, Copy)]
enum Ballast {
    None,
    Mapped,
    Written,
}

fn ballast(kind: Ballast, size: u64) -> Result<Option<Buffer>, Failure> {
    let size = usize::try_from(size).map_err(|e| broken("size", e))?;
    match kind {
        Ballast::None => Ok(None),
        Ballast::Mapped => Buffer::untouched(size).map(Some),
        Ballast::Written => {
            let mut memory = Buffer::untouched(size)?;
            memory.small_pages();
            memory.iter_mut().step_by(rustix::param::page_size()).for_each(|byte| *byte = 1);
            Ok(Some(memory))
        }
    }
}

fn hold(trial: &mut Trial<'_>, n: u64, hold_ms: u64) -> Result<(), Failure> {
    let mut children = Vec::with_capacity(n as usize);
    say_held(trial, 0, hold_ms.min(LONGEST_LOOK_MS))?;
    let before = available_bytes();
    trial.once(|report| {
        let mut laps = Laps::new();
        for i in 0..n {
            let started_ns = now_ns();
            let child = Child::fork(&[], pause_for_ever);
            laps.add(started_ns, now_ns());
            children.push(child.map_err(|e| broken(&format!("child {} of {n}", i + 1), e.reason))?);
        }
        prove("children", laps.operations(), n)?;
        report.latency("process", 0, laps);
        Ok(())
    })?;
    say_held(trial, n, hold_ms)?;
    trial.once(|report| {
        each(report, "memory", available_bytes(), before, n);
        let step = children.len().div_ceil(LOOKED_AT);
        let sizes: Vec<u64> = children.iter().step_by(step).filter_map(|c| pss_bytes(c.pid())).collect();
        if !sizes.is_empty() {
            report.gauge("pss", sizes.iter().sum::<u64>() as f64 / sizes.len() as f64);
        }
        let alive = children.iter().filter(|child| child.is_alive()).count();
        prove("children alive at the end", alive as u64, n)?;
        let mut stopwatch = Stopwatch::started();
        children.iter().for_each(Child::kill);
        children.clear();
        stopwatch.stop();
        report.throughput("end", n, &stopwatch);
        Ok(())
    })
}

/// Reports how many are held, and gives the host time to read its memory use.
pub(super) fn say_held(trial: &mut Trial<'_>, held: u64, hold_ms: u64) -> Result<(), Failure> {
    if hold_ms == 0 {
        return Ok(());
    }
    trial.once(|report| {
        report.gauge(HELD, held as f64);
        Ok(())
    })?;
    std::thread::sleep(Duration::from_millis(hold_ms));
    Ok(())
}

fn pause_for_ever() -> i32 {
    loop {
        // SAFETY: waits for a signal, and none but the last is sent.
        unsafe { libc::pause() };
    }
}

/// Reports how much more there is than there was, for each of n. What is below the grain of the counters
/// does not show, or shows as less: that is not known, and not zero.
pub(super) fn each(report: &mut Report, series: &'static str, less: Option<u64>, more: Option<u64>, n: u64) {
    let increase = more.zip(less).and_then(|(more, less)| more.checked_sub(less));
    if let Some(increase) = increase.filter(|&bytes| bytes > 0) {
        report.gauge(series, increase as f64 / n as f64);
    }
}

/// A process's share of the memory that it uses (proc_pid_smaps(5)).
pub(super) fn pss_bytes(pid: i32) -> Option<u64> {
    meminfo_bytes(&read_text(&format!("/proc/{pid}/smaps_rollup"))?, "Pss:")
}

#[cfg(test)]
mod tests {
    use super::super::tests::{request, run};
    use super::*;

    #[test]
    fn every_ballast_is_carried() {
        for ballast in ["none", "mapped", "written"] {
            run(&request(&PROBE, &[("ballast", ballast), ("n", "5"), ("size", "1MiB")])).unwrap();
        }
    }
}
