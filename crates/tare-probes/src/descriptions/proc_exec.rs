//! `proc.exec`: a program that execs itself, counting up in its arguments: the cost of starting a program.
//!
//! The definition is that of UnixBench's execl throughput. A child of the trial reads the clock and execs
//! a program, which execs itself until the count is full; the last one reads the clock as the first thing
//! it does and writes count and time into a pipe. The programs inherit the environment of the trial, which is
//! the same small one everywhere: copying it is part of exec. execve(2).
//!
//! The tiny target has a few pages, so that nearly all of its time is the kernel's. The static one is this binary, whose megabytes the
//! kernel maps and the C library readies. The dynamic target is the environment's own env(1), which execs what its arguments name: arguments that
//! are `env env env ... tare` count down as they are used up.

use crate::probe::describing::*;

pub static PROBE: Probe = Probe {
    name: "proc.exec",
    title: "exec",
    summary: "A program that executes itself: from execve() to the first line of the new process image.",
    timed: "a chain of execs of one binary, from before the first until the first line of the program after the last",
    not_timed: "writing the tiny program into the environment's own files; the fork of the process that becomes the chain; the pipe that \
                returns the result",
    distorted_by: "page cache of the place that holds the program; with target=static the size of the binary and its relocations; \
                   with target=dynamic the environment's dynamic linker and libraries",
    parameters: &[Parameter::from_one_value(
        "target",
        "tiny",
        "tiny: a program of a few pages; static: this binary; dynamic: the environment's own env(1), linked dynamically at each start",
    )],
    metrics: &[time_metric("time", "exec"), per_second("rate", "exec"), first_call_metric("exec")],
    family: Family::Program,
    alternates: |_| Alternates::OneProcessor,
    revision: 3,
    label: |parameters| match parameters.get_text("target") {
        Ok(target @ ("static" | "dynamic")) => format!("exec, {target}"),
        _ => "exec".into(),
    },
};
