//! How `sys.early` is measured: see its description.

#![allow(unsafe_code, reason = "a number of a descriptor that came as an argument")]

use std::ffi::OsString;
use std::hint::black_box;
use std::io::Write;
use std::path::Path;
use std::process::{Command, Stdio};

use rustix::fd::BorrowedFd;
use rustix::io::Errno;

use crate::carried::variables::inherited_variables;
use crate::harness::syscall;
use crate::probe::prelude::*;

pub(super) fn run(trial: &mut Trial<'_>) -> Result<(), Failure> {
    let gap_us = trial.parameters().within("gap_us", 0..=1_000)?;
    let program = trial.program();
    trial.repeat(|programs, report| {
        let mut stopwatch = Stopwatch::default();
        for _ in 0..programs {
            stopwatch.add(&run_program(program, gap_us)?);
        }
        report.throughput("program", programs, &stopwatch);
        Ok(())
    })
}

/// First argument under which this program makes the calls: `agent-early MICROSECONDS`.
pub const EARLY: &str = "agent-early";
/// Calls of a program.
const CALLS: u64 = 500;
/// Steps of computing whose time says how many fill a microsecond.
const MEASURED_STEPS: u64 = 5_000;
const EXIT_BAD_ARGUMENTS: i32 = 120;

/// Runs one program, and reads what its calls took.
fn run_program(program: &Path, gap_us: u64) -> Result<Stopwatch, Failure> {
    let mut command = Command::new(program);
    command.args([EARLY, &gap_us.to_string()]).env_clear().envs(inherited_variables());
    let output = command
        .stdin(Stdio::null())
        .stderr(Stdio::inherit())
        .output()
        .map_err(|e| broken("a program of early calls", e))?;
    let text = String::from_utf8_lossy(&output.stdout);
    let numbers: Vec<u64> = text.split_ascii_whitespace().filter_map(|word| word.parse().ok()).collect();
    let [answered, with_calls_ns, without_ns] = numbers[..] else {
        return Err(broken("a program of early calls", format!("it ended with {}", output.status)));
    };
    prove("calls answered", answered, CALLS)?;
    let ended_ns = now_ns();
    Ok(Stopwatch::stretch(began_ns(ended_ns, with_calls_ns, without_ns), ended_ns))
}

/// When the calls alone would have begun, had they ended now: a stretch that is to last longer goes on from here.
///
/// Computing varies by more than calls take on a fast machine with a busy neighbour: no time is less than none.
fn began_ns(ended_ns: u64, with_calls_ns: u64, without_ns: u64) -> u64 {
    ended_ns.saturating_sub(with_calls_ns.saturating_sub(without_ns))
}

/// The program: computes and calls, then computes without calling, and prints what both took.
pub fn program(rest: &[OsString]) -> i32 {
    let [gap] = rest else { return EXIT_BAD_ARGUMENTS };
    let Some(gap_us) = gap.to_str().and_then(|text| text.parse::<u64>().ok()) else {
        return EXIT_BAD_ARGUMENTS;
    };
    let steps = gap_us.min(1_000) * steps_of_a_microsecond();
    // SAFETY: standard output is open as long as the program runs.
    let output = unsafe { BorrowedFd::borrow_raw(1) };
    let Ok((with_calls, answered)) = calls(CALLS, steps, output) else { return EXIT_BAD_ARGUMENTS };
    let without = computing(CALLS, steps);
    let line = format!("{answered} {} {}\n", with_calls.elapsed_ns(), without.elapsed_ns());
    i32::from(std::io::stdout().write_all(line.as_bytes()).is_err())
}

/// How many steps take a microsecond here and now, at least one.
fn steps_of_a_microsecond() -> u64 {
    let mut best_ns = u64::MAX;
    for _ in 0..3 {
        let mut stopwatch = Stopwatch::started();
        compute(MEASURED_STEPS);
        stopwatch.stop();
        best_ns = best_ns.min(stopwatch.elapsed_ns().max(1));
    }
    (MEASURED_STEPS * 1_000 / best_ns).max(1)
}

/// A chain of steps, each of which waits for the one before.
#[inline(always)]
fn compute(steps: u64) {
    let mut state = 1_u64;
    for _ in 0..steps {
        state =
            black_box(state).wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
    }
    black_box(state);
}

/// Lengths between none and twice the mean, the same ones each time.
struct Lengths {
    state: u64,
    mean: u64,
}

impl Lengths {
    fn of(mean: u64) -> Lengths {
        Lengths { state: 1, mean }
    }

    #[inline(always)]
    fn next(&mut self) -> u64 {
        self.state = self.state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        // Of a linear congruence, the upper bits are the random ones.
        ((self.state >> 54) * self.mean) >> 9
    }
}

crate::timed! {
    fn calls(calls: u64, steps: u64, end: BorrowedFd<'_>) -> Result<(Stopwatch, u64), Errno> {
        let (mut answered, mut lengths, mut stopwatch) = (0, Lengths::of(steps), Stopwatch::started());
        for _ in 0..calls {
            compute(lengths.next());
            answered += u64::from(syscall::fstat(end, &mut syscall::empty_stat())? == 0);
        }
        stopwatch.stop();
        Ok((stopwatch, answered))
    }
}

fn computing(times: u64, steps: u64) -> Stopwatch {
    let (mut lengths, mut stopwatch) = (Lengths::of(steps), Stopwatch::started());
    for _ in 0..times {
        compute(lengths.next());
    }
    stopwatch.stop();
    stopwatch
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lengths_are_around_their_mean_and_the_same_each_time() {
        let take = || {
            let mut lengths = Lengths::of(1_000);
            std::array::from_fn::<u64, 500, _>(|_| lengths.next())
        };
        let all = take();
        let mean = all.iter().sum::<u64>() / 500;
        assert!((900..=1_100).contains(&mean) && all.iter().all(|length| *length < 2_000), "{mean}");
        assert!(all.iter().any(|length| *length < 200) && all.iter().any(|length| *length > 1_800));
        assert_eq!(all, take());
    }

    #[test]
    fn calls_end_now_and_take_what_they_add() {
        assert_eq!(began_ns(1_000_000, 300, 100), 999_800);
        assert_eq!(began_ns(1_000_000, 100, 300), 1_000_000);
    }

    #[test]
    fn a_program_with_wrong_arguments_ends() {
        assert_eq!(program(&[]), EXIT_BAD_ARGUMENTS);
        assert_eq!(program(&["x".into()]), EXIT_BAD_ARGUMENTS);
    }

    #[test]
    fn a_program_that_is_missing_is_named() {
        let failure = run_program(Path::new("/no/such/program"), 3).unwrap_err();
        assert!(failure.reason.starts_with("a program of early calls: "), "{failure}");
    }
}
