//! Loop of `mem.map`: see its description.

#![allow(unsafe_code, reason = "mapping is what is measured")]

use crate::harness::syscall::{map, unmap};
use crate::probe::prelude::*;

pub(super) fn run(trial: &mut Trial<'_>) -> Result<(), Failure> {
    let size = trial.parameters().within("size", 1..=LARGEST)?;
    let page = crate::platform::page_size();
    trial.repeat(|operations, report| {
        let (stopwatch, touched) =
            pieces(operations, size as usize, page).map_err(|e| broken("mapping memory", e))?;
        prove("pages that came fresh", touched, operations * size.div_ceil(page as u64))?;
        report.throughput("piece", operations, &stopwatch);
        Ok(())
    })
}

const LARGEST: u64 = 1 << 32;

crate::timed! {
    /// Maps, touches and unmaps `operations` times; gives the pages that came fresh, that is zero beside the byte written.
    fn pieces(operations: u64, size: usize, page: usize) -> Result<(Stopwatch, u64), Errno> {
        let (mut stopwatch, mut touched) = (Stopwatch::default(), 0);
        // A byte of the same page, so that looking at it makes no fault of its own.
        let neighbour = usize::from(page > 1);
        stopwatch.start();
        for _ in 0..operations {
            let start = map(size)?;
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
            unsafe { unmap(start, size)? };
        }
        stopwatch.stop();
        Ok((stopwatch, touched))
    }
}
