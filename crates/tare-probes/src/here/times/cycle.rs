//! Cycle: chains of operations of which each needs the one before, so that a processor takes a known number of cycles for them.

#![allow(unsafe_code, reason = "operations that no compiler may combine")]

use std::hint::black_box;

use crate::harness::stopwatch::now_ns;

/// Operations of a chain, of which a loop has eight.
const ADDITIONS: u64 = 20_000;
const MULTIPLICATIONS: u64 = 6_000;
/// Time that either chain takes on a fast processor.
const SHORTEST_CHAIN_NS: u64 = 4_000;

/// Number of reads of the clock that a chain outlasts, and the most repeats that this takes.
const READS: u64 = 50;
const MOST_REPEATS: u64 = 400;

/// Measures one addition in ns: it takes a cycle on every processor of this century.
pub fn time_addition() -> f64 {
    time_chain(ADDITIONS, add_up)
}

/// Measures one multiplication in ns: it takes three to four and a half cycles, which shows whether an addition takes one.
pub fn time_multiplication() -> f64 {
    time_chain(MULTIPLICATIONS, multiply)
}

fn time_chain(operations: u64, chain: fn(u64) -> u64) -> f64 {
    let repeats = count_repeats(time_clock_read());
    let started_ns = now_ns();
    (0..repeats).for_each(|_| _ = black_box(chain(operations)));
    (now_ns() - started_ns) as f64 / (operations * repeats) as f64
}

fn time_clock_read() -> u64 {
    let read = |_| {
        let started_ns = now_ns();
        now_ns() - started_ns
    };
    (0..3).map(read).min().unwrap_or_default()
}

/// Counts how often a chain is repeated, so that reading the clock hardly counts: it takes longer than a chain where a kernel answers
/// it that is a program itself.
fn count_repeats(read_ns: u64) -> u64 {
    (READS * read_ns).div_ceil(SHORTEST_CHAIN_NS).clamp(1, MOST_REPEATS)
}

/// A chain of `$count` instructions on one register, eight in a loop.
#[cfg(any(target_arch = "x86_64", target_arch = "aarch64"))]
macro_rules! chain {
    ($count:expr, $start:expr, $instruction:literal) => {{
        let mut value: u64 = $start;
        for _ in 0..$count / 8 {
            // SAFETY: changes a register of its own.
            unsafe {
                std::arch::asm!(
                    $instruction, $instruction, $instruction, $instruction,
                    $instruction, $instruction, $instruction, $instruction,
                    inout(reg) value, options(nomem, nostack)
                );
            }
        }
        value
    }};
}

#[cfg(target_arch = "x86_64")]
fn add_up(count: u64) -> u64 {
    chain!(count, count, "add {0}, 1")
}

#[cfg(target_arch = "x86_64")]
fn multiply(count: u64) -> u64 {
    chain!(count, count | 1, "imul {0}, {0}")
}

#[cfg(target_arch = "aarch64")]
fn add_up(count: u64) -> u64 {
    chain!(count, count, "add {0}, {0}, #1")
}

#[cfg(target_arch = "aarch64")]
fn multiply(count: u64) -> u64 {
    chain!(count, count | 1, "mul {0}, {0}, {0}")
}

/// Passes each value through memory, so that a multiplication takes about as long as an addition: no cycle is claimed from it.
#[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
fn add_up(count: u64) -> u64 {
    (0..count).fold(count, |sum, _| black_box(sum.wrapping_add(1)))
}

#[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
fn multiply(count: u64) -> u64 {
    (0..count).fold(count | 1, |value, _| black_box(value.wrapping_mul(value)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn chains_do_as_many_operations_as_they_are_divided_by() {
        assert_eq!(add_up(ADDITIONS), 2 * ADDITIONS);
        // A power of an odd number is odd, and of an even one would soon be 0.
        assert_eq!(multiply(MULTIPLICATIONS) % 2, 1);
        assert!(time_addition() >= 0.0 && time_multiplication() >= 0.0);
    }

    #[test]
    fn chains_are_long_against_a_read_of_the_clock() {
        assert_eq!(count_repeats(25), 1);
        // User-mode Linux: a chain took as long as a third of a read, and a cycle seemed to take four.
        assert!(count_repeats(14_000) * SHORTEST_CHAIN_NS >= READS * 14_000);
        assert_eq!(count_repeats(u64::MAX / READS), MOST_REPEATS);
    }
}
