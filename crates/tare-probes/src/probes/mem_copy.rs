//! `mem.copy`: memory copied from one buffer into another; bandwidth, each byte counted once (STREAM counts it twice).
//!
//! Both buffers are touched before. One operation is one copy of the whole buffer by the C library's memcpy,
//! which picks the best instructions that the processor reports: what an environment hides of the
//! processor (CPUID) shows here. memcpy(3).

use crate::probe::prelude::*;

pub static PROBE: Probe = Probe {
    name: "mem.copy",
    title: "memory copy",
    summary: "memcpy from one buffer into another: bytes copied per second.",
    timed: "a loop of copies of the whole buffer",
    not_timed: "filling the buffers; checking the copy",
    distorted_by: "other users of the memory bus; huge pages; sizes that fit into a cache; emulated processors",
    parameters: &[Parameter::sized("size", ["16MiB", "256MiB"], "bytes of each buffer")],
    metrics: &[bytes_per_second("rate", "copy"), time("time", "copy")],
    needs: &[],
    revision: 1,
    label: |parameters| format!("memory copy, {}", size_of(parameters, "size")),
    run: |trial| {
        let size = trial.parameters().within("size", 8..=LARGEST)?;
        let mut from = Buffer::random(size as usize, trial.seed())?;
        let mut to = Buffer::zeroed(size as usize)?;
        trial.repeat(|operations, report| {
            // Each copy differs from the last, so that one left out is noticed.
            let number = from[0].wrapping_add(1);
            from[0] = number;
            let stopwatch = copies(operations, &from, &mut to);
            prove("copies that arrived", u64::from(*from == *to), 1)?;
            report.moved("copy", operations, operations * size, &stopwatch);
            Ok(())
        })
    },
};

const LARGEST: u64 = 1 << 36;

#[inline(never)]
fn copies(operations: u64, from: &[u8], to: &mut [u8]) -> Stopwatch {
    let mut stopwatch = Stopwatch::started();
    for _ in 0..operations {
        std::hint::black_box(&mut *to).copy_from_slice(std::hint::black_box(from));
    }
    stopwatch.stop();
    stopwatch
}
