//! Loop of `mem.fault`: see its description.

#![allow(unsafe_code, reason = "the first store to a page is what is measured")]

use crate::probe::prelude::*;

/// Pages touched before they are given back: 16 MiB of 4 KiB pages fits everywhere.
const PIECE_PAGES: u64 = 4_096;

pub(super) fn measure_mem_fault(trial: &mut Trial<'_>) -> Result<(), Failure> {
    let page = crate::platform::page_size();
    trial.repeat(|operations, report| {
        let (mut stopwatch, mut touched) = (Stopwatch::default(), 0);
        while touched < operations {
            let pages = (operations - touched).min(PIECE_PAGES);
            let mut memory = Buffer::new_untouched(pages as usize * page)?;
            memory.small_pages();
            touch(&mut memory, page, &mut stopwatch);
            touched += memory.iter().step_by(page).map(|&byte| u64::from(byte)).sum::<u64>();
        }
        prove_count("pages that hold what was written", touched, operations)?;
        report.add_throughput("page", operations, &stopwatch);
        Ok(())
    })
}

#[inline(never)]
fn touch(memory: &mut [u8], page: usize, stopwatch: &mut Stopwatch) {
    stopwatch.start();
    for byte in memory.iter_mut().step_by(page) {
        // SAFETY: a plain store to a byte of ours; volatile so that it happens here and one by one.
        unsafe { std::ptr::write_volatile(byte, 1) };
    }
    stopwatch.stop();
}
