//! `mem.map`: memory mapped, touched and unmapped: the cost of an allocation that goes to the kernel.
//!
//! One operation maps a block of anonymous memory, writes one byte into each of its pages, and unmaps it.
//! mmap(2), munmap(2).

use crate::probe::describing::*;

pub static PROBE: Probe = Probe {
    name: "mem.map",
    title: "map, touch, unmap",
    summary: "A block of memory mapped, touched page by page and unmapped.",
    timed: "a loop of mmap, a write to each page, and munmap",
    not_timed: "the clock reads around the loop",
    distorted_by: "huge pages, where the block is large enough for one; nested paging; TLB flushes on other processors",
    parameters: &[Parameter::from_one_value("size", "64KiB", "bytes of a block")],
    metrics: &[time_metric("time", "piece"), first_call_metric("piece")],
    family: Family::Kernel,
    alternates: |_| Alternates::OneProcessor,
    revision: 2,
    label: |parameters| format!("map + unmap, {}", size_of(parameters, "size")),
};
