//! `file.sync`: 4 KiB written and made durable, which each commit of a database waits for.
//!
//! Blocks of a file that is there already are overwritten in turn, so that no metadata change with them, as
//! in a preallocated log: pwrite(2), then fdatasync(2). Requests to write and to flush, blocks and
//! processor time of a commit are those that the kernel there counts, in trials in which most batches cause exactly as much: they tell what
//! a layer does, not how long that takes.

use crate::probe::describing::*;

pub static PROBE: Probe = Probe {
    name: "file.sync",
    title: "write 4K + fdatasync",
    summary: "4 KiB overwritten in a file and made durable, as each commit of a database does.",
    timed: "pwrite and fdatasync together, and each by itself; three clock reads per commit",
    not_timed: "creating the file; recording the times in the histograms",
    distorted_by: "write caches that lie; file systems in memory; journal settings; other writers on the disk",
    parameters: &[],
    metrics: &[
        time_metric("time", "commit"),
        quantile_metric("p50", "commit", 0.5),
        quantile_metric("p99", "commit", 0.99),
        nanoseconds_metric("write", "write", Reading::Mean),
        nanoseconds_metric("sync", "sync", Reading::Mean),
        per_second("rate", "commit"),
        first_call_metric("commit"),
        gauge_metric("requests", "requests", Unit::Count),
        gauge_metric("blocks of 4K", "blocks of 4K", Unit::Count),
        gauge_metric("processor", "processor", Unit::Nanoseconds),
    ],
    family: Family::Files { rests_on: |_| Storage::Disk(Promise::Sync, &[]), apart: false },
    alternates: |_| Alternates::OneProcessor,
    revision: 1,
    label: |_| "commit, 4K".into(),
};
