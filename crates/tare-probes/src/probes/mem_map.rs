//! Loop of `mem.map`: see its description.

#![allow(unsafe_code, reason = "mapping is what is measured")]

use crate::harness::syscall::{map_memory, unmap_memory};
use crate::probe::prelude::*;

pub(super) fn measure_mem_map(trial: &mut Trial<'_>) -> Result<(), Failure> {
    let size = trial.parameters().get_integer_within("size", 1..=LARGEST)?;
    let page = crate::platform::page_size();
    trial.repeat(|operations, report| {
        let (stopwatch, touched) =
            pieces(operations, size as usize, page).map_err(|e| broken_failure("mapping memory", e))?;
        prove_count("pages that came fresh", touched, operations * size.div_ceil(page as u64))?;
        report.add_throughput("piece", operations, &stopwatch);
        Ok(())
    })
}

const LARGEST: u64 = 1 << 32;

crate::timed! {
    /// Maps, touches and unmaps `operations` times, and returns how many pages were zero beside the byte written.
    fn pieces(operations: u64, size: usize, page: usize) -> Result<(Stopwatch, u64), Errno> {
        let (mut stopwatch, mut touched) = (Stopwatch::default(), 0);
        // A byte of the same page, so that looking at it makes no fault of its own.
        let neighbour = usize::from(page > 1);
        stopwatch.start();
        for _ in 0..operations {
            let start = map_memory(size)?;
            let mut at = 0;
            while at < size {
                let byte = (start + at) as *mut u8;
                // SAFETY: within the mapping that was just made. Volatile: each happens, in order.
                unsafe {
                    byte.write_volatile(1);
                    touched += u64::from(byte.add(neighbour).read_volatile() == 0);
                }
                at += page;
            }
            // SAFETY: the mapping is whole and ours; no reference to it exists.
            unsafe { unmap_memory(start, size)? };
        }
        stopwatch.stop();
        Ok((stopwatch, touched))
    }
}
