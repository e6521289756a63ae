//! Loop of `cpu.primes`: see its description.

#![allow(unsafe_code, reason = "the division of the measured program is one instruction")]

use std::sync::Barrier;
use std::sync::atomic::{AtomicU64, Ordering};

use crate::probe::prelude::*;

pub(super) fn measure_cpu_primes(trial: &mut Trial<'_>) -> Result<(), Failure> {
    let max_prime = trial.parameters().get_integer_within("max_prime", 4..=MOST_MAX_PRIME)?;
    let threads = read_threads(trial.parameters())?;
    let expected = sieve(max_prime);
    trial.repeat(|operations, report| {
        let events = operations * events_of(threads);
        let (laps, primes) = all_threads(threads, events, max_prime)?;
        prove_count("primes", primes, expected * events)?;
        report.add_latency("event", 0, laps);
        Ok(())
    })
}

/// An event up to here takes seconds; more is a slip of the pen.
const MOST_MAX_PRIME: u64 = 10_000_000;
/// More threads than any machine has processors.
const MOST_THREADS: u64 = 4_096;

/// Events of each of several threads in an operation. sysbench's threads go on to the end of its run, where these wait for the last
/// one at the end of every batch: with one event each, that took 7 % of the events of four threads on two processors.
const EVENTS_TOGETHER: u64 = 16;

/// Counts the events of an operation; none where the parameters cannot be read.
pub(super) fn events_an_operation(parameters: &Parameters) -> Option<u64> {
    read_threads(parameters).ok().map(events_of)
}

fn events_of(threads: u64) -> u64 {
    if threads == 1 { 1 } else { threads * EVENTS_TOGETHER }
}

fn read_threads(parameters: &Parameters) -> Result<u64, Failure> {
    Ok(parameters.get_integer_within("threads", 1..=MOST_THREADS)?)
}

/// Runs `total` events, and returns the primes that they counted.
///
/// Each thread takes the next event as soon as it is free, as sysbench's do: were the events dealt out beforehand, a
/// thread that is held up would keep the others waiting at the end of every batch.
fn all_threads(threads: u64, total: u64, max_prime: u64) -> Result<(Laps, u64), Failure> {
    let taken = &AtomicU64::new(0);
    if threads == 1 {
        return Ok(events(taken, total, max_prime, Laps::new()));
    }
    let together = &Barrier::new(threads as usize);
    std::thread::scope(|scope| {
        let work = move || {
            let laps = Laps::new();
            together.wait();
            events(taken, total, max_prime, laps)
        };
        let running: Vec<_> = (0..threads).map(|_| scope.spawn(work)).collect();
        let (mut laps, mut primes) = (Laps::new(), 0);
        for thread in running {
            let (its_laps, its_primes) =
                thread.join().map_err(|_| broken_failure("a thread", "it panicked"))?;
            laps.merge(&its_laps);
            primes += its_primes;
        }
        Ok((laps, primes))
    })
}

fn events(taken: &AtomicU64, total: u64, max_prime: u64, mut laps: Laps) -> (Laps, u64) {
    let mut primes = 0;
    while taken.fetch_add(1, Ordering::Relaxed) < total {
        let started_ns = now_ns();
        primes += event(std::hint::black_box(max_prime));
        laps.add(started_ns, now_ns());
    }
    (laps, primes)
}

/// Counts the primes from 3 below `max_prime`: one event.
pub(super) fn event(max_prime: u64) -> u64 {
    let mut primes = 0;
    for c in 3..max_prime {
        let root = (c as f64).sqrt();
        // The first divisor is 2, a constant: every C compiler takes the last bit for that remainder.
        if number(2) <= root && c.is_multiple_of(2) {
            continue;
        }
        let mut divisor = 3u64;
        while number(divisor) <= root {
            if remainder(c, divisor) == 0 {
                break;
            }
            divisor += 1;
        }
        primes += u64::from(number(divisor) > root);
    }
    primes
}

/// Converts the divisor to the number that C compares: by one instruction where they have a test and the same
/// one. An unsigned conversion, which LLVM makes of four, would cost 5 % of an event.
#[inline(always)]
fn number(divisor: u64) -> f64 {
    divisor as i64 as f64
}

/// Divides 64-bit numbers as C compilers do. LLVM would check whether 32 bits are enough and then divide
/// those, which older processors do several times faster: another test than sysbench's.
#[cfg(target_arch = "x86_64")]
#[inline(always)]
fn remainder(number: u64, divisor: u64) -> u64 {
    let remainder;
    // SAFETY: the divisor is at least 2 and the upper half is 0, so the division cannot trap.
    unsafe {
        core::arch::asm!(
            "div {divisor}",
            divisor = in(reg) divisor,
            inout("rax") number => _,
            inout("rdx") 0u64 => remainder,
            options(pure, nomem, nostack),
        );
    }
    remainder
}

/// Divides 64-bit numbers as C compilers do; here LLVM does the same.
#[cfg(not(target_arch = "x86_64"))]
#[inline(always)]
fn remainder(number: u64, divisor: u64) -> u64 {
    number % divisor
}

/// Counts the primes from 3 below `max_prime` in another way, for the proof.
fn sieve(max_prime: u64) -> u64 {
    let mut composite = vec![false; max_prime as usize];
    let mut primes = 0;
    for c in 2..max_prime as usize {
        if !composite[c] {
            primes += u64::from(c > 2);
            (c * c..max_prime as usize).step_by(c).for_each(|multiple| composite[multiple] = true);
        }
    }
    primes
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_event_counts_the_primes_but_the_first() {
        // There are 2,262 primes below 20,000 and 1,229 below 10,000, with 2.
        assert_eq!((event(20_000), sieve(20_000)), (2_261, 2_261));
        assert_eq!((event(10_000), sieve(10_000)), (1_228, 1_228));
    }

    #[test]
    fn an_event_makes_as_many_divisions_as_sysbenchs() {
        let divisions = |max_prime: u64| -> u64 {
            let until = |c: &u64| (2..=c.isqrt()).position(|l| c.is_multiple_of(l)).map(|at| at as u64 + 1);
            (3..max_prime).map(|c| until(&c).unwrap_or(c.isqrt().saturating_sub(1))).sum()
        };
        assert_eq!((divisions(20_000), divisions(10_000)), (301_275, 117_526));
    }
}
