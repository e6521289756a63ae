//! `mem.fault`: the first touch of a page of anonymous memory: the cost of a minor page fault.
//!
//! Memory is mapped in pieces of 4,096 pages, with huge pages disabled, one byte of each page is written,
//! and the piece is given back. Zeroing the page is part of the fault. mmap(2), madvise(2).

#![allow(unsafe_code, reason = "the first store to a page is what is measured")]

use crate::probe::prelude::*;

/// Pages touched before they are given back: 16 MiB of 4 KiB pages fits everywhere.
const PIECE_PAGES: u64 = 4_096;

pub static PROBE: Probe = Probe {
    name: "mem.fault",
    title: "page fault",
    summary: "The first write to a page of fresh memory: the trap, and a zeroed page mapped by the kernel.",
    timed: "a loop that writes one byte into each page of a fresh mapping",
    not_timed: "mmap, munmap and the check; the clock reads around each 4,096 pages",
    distorted_by: "huge pages (disabled where the kernel allows it); nested paging; memory pressure",
    parameters: &[],
    metrics: &[time("time", "page"), per_second("rate", "page"), first("page")],
    needs: &[],
    revision: 1,
    label: |_| "page fault".into(),
    run: |trial| {
        let page = rustix::param::page_size();
        trial.repeat(|operations, report| {
            let (mut stopwatch, mut touched) = (Stopwatch::default(), 0);
            while touched < operations {
                let pages = (operations - touched).min(PIECE_PAGES);
                let mut memory = Buffer::untouched(pages as usize * page)?;
                memory.small_pages();
                touch(&mut memory, page, &mut stopwatch);
                touched += memory.iter().step_by(page).map(|&byte| u64::from(byte)).sum::<u64>();
            }
            prove("pages that hold what was written", touched, operations)?;
            report.throughput("page", operations, &stopwatch);
            Ok(())
        })
    },
};

#[inline(never)]
fn touch(memory: &mut [u8], page: usize, stopwatch: &mut Stopwatch) {
    stopwatch.start();
    for byte in memory.iter_mut().step_by(page) {
        // SAFETY: a plain store to a byte of ours; volatile so that it happens here and one by one.
        unsafe { std::ptr::write_volatile(byte, 1) };
    }
    stopwatch.stop();
}
