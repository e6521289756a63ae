//! Loop of `mem.latency`: see its description.

use tare_data::generator::Generator;

use crate::probe::prelude::*;

/// Bytes of a cache line on every machine that tare is built for.
const LINE: usize = 64;

pub(super) fn measure_mem_latency(trial: &mut Trial<'_>) -> Result<(), Failure> {
    let size = trial.parameters().get_integer_within("size", 2 * LINE as u64..=LARGEST)?;
    let chain = chain(size as usize / LINE, trial.seed())?;
    let mut at = 0;
    trial.repeat(|operations, report| {
        let mut stopwatch = Stopwatch::default();
        let from = at;
        stopwatch.start();
        at = follow(&chain, at, operations);
        stopwatch.stop();
        // A chain that is one cycle comes back after as many loads as it has lines, and never before.
        let whole = operations % (chain.len() / LINE) as u64 == 0;
        prove_count("ends where a cycle of this length ends", u64::from((at == from) == whole), 1)?;
        report.add_throughput("load", operations, &stopwatch);
        Ok(())
    })
}

const LARGEST: u64 = 1 << 36;

/// Lays out memory whose lines each begin with the place of the next.
fn chain(lines: usize, seed: u64) -> Result<Buffer, Failure> {
    let mut memory = Buffer::new_untouched(lines * LINE)?;
    memory.small_pages();
    let mut generator = Generator::for_part(seed, "mem.latency");
    write_place(&mut memory, 0, 0);
    // Sattolo's shuffle, built up line by line: each new line goes in behind a random earlier one.
    for line in 1..lines {
        let other = generator.draw_below(line as u64) as usize * LINE;
        let next = read_place(&memory, other);
        write_place(&mut memory, line * LINE, next);
        write_place(&mut memory, other, line * LINE);
    }
    Ok(memory)
}

fn write_place(memory: &mut [u8], line: usize, place: usize) {
    memory[line..line + 8].copy_from_slice(&(place as u64).to_le_bytes());
}

#[inline(always)]
fn read_place(memory: &[u8], line: usize) -> usize {
    let bytes: &[u8; 8] = memory[line..line + 8].try_into().expect("eight bytes");
    u64::from_le_bytes(*bytes) as usize
}

#[inline(never)]
fn follow(memory: &[u8], mut at: usize, loads: u64) -> usize {
    for _ in 0..loads {
        at = read_place(memory, at);
    }
    std::hint::black_box(at)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_chain_is_one_cycle_over_every_line() {
        let chain = chain(1_000, 3).unwrap();
        let mut seen = vec![false; 1_000];
        let mut at = 0;
        for _ in 0..1_000 {
            at = read_place(&chain, at);
            assert!(!std::mem::replace(&mut seen[at / LINE], true), "line {at} comes twice");
        }
        assert_eq!(at, 0);
    }
}
