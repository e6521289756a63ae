//! Loop of `sys.early`: see its description.

#![allow(
    unsafe_code,
    reason = "a number of a descriptor that came as an argument, and memory that is touched"
)]

use std::ffi::OsString;
use std::io::Write;
use std::path::Path;
use std::process::Stdio;

use rustix::fd::BorrowedFd;
use rustix::io::Errno;

use crate::carried::computing::Walk;
use crate::harness::syscall;
use crate::probe::prelude::*;
use crate::variables::inherited_variables;

pub(super) fn measure_sys_early(trial: &mut Trial<'_>) -> Result<(), Failure> {
    let gap_us = trial.parameters().get_integer_within("gap_us", 0..=1_000)?;
    let what = trial.parameters().one_of("what", &[("call", "call"), ("page", "page")])?;
    let program = trial.program();
    trial.repeat(|programs, report| {
        let mut stopwatch = Stopwatch::default();
        for _ in 0..programs {
            stopwatch.add(&run_program(program, what, gap_us)?);
        }
        report.add_throughput("program", programs, &stopwatch);
        Ok(())
    })
}

/// First argument under which this program does it: `agent-early call|page MICROSECONDS`.
pub const EARLY: &str = "agent-early";
/// Calls or pages of a program.
const TIMES: u64 = 500;
/// Steps of computing whose time says how many fill a microsecond. They meet all of its code and memory.
const MEASURED_STEPS: u64 = 20_000;
/// By how much memory grows at a time: what glibc's malloc asks for.
const GROWTH: usize = 132 << 10;
const EXIT_BAD_ARGUMENTS: i32 = 120;

/// Runs one program, and reads what its calls or pages took.
fn run_program(program: &Path, what: &str, gap_us: u64) -> Result<Stopwatch, Failure> {
    let mut command = crate::starting::command(program);
    command.args([EARLY, what, &gap_us.to_string()]).env_clear().envs(inherited_variables());
    let output = command
        .stdin(Stdio::null())
        .stderr(Stdio::inherit())
        .output()
        .map_err(|e| broken_failure("a program of early calls", e))?;
    let text = String::from_utf8_lossy(&output.stdout);
    let numbers: Vec<u64> = text.split_ascii_whitespace().filter_map(|word| word.parse().ok()).collect();
    let [answered, with_ns, without_ns] = numbers[..] else {
        return Err(broken_failure("a program of early calls", format!("it ended with {}", output.status)));
    };
    prove_count("calls answered and pages touched", answered, TIMES)?;
    let ended_ns = now_ns();
    Ok(Stopwatch::from_stretch(began_ns(ended_ns, with_ns, without_ns), ended_ns))
}

/// Computes when the calls alone would have begun, had they ended now: a stretch that is to last longer goes
/// on from here.
///
/// Computing varies by more than calls take on a fast machine with a busy neighbour: no time is less than
/// none.
fn began_ns(ended_ns: u64, with_calls_ns: u64, without_ns: u64) -> u64 {
    ended_ns.saturating_sub(with_calls_ns.saturating_sub(without_ns))
}

/// Runs the program: computes and calls or touches, then computes alone, and prints what both took.
pub fn run_early_program(rest: &[OsString]) -> i32 {
    let [what, gap] = rest else { return EXIT_BAD_ARGUMENTS };
    let Some(gap_us) = gap.to_str().and_then(|text| text.parse::<u64>().ok()) else {
        return EXIT_BAD_ARGUMENTS;
    };
    let mut walk = Walk::new();
    let steps = gap_us.min(1_000) * steps_of_a_microsecond(&mut walk);
    // SAFETY: standard output is open as long as the program runs.
    let output = unsafe { BorrowedFd::borrow_raw(1) };
    walk.restart();
    let done = match what.to_str() {
        Some("call") => calls(&mut walk, steps, output),
        Some("page") => new_pages().and_then(|pages| touches(&mut walk, steps, &pages)),
        _ => return EXIT_BAD_ARGUMENTS,
    };
    let Ok((with, answered)) = done else { return EXIT_BAD_ARGUMENTS };
    walk.restart();
    let without = computing(&mut walk, steps);
    let line = format!("{answered} {} {}\n", with.elapsed_ns(), without.elapsed_ns());
    i32::from(std::io::stdout().write_all(line.as_bytes()).is_err())
}

/// Calibrates how many steps take a microsecond here and now, at least one.
fn steps_of_a_microsecond(walk: &mut Walk) -> u64 {
    let mut best_ns = u64::MAX;
    for _ in 0..3 {
        let mut stopwatch = Stopwatch::start_new();
        walk.take_steps(MEASURED_STEPS);
        stopwatch.stop();
        best_ns = best_ns.min(stopwatch.elapsed_ns().max(1));
    }
    (MEASURED_STEPS * 1_000 / best_ns).max(1)
}

/// Iterates over addresses of pages that nothing has touched, in memory that was asked for as malloc does.
fn new_pages() -> Result<Vec<usize>, Errno> {
    let page = rustix::param::page_size();
    let mut pages = Vec::with_capacity(TIMES as usize);
    while pages.len() < TIMES as usize {
        let start = syscall::map_memory(GROWTH)?;
        pages.extend((0..GROWTH / page).map(|number| start + number * page));
    }
    pages.truncate(TIMES as usize);
    Ok(pages)
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
        // The upper bits of a linear congruence are the random ones.
        ((self.state >> 54) * self.mean) >> 9
    }
}

crate::timed! {
    fn calls(walk: &mut Walk, steps: u64, end: BorrowedFd<'_>) -> Result<(Stopwatch, u64), Errno> {
        let (mut answered, mut lengths, mut stopwatch) = (0, Lengths::of(steps), Stopwatch::start_new());
        for _ in 0..TIMES {
            walk.take_steps(lengths.next());
            answered += u64::from(syscall::fstat(end, &mut syscall::empty_stat())? == 0);
        }
        stopwatch.stop();
        Ok((stopwatch, answered))
    }
}

fn touches(walk: &mut Walk, steps: u64, pages: &[usize]) -> Result<(Stopwatch, u64), Errno> {
    let (mut right, mut lengths, mut stopwatch) = (0, Lengths::of(steps), Stopwatch::start_new());
    for page in pages {
        walk.take_steps(lengths.next());
        let address = *page as *mut u8;
        // SAFETY: within memory that this program has mapped, to which nothing refers.
        unsafe { address.write_volatile(1) };
        // SAFETY: as before.
        right += u64::from(unsafe { address.read_volatile() });
    }
    stopwatch.stop();
    Ok((stopwatch, right))
}

fn computing(walk: &mut Walk, steps: u64) -> Stopwatch {
    let (mut lengths, mut stopwatch) = (Lengths::of(steps), Stopwatch::start_new());
    for _ in 0..TIMES {
        walk.take_steps(lengths.next());
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
        for wrong in [&[][..], &["3"], &["call", "x"], &["page"], &["pages", "3"]] {
            let arguments: Vec<OsString> = wrong.iter().map(OsString::from).collect();
            assert_eq!(run_early_program(&arguments), EXIT_BAD_ARGUMENTS, "{wrong:?}");
        }
    }

    #[test]
    fn a_program_that_is_missing_is_named() {
        let failure = run_program(Path::new("/no/such/program"), "call", 3).unwrap_err();
        assert!(failure.reason.starts_with("a program of early calls: "), "{failure}");
    }
}
