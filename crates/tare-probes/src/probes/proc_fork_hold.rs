//! Loop of `proc.fork_hold`: see its description.

#![allow(unsafe_code, reason = "forked processes wait for a signal")]

use std::time::Duration;

use tare_data::batch::HELD;

use crate::harness::child::Child;
use crate::harness::kernel_files::{available_bytes, meminfo_bytes, read_text};
use crate::probe::prelude::*;

pub(super) fn measure_proc_fork_hold(trial: &mut Trial<'_>) -> Result<(), Failure> {
    let parameters = trial.parameters();
    let (n, hold_ms) = read_hold_parameters(parameters)?;
    let kinds = [("none", Ballast::None), ("mapped", Ballast::Mapped), ("written", Ballast::Written)];
    let kind = parameters.one_of("ballast", &kinds)?;
    let _ballast = ballast(kind, parameters.get_integer("size")?)?;
    hold(trial, n, hold_ms)
}

/// More than any default limit on processes and threads.
const MOST_HELD: u64 = 100_000;
const LONGEST_HOLD_MS: u64 = 60_000;
/// Before anything is held there is nothing to wait for but the host's reading of its memory.
pub(super) const LONGEST_LOOK_MS: u64 = 100;
/// Children whose smaps_rollup is read: reading one walks all its page tables.
const LOOKED_AT: usize = 20;

/// Reads how many are held, and for how many milliseconds.
pub(super) fn read_hold_parameters(parameters: &Parameters) -> Result<(u64, u64), Failure> {
    Ok((
        parameters.get_integer_within("n", 1..=MOST_HELD)?,
        parameters.get_integer_within("hold_ms", 0..=LONGEST_HOLD_MS)?,
    ))
}

#[derive(Clone, Copy)]
enum Ballast {
    None,
    Mapped,
    Written,
}

fn ballast(kind: Ballast, size: u64) -> Result<Option<Buffer>, Failure> {
    let size = usize::try_from(size).map_err(|e| broken_failure("size", e))?;
    match kind {
        Ballast::None => Ok(None),
        Ballast::Mapped => Buffer::new_untouched(size).map(Some),
        Ballast::Written => {
            let mut memory = Buffer::new_untouched(size)?;
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
    trial.run_once(|report| {
        let mut laps = Laps::new();
        for i in 0..n {
            let started_ns = now_ns();
            let child = Child::fork(&[], pause_for_ever);
            laps.add(started_ns, now_ns());
            children.push(child.map_err(|e| broken_failure(&format!("child {} of {n}", i + 1), e.reason))?);
        }
        prove_count("children", laps.operations(), n)?;
        report.add_latency("process", 0, laps);
        Ok(())
    })?;
    say_held(trial, n, hold_ms)?;
    trial.run_once(|report| {
        report_increase(report, "memory", available_bytes(), before, n);
        let step = children.len().div_ceil(LOOKED_AT);
        let sizes: Vec<u64> = children.iter().step_by(step).filter_map(|c| pss_bytes(c.pid())).collect();
        if !sizes.is_empty() {
            report.add_gauge("pss", sizes.iter().sum::<u64>() as f64 / sizes.len() as f64);
        }
        let alive = children.iter().filter(|child| child.is_alive()).count();
        prove_count("children alive at the end", alive as u64, n)?;
        let mut stopwatch = Stopwatch::start_new();
        children.iter().for_each(Child::kill);
        children.clear();
        stopwatch.stop();
        report.add_throughput("end", n, &stopwatch);
        Ok(())
    })
}

/// Reports how many are held, and gives the host time to read its memory use.
pub(super) fn say_held(trial: &mut Trial<'_>, held: u64, hold_ms: u64) -> Result<(), Failure> {
    if hold_ms == 0 {
        return Ok(());
    }
    trial.run_once(|report| {
        report.add_gauge(HELD, held as f64);
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
pub(super) fn report_increase(
    report: &mut Report,
    series: &'static str,
    less: Option<u64>,
    more: Option<u64>,
    n: u64,
) {
    let increase = more.zip(less).and_then(|(more, less)| more.checked_sub(less));
    if let Some(increase) = increase.filter(|&bytes| bytes > 0) {
        report.add_gauge(series, increase as f64 / n as f64);
    }
}

/// Reads a process's share of the memory that it uses (proc_pid_smaps(5)).
pub(super) fn pss_bytes(pid: i32) -> Option<u64> {
    meminfo_bytes(&read_text(&format!("/proc/{pid}/smaps_rollup"))?, "Pss:")
}

#[cfg(test)]
mod tests {
    use super::super::tests::{make_trial_request, run_trial};
    use crate::descriptions::proc_fork_hold::PROBE;

    #[test]
    fn every_ballast_is_carried() {
        for ballast in ["none", "mapped", "written"] {
            run_trial(&make_trial_request(&PROBE, &[("ballast", ballast), ("n", "5"), ("size", "1MiB")]))
                .unwrap();
        }
    }
}
