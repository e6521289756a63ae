//! `mem.latency`: a chain of pointers through memory in random order, where each load depends on the one
//! before.
//!
//! The memory is one cycle over all its 64-byte lines (Sattolo's shuffle), so that no prefetcher knows the
//! next one. If it is far larger than the caches, this is the latency of memory with a miss in the
//! translation buffer, which nested paging makes slower: the cost of a virtual machine for a program with a
//! lot of data.

use crate::probe::describing::*;

pub static PROBE: Probe = Probe {
    name: "mem.latency",
    title: "memory latency",
    summary: "Dependent loads through memory in random order: nanoseconds per load.",
    timed: "a loop of loads, each of which needs the result of the one before",
    not_timed: "building the chain",
    distorted_by: "huge pages (disabled); sizes that fit into a cache; other users of the memory bus",
    parameters: &[Parameter::from_values("size", ["32MiB", "256MiB"], "bytes that the chain covers")],
    metrics: &[time_metric("time", "load")],
    family: Family::Processor,
    alternates: |_| Alternates::Alone("its working set is a cache, which the other side would take"),
    revision: 1,
    label: |parameters| format!("memory latency, {}", size_of(parameters, "size")),
};
