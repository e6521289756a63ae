//! Loop of `mem.copy`: see its description.

use crate::probe::prelude::*;

pub(super) fn measure_mem_copy(trial: &mut Trial<'_>) -> Result<(), Failure> {
    let size = trial.parameters().get_integer_within("size", 8..=LARGEST)?;
    let mut from = Buffer::new_random(size as usize, trial.seed())?;
    let mut to = Buffer::new_zeroed(size as usize)?;
    trial.repeat(|operations, report| {
        // Each copy differs from the last, so that one left out is noticed.
        let number = from[0].wrapping_add(1);
        from[0] = number;
        let stopwatch = copies(operations, &from, &mut to);
        prove_count("copies that arrived", u64::from(*from == *to), 1)?;
        report.add_transfer("copy", operations, operations * size, &stopwatch);
        Ok(())
    })
}

const LARGEST: u64 = 1 << 36;

#[inline(never)]
fn copies(operations: u64, from: &[u8], to: &mut [u8]) -> Stopwatch {
    let mut stopwatch = Stopwatch::start_new();
    for _ in 0..operations {
        std::hint::black_box(&mut *to).copy_from_slice(std::hint::black_box(from));
    }
    stopwatch.stop();
    stopwatch
}
