//! `mem.fault`: the first touch of a page of anonymous memory: the cost of a minor page fault.
//!
//! Memory is mapped in pieces of 4,096 pages, with huge pages disabled, one byte of each page is written,
//! and the piece is given back. Zeroing the page is part of the fault. mmap(2), madvise(2).

use crate::probe::describing::*;

pub static PROBE: Probe = Probe {
    name: "mem.fault",
    title: "page fault",
    summary: "The first write to a page of fresh memory: the trap, and a zeroed page mapped by the kernel.",
    timed: "a loop that writes one byte into each page of a fresh mapping",
    not_timed: "mmap, munmap and the check; the clock reads around each 4,096 pages",
    distorted_by: "huge pages (disabled where the kernel allows it); nested paging; memory pressure",
    parameters: &[],
    metrics: &[time_metric("time", "page"), per_second("rate", "page"), first_call_metric("page")],
    family: Family::Memory,
    alternates: |_| Alternates::OneProcessor,
    revision: 2,
    label: |_| "page fault".into(),
};
