//! `sys.early`: the first requests of a program to the system, each after a little computing, unlike those of
//! a loop.
//!
//! Layers that hand a call to another process or thread (gVisor, proot, user-mode Linux) learn from many
//! calls in a row to wait for the next one without sleeping, and a loop's few lines of code and memory are in
//! every cache when its call returns. So a loop shows a layer at its cheapest. A program that has just been
//! started computes with its own code and memory between calls, and pays more. fstat(2), which does nothing
//! slow; or a page of new memory.

use crate::probe::describing::*;

pub static PROBE: Probe = Probe {
    name: "sys.early",
    title: "first calls of a program",
    summary: "The first 500 system calls of a program, or its first touches of new memory, each after a little computing: what they \
              cost a program that is not a loop.",
    timed: "500 times computing of a random length, and an fstat or the first touch of a page; less the same computing alone",
    not_timed: "starting the program, its first steps and its end",
    distorted_by: "seccomp filters, ptrace, mitigations; how long a layer waits for the next call before it sleeps",
    parameters: &[
        Parameter::from_one_value("gap_us", "3", "microseconds of computing before each, on average"),
        Parameter::from_one_value(
            "what",
            "call",
            "call: an fstat; page: the first touch of a page of new memory",
        ),
    ],
    metrics: &[time_metric("time", "program"), first_call_metric("program")],
    family: Family::Kernel,
    alternates: |_| {
        Alternates::Alone("each operation comes after other work, whose caches the other side would take")
    },
    revision: 2,
    label: |parameters| {
        let what =
            if parameters.get_text("what").is_ok_and(|what| what == "page") { "new pages" } else { "calls" };
        match parameters.get_text("gap_us") {
            Ok(gap) if gap != "3" => format!("500 {what}, {gap} us apart"),
            _ => format!("first 500 {what}"),
        }
    },
};
