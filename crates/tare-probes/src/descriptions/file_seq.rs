//! `file.seq`: one file from beginning to end in blocks, as dd writes and reads.
//!
//! dd makes one read call and one write call a block: from /dev/zero into the file, or from the file into
//! /dev/null. `loop=dd` does just that; `loop=plain` leaves the other half out, so that the file system
//! stands alone. Data that do not compress come from a buffer of 1 MiB or more, walked through in order
//! (`loop=dd`: from a file in memory that holds them). A file that is read warm is written out before only where it is more than
//! a twentieth of free memory: so no kernel writes it out while it is read. What a write that is synced causes
//! is counted as with `file.sync`, and stands for the whole file. open(2), read(2), write(2), fdatasync(2).

use tare_data::names::Parameters;

use crate::probe::describing::*;

pub static PROBE: Probe = Probe {
    name: "file.seq",
    title: "sequential file",
    summary: "A file written or read sequentially in blocks of one size, as dd does.",
    timed: "the loop of calls, and the fdatasync or fsync at the end where there is one",
    not_timed: "opening; filling and warming, or dropping, the file to be read; checking what was read",
    distorted_by: "where the bytes really go (see the facts of the place); free memory; age of the file system",
    parameters: &[
        Parameter::from_one_value("bs", "1MiB", "bytes per call"),
        Parameter::from_one_value("op", "write", "write (a new file) or read"),
        Parameter::from_one_value(
            "sync",
            "fdatasync",
            "writing: none, fdatasync or fsync at the end, dsync (each write) or direct (O_DIRECT)",
        ),
        Parameter::from_one_value(
            "cache",
            "warm",
            "reading: warm, cold (dropped from the cache, and verified) or direct (O_DIRECT)",
        ),
        Parameter::from_values("size", ["32MiB", "1GiB"], "bytes of the file"),
        Parameter::from_values("data", ["random", "zero"], "random: incompressible; zero: as from /dev/zero"),
        Parameter::from_values(
            "loop",
            ["plain", "dd"],
            "dd: a read call and a write call per block; plain: only the call on the file",
        ),
    ],
    metrics: &[
        bytes_per_second("rate", "block"),
        time_metric("block", "block"),
        time_metric("sync", "sync"),
        gauge_metric("requests a file", "requests", Unit::Count),
        gauge_metric("blocks of 4K a file", "blocks of 4K", Unit::Count),
        gauge_metric("processor a file", "processor", Unit::Nanoseconds),
    ],
    family: Family::Files { rests_on, apart: false },
    alternates: |parameters| match parameters.get_text("cache") {
        Ok("cold") => Alternates::Alone("the disk would serve both sides at once"),
        _ => Alternates::OneProcessor,
    },
    revision: 4,
    label,
};

fn rests_on(parameters: &Parameters) -> Storage {
    let text = |key| parameters.get_text(key).unwrap_or_default();
    match (text("op"), text("sync"), text("cache")) {
        ("read", _, "cold") => Storage::Disk(Promise::CacheControl, &[]),
        ("read", _, "direct") => Storage::Disk(Promise::Direct, &[]),
        ("read", ..) | (_, "none", _) => Storage::PageCache,
        (_, "direct", _) => Storage::Disk(Promise::Direct, &[]),
        (_, "dsync", _) => Storage::Disk(Promise::Sync, &[Promise::EachWrite]),
        _ => Storage::Disk(Promise::Sync, &[]),
    }
}

/// Labels a case, e.g. `write 1M + fdatasync` or `read 4K, cold`.
fn label(parameters: &Parameters) -> String {
    let block = size_of(parameters, "bs");
    let text = |key| parameters.get_text(key).unwrap_or_default();
    match (text("op"), text("sync"), text("cache")) {
        ("read", _, cache) => format!("read {block}, {cache}"),
        (_, "none", _) => format!("write {block}"),
        (_, "direct" | "dsync", _) => format!("write {block}, {}", text("sync")),
        (_, sync, _) => format!("write {block} + {sync}"),
    }
}
