//! `proc.shell`: a shell script of small programs and pipes, as in a build step or a cron job.
//!
//! The script sorts a text, dumps it in octal and sorts the dump by number, searches for a word and counts what
//! it found through tee, and removes its four files; UnixBench runs 1 or 8 of them side by side. The text is
//! our own: 362 lines, 8,546 bytes. `variant=host` runs the environment's sh and coreutils, as UnixBench
//! does; `variant=carried` runs the same steps by programs inside this binary, the same everywhere.

use crate::probe::describing::*;

pub static PROBE: Probe = Probe {
    name: "proc.shell",
    title: "shell scripts",
    summary: "Shell scripts in parallel, each of eight small programs with pipes and files.",
    timed: "from the start of the process that starts the scripts until all have ended",
    not_timed: "writing the input; one run before, whose count is checked",
    distorted_by: "with variant=host, the environment's own shell and programs; the file system of the place",
    parameters: &[
        Parameter::from_values("parallel", ["1", "8"], "scripts that run in parallel"),
        Parameter::from_values(
            "variant",
            ["carried", "host"],
            "host: the environment's sh and coreutils; carried: programs inside this binary",
        ),
    ],
    metrics: &[
        time_metric("time", "run"),
        rate_metric("rate", "run", Reading::OperationsPerMinute, Unit::PerMinute),
        first_call_metric("run"),
    ],
    family: Family::Files { rests_on: |_| Storage::PageCache, apart: false },
    alternates: |_| Alternates::OneProcessor,
    revision: 1,
    label: |parameters| {
        let count = parameters.get_text("parallel").unwrap_or("1");
        let scripts = if count == "1" { "script" } else { "scripts" };
        match parameters.get_text("variant") {
            Ok("host") => format!("{count} {scripts}, system sh"),
            _ => format!("{count} shell {scripts}"),
        }
    },
};
