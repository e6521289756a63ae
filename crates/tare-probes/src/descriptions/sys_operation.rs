//! `sys.operation`: one operation that programs ask of a kernel, by name: the prices that make up a program's bill.
//!
//! Files are small and in every cache, so that what is timed is the call and the layers on its way, not a disk. Each
//! operation counts those that did what they should.

use crate::probe::describing::*;

pub static PROBE: Probe = Probe {
    name: "sys.operation",
    title: "one operation",
    summary: "One operation that programs ask of a kernel, by name: a call, a path, a read, a mapping, a process.",
    timed: "a loop of the operation, without a clock read between them",
    not_timed: "making the files and folders that it needs",
    distorted_by: "seccomp filters, ptrace, mitigations; the caches of a layer, which hold one hot path and not thousands",
    parameters: &[Parameter::from_one_value(
        "operation",
        "fstat",
        "which one: fstat, stat, open, read-1k, map, spawn and so on",
    )],
    metrics: &[time_metric("time", "operation"), first_call_metric("operation")],
    family: Family::Files { rests_on: |_| Storage::PageCache, apart: false },
    alternates: |_| Alternates::OneProcessor,
    revision: 2,
    label: |parameters| {
        let named = parameters.get_text("operation").unwrap_or_default();
        let operation = OPERATIONS.iter().find(|(name, _)| *name == named);
        operation.map_or("one operation", |(_, label)| label).to_owned()
    },
};

/// Operations by parameter value, each with the heading of its row.
pub(crate) static OPERATIONS: &[(&str, &str)] = &[
    ("fstat", "fstat"),
    ("futex", "futex wake, nobody"),
    ("signal", "signal to itself"),
    ("stat", "stat, 1 name"),
    ("stat-8", "stat, 8 names deep"),
    ("stat-missing", "stat, not there"),
    ("stat-new", "stat, never the same"),
    ("open", "open + close"),
    ("open-root", "open + close, /"),
    ("read-new", "open + read, new file"),
    ("list", "list 100 entries"),
    ("read-1k", "read 1 KiB"),
    ("read-64k", "read 64 KiB"),
    ("write-1k", "write 1 KiB"),
    ("write-64k", "write 64 KiB"),
    ("map", "map + unmap"),
    ("map-file", "map a file, touch"),
    ("protect", "protect a page"),
    ("break", "heap up and down"),
    ("new-page", "touch a new page"),
    ("file-page", "touch a file's page"),
    ("copied-page", "write to a file's page"),
    ("exec", "vfork + exec + wait"),
    ("spawn", "vfork + wait"),
    ("thread", "thread, start to end"),
];
