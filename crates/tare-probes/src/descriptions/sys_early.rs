//! `sys.early`: the first system calls of a program, each after a little computing.
//!
//! Layers that hand a call to another process or thread (gVisor, proot, user-mode Linux) learn from many calls in a row to
//! wait for the next one without sleeping. A loop is the cheapest that they get; a program that has just been started, which
//! computes a little and calls, is what they meet. fstat(2), which asks for nothing that could be slow by itself.

use crate::probe::describing::*;

pub static PROBE: Probe = Probe {
    name: "sys.early",
    title: "first calls of a program",
    summary: "The first 500 system calls of a program, each after a little computing: what a call costs a program that is not \
              a loop.",
    timed: "500 times computing of a random length and an fstat; less the same computing without the calls",
    not_timed: "starting the program, its first steps and its end",
    distorted_by: "seccomp filters, ptrace, mitigations; how long a layer waits for the next call before it sleeps",
    parameters: &[Parameter::same("gap_us", "3", "microseconds of computing before a call, on average")],
    metrics: &[time("time", "program"), first("program")],
    needs: &[],
    revision: 1,
    label: |parameters| match parameters.text("gap_us") {
        Ok(gap) if gap != "3" => format!("500 calls, {gap} us apart"),
        _ => "first 500 calls".into(),
    },
};
