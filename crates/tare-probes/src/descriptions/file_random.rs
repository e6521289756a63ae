//! `file.random`: reads, writes and syncs at random places over many files, as sysbench's fileio does.
//!
//! The definition is sysbench's, to the letter: 128 files, written block by block; each request is one pread or pwrite of a block at
//! floor(U * total / block) * block over all files laid end to end, with replacement. `rndrw` reads when
//! (reads + 1) / (writes + 1) < 1.5 and else writes, which gives three reads to two writes. After every 100
//! requests every file is fsynced, each an event of its own. Threads take the next event of one sequence, so that the mixture does not
//! depend on them.
//!
//! An operation is a period of that rule, 100 requests and the fsyncs after them, so that a batch of any length has the mixture of a
//! long run. The first period warms up. Reads, writes and fsyncs a second are over the time of all, as sysbench counts them. Where
//! threads share the events, each batch has a period before it that is not timed, and ends when its next event would be taken: no
//! thread waits in it for others. A trial of a fixed time ends as sysbench does: each thread fsyncs each file once more. A shorter one
//! is a part of a run and has no end, which would be most of it.

use tare_data::names::Parameters;

use crate::probe::describing::*;

pub static PROBE: Probe = Probe {
    name: "file.random",
    title: "random file access",
    summary: "16 KiB reads and writes at random offsets in many files, with an fsync of all files after every 100.",
    timed: "each request and each fsync, one clock read before and after; rates are over the time of all together",
    not_timed: "creating and syncing the files; the first requests, to the first fsyncs",
    distorted_by: "whether the files fit into the cache (the short size does); write caches that lie",
    parameters: &[
        Parameter::from_one_value("mode", "rndrw", "rndrw, rndrd or rndwr"),
        Parameter::from_one_value("bs", "16KiB", "bytes per request"),
        Parameter::from_values("files", ["16", "128"], "number of files"),
        Parameter::from_values("total", ["32MiB", "2GiB"], "bytes of all files"),
        Parameter::from_one_value(
            "fsync_every",
            "100",
            "requests after which every file is fsynced, 65536 at most; 0: never",
        ),
        Parameter::from_one_value("threads", "1", "threads that share the events"),
    ],
    metrics: &[
        time_metric("time", "request"),
        bytes_per_second("rate", "request"),
        per_second("reads", "read"),
        per_second("writes", "write"),
        per_second("fsyncs", "fsync"),
        quantile_metric("read_p50", "read", 0.5),
        quantile_metric("read_p95", "read", 0.95),
        quantile_metric("write_p50", "write", 0.5),
        quantile_metric("write_p95", "write", 0.95),
        quantile_metric("fsync_p50", "fsync", 0.5),
        quantile_metric("fsync_p95", "fsync", 0.95),
    ],
    family: Family::Files { rests_on, apart: false },
    alternates: |_| Alternates::Alone("it works for a fixed time, or a fixed amount"),
    revision: 4,
    label: |parameters| {
        let block = size_of(parameters, "bs");
        let mode = parameters.get_text("mode").unwrap_or_default();
        match parameters.get_text("threads").unwrap_or("1") {
            "1" => format!("random {mode}, {block}"),
            threads => format!("random {mode}, {block} {threads}T"),
        }
    },
};

fn rests_on(parameters: &Parameters) -> Storage {
    let text = |key| parameters.get_text(key).unwrap_or_default();
    match (text("mode"), text("fsync_every")) {
        ("rndrd", _) | (_, "0") => Storage::PageCache,
        _ => Storage::Disk(Promise::Sync, &[]),
    }
}
