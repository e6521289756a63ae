//! `ipc.pipe`: one process writes 512 bytes into its own pipe and reads them back.
//!
//! The definition is that of UnixBench's pipe throughput: two system calls and two copies, no other process
//! and no waiting. pipe(2).

use crate::probe::describing::*;

pub static PROBE: Probe = Probe {
    name: "ipc.pipe",
    title: "pipe, 512 B",
    summary: "512 bytes through a pipe within one process: one write and one read that never block.",
    timed: "a loop of one write and one read of 512 bytes, without a clock read between them",
    not_timed: "creating the pipe",
    distorted_by: "seccomp filters, ptrace; speed of memory copies",
    parameters: &[],
    metrics: &[time_metric("time", "pair"), per_second("rate", "pair"), first_call_metric("pair")],
    family: Family::Kernel,
    alternates: |_| Alternates::OneProcessor,
    revision: 1,
    label: |_| "pipe, 512 B".into(),
};
