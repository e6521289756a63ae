//! `file.queue`: many requests outstanding at once on one file, past the cache; what a disk can do.
//!
//! As DiskSpd, which CrystalDiskMark runs: O_DIRECT, blocks of one size in order or at random aligned places,
//! a queue kept full by each of some threads. `engine=uring` keeps the queue with io_uring, one for each
//! thread; on Windows with overlapped I/O and a completion port, as DiskSpd itself. `engine=threads` keeps it with
//! as many threads as requests outstanding, each with a plain pread or pwrite, for environments without
//! io_uring. They are not the same measurement, so that one never stands in for the other. The latency of a request is from its submission to its answer. io_uring(7).

use crate::probe::describing::*;

pub static PROBE: Probe = Probe {
    name: "file.queue",
    title: "queued file access",
    summary: "Reads or writes past the cache with a queue of outstanding requests: bytes per second, latency.",
    timed: "each request from submission to completion; the whole batch from the first to the last",
    not_timed: "creating the file; setting up the ring and its buffers",
    distorted_by: "a cache below this kernel (the host of a virtual machine); the device's own cache",
    parameters: &[
        Parameter::from_one_value("bs", "4KiB", "bytes per request"),
        Parameter::from_one_value("op", "read", "read or write"),
        Parameter::from_one_value("pattern", "random", "random or sequential"),
        Parameter::from_values("depth", ["16", "32"], "requests outstanding per thread"),
        Parameter::from_one_value("threads", "1", "threads, each with its own queue"),
        Parameter::from_values("size", ["32MiB", "1GiB"], "bytes of the file"),
        Parameter::from_one_value("engine", "uring", "uring or threads"),
    ],
    metrics: &[
        bytes_per_second("rate", "request"),
        per_second("iops", "request"),
        nanoseconds_metric("mean", "request", Reading::Mean),
        quantile_metric("p50", "request", 0.5),
        quantile_metric("p99", "request", 0.99),
        nanoseconds_metric("max", "request", Reading::Maximum),
    ],
    // io_uring is needed by one engine only: a trial without it fails with that reason.
    family: Family::Files { rests_on: |_| Storage::Disk(Promise::Direct, &[]), apart: false },
    alternates: |_| Alternates::Alone("it has requests in flight, which would fall into the other side"),
    revision: 3,
    label: |parameters| {
        let block = size_of(parameters, "bs");
        let text = |key| parameters.get_text(key).unwrap_or_default();
        let pattern = if text("pattern") == "random" { "rnd" } else { "seq" };
        format!("{pattern} {} {block} Q{}T{}", text("op"), text("depth"), text("threads"))
    },
};
