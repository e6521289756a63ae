//! `file.copy`: one file read and another written, block by block, as UnixBench's file copy does.
//!
//! A read and a write call a block, both files of the same size; at the end of the size both are rewound and
//! written over. Bytes are counted once. Nothing is synced: with the sizes of UnixBench (1 KiB blocks in
//! 2,000 KiB, 256 B in 500 KiB, 4 KiB in 8,000 KiB) it is the cost of calls and of the page cache.

use crate::probe::describing::*;

pub static PROBE: Probe = Probe {
    name: "file.copy",
    title: "file copy",
    summary: "Blocks read from one small file and written into another, over and over.",
    timed: "a loop of one read and one write per block, and two lseek calls at the end of the file",
    not_timed: "creating the two files",
    distorted_by: "when the file system writes back; free memory",
    parameters: &[
        Parameter::from_one_value("bs", "1KiB", "bytes per call"),
        Parameter::from_one_value(
            "size",
            "2000KiB",
            "bytes of each file: UnixBench has 2000 blocks of the size of bs",
        ),
    ],
    metrics: &[bytes_per_second("rate", "block"), time_metric("block", "block")],
    family: Family::Files { rests_on: |_| Storage::PageCache, apart: false },
    alternates: |_| Alternates::OneProcessor,
    revision: 2,
    label: |parameters| format!("copy, {} blocks", size_of(parameters, "bs")),
};
