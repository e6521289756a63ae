//! A command, run twice: timed as it is, and counted by the tracer. Whatever it does happens twice.

use std::ffi::OsString;
use std::io::{self, Read};
use std::os::unix::process::ExitStatusExt;
use std::path::Path;
use std::process::{ExitStatus, Stdio};

use tare_data::facts::Facts;
use tare_data::session::demand::{CountedRun, RanTwice, Work};
use tare_paths::marked::MarkedFolder;

use super::add_series;
use super::left_over::{COMMAND, name_run};
use super::steps::{Risk, Steps};
use super::times::costs::note_own_files;
use crate::counting::{BY_TRACER, COUNT, Traced, assign_faults};
use crate::harness::interference::{read_processor_time, read_rusage};
use crate::harness::stopwatch::now_ns;

/// Bytes of counts that are read: one has a few hundred, and the paths of some files.
const LONGEST_RESULT: u64 = 256 << 10;
/// Time for the prices of the command's own files.
const FILES_MS: u64 = 1_000;

/// Runs a command with the streams of this process but for its output, then once more with none, counted by `this_program`. The counts
/// pass through a folder that is made in `place`. Also returns times of some of the files that it read, where they are wanted.
pub fn run_twice(
    this_program: &Path,
    (program, words): (&Path, &[OsString]),
    output: Stdio,
    place: &Path,
    wants_files: bool,
) -> io::Result<(RanTwice, Facts)> {
    let before = read_used();
    let mut first = crate::starting::command(program);
    first.args(words.get(1..).unwrap_or_default()).stdout(output);
    let started_ns = now_ns();
    let status = first.status()?;
    let elapsed_ns = now_ns() - started_ns;
    let after = read_used();
    let mut steps = Steps::until(u64::MAX);
    let process = rustix::process::getpid().as_raw_nonzero().get();
    let name = format!("{}-{COMMAND}", name_run(process, started_ns));
    let counted = MarkedFolder::make(place, &name).and_then(|folder| {
        let result = folder.door().join(Path::new("counts"));
        let (mut run, traced) = count_run(this_program, program, words, &result)?;
        let mut time_half = |half| {
            if !wants_files {
                return;
            }
            add_series(&mut steps, |steps| {
                steps.run_step("own files", FILES_MS, Risk::NeedsChild, |noting| {
                    note_own_files(noting, &traced, half)
                })
            })
        };
        time_half(0);
        let (tracing_ns, calls) = measure_tracing(this_program, &result)?;
        // States last as long as a process, and a file is met for the first time once.
        time_half(1);
        // Each file was opened for the first time once, and is priced with a call that asks for its size.
        let read = traced.read as f64;
        let asking = run.demand.amount(Work::OtherCalls).min(read);
        run.demand.add(Work::Opens, -read);
        run.demand.add(Work::OtherCalls, -asking);
        run.demand.amounts.insert(Work::NewFiles, read);
        assign_faults(&mut run.demand, after.2.saturating_sub(before.2) as f64);
        run.tracing_ns = tracing_ns * (run.demand.calls / calls).max(1.0);
        Ok(run)
    });
    let ran = RanTwice {
        elapsed_ns,
        user_ns: after.0.saturating_sub(before.0),
        system_ns: after.1.saturating_sub(before.1),
        code: exit_code(status),
        counted: counted.map_err(|e| e.to_string()),
    };
    Ok((ran, steps.facts))
}

/// Reads the user and system time of all children that have ended, in ns, and the page faults that needed no disk.
fn read_used() -> (u64, u64, u64) {
    let (user_ns, system_ns) = read_processor_time(libc::RUSAGE_CHILDREN).unwrap_or_default();
    let faults = read_rusage(libc::RUSAGE_CHILDREN).map_or(0, |used| used.ru_minflt);
    (user_ns, system_ns, faults as u64)
}

/// Gives the exit code as shells do.
fn exit_code(status: ExitStatus) -> i32 {
    status.code().unwrap_or_else(|| 128 + status.signal().unwrap_or_default())
}

fn count_run(
    this_program: &Path,
    program: &Path,
    words: &[OsString],
    result: &Path,
) -> io::Result<(CountedRun, Traced)> {
    let mut command = crate::starting::command(this_program);
    command.arg(COUNT).arg(BY_TRACER).arg(result).arg(program).args(words);
    let started_ns = now_ns();
    let status = command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()).status()?;
    let elapsed_ns = now_ns() - started_ns;
    let mut text = Vec::new();
    let file = std::fs::File::open(result);
    let file = file.map_err(|_| io::Error::other("the system refuses to let a program be traced here"))?;
    file.take(LONGEST_RESULT).read_to_end(&mut text)?;
    let traced: Traced = serde_json::from_slice(&text)?;
    let demand = traced.demand.clone();
    if demand.calls == 0.0 {
        return Err(io::Error::other("a tracer is not told here which calls are made"));
    }
    std::fs::remove_file(result)?;
    Ok((CountedRun { demand, elapsed_ns, code: exit_code(status), tracing_ns: 0.0 }, traced))
}

/// Measures how much longer a run takes under the tracer, and its calls, by this program itself, which ends at once.
fn measure_tracing(this_program: &Path, result: &Path) -> io::Result<(f64, f64)> {
    let words = [this_program.as_os_str().to_owned(), "--version".into()];
    let started_ns = now_ns();
    crate::starting::command(this_program)
        .arg("--version")
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .status()?;
    let plain_ns = now_ns() - started_ns;
    let (counted, _) = count_run(this_program, this_program, &words, result)?;
    Ok((counted.elapsed_ns.saturating_sub(plain_ns) as f64, counted.demand.calls.max(1.0)))
}
