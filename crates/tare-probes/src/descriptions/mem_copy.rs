//! `mem.copy`: memory copied from one buffer into another; bandwidth, each byte counted once (STREAM counts it twice).
//!
//! Both buffers are touched before. One operation is one copy of the whole buffer by the C library's memcpy,
//! which picks the best instructions that the processor reports: what an environment hides of the
//! processor (CPUID) shows here. memcpy(3).

use crate::probe::describing::*;

pub static PROBE: Probe = Probe {
    name: "mem.copy",
    title: "memory copy",
    summary: "memcpy from one buffer into another: bytes copied per second.",
    timed: "a loop of copies of the whole buffer",
    not_timed: "filling the buffers; checking the copy",
    distorted_by: "other users of the memory bus; huge pages; sizes that fit into a cache; emulated processors",
    parameters: &[Parameter::from_values("size", ["16MiB", "256MiB"], "bytes of each buffer")],
    metrics: &[bytes_per_second("rate", "copy"), time_metric("time", "copy")],
    family: Family::Processor,
    alternates: |_| Alternates::Alone("its working set is a cache, which the other side would take"),
    revision: 1,
    label: |parameters| format!("memory copy, {}", size_of(parameters, "size")),
};
