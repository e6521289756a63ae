//! A command, run twice: timed as it is, and counted by the tracer. Whatever it does happens twice.

use std::ffi::OsString;
use std::io::{self, Read};
use std::os::unix::process::ExitStatusExt;
use std::path::Path;
use std::process::{ExitStatus, Stdio};

use tare_data::session::demand::{CountedRun, Demand, RanTwice};

use crate::counting::{BY_TRACER, COUNT};
use crate::harness::interference::read_processor_time;
use crate::harness::stopwatch::now_ns;

/// Bytes of counts that are read: one has a few hundred.
const LONGEST_RESULT: u64 = 64 << 10;

/// Runs a command with the streams of this process, then once more with none, counted by `this_program`. The counts pass through a
/// file in `folder`.
pub fn run_twice(
    this_program: &Path,
    program: &Path,
    words: &[OsString],
    folder: &Path,
) -> io::Result<RanTwice> {
    let before = read_used();
    let started_ns = now_ns();
    let status = crate::starting::command(program).args(words.get(1..).unwrap_or_default()).status()?;
    let elapsed_ns = now_ns() - started_ns;
    let after = read_used();
    let counted = count_run(this_program, program, words, folder).and_then(|mut run| {
        let (tracing_ns, calls) = measure_tracing(this_program, folder)?;
        run.tracing_ns = tracing_ns * (run.demand.calls / calls).max(1.0);
        Ok(run)
    });
    Ok(RanTwice {
        elapsed_ns,
        user_ns: after.0.saturating_sub(before.0),
        system_ns: after.1.saturating_sub(before.1),
        code: exit_code(status),
        counted: counted.map_err(|e| e.to_string()),
    })
}

/// Reads the user and system time of all children that have ended, in ns.
fn read_used() -> (u64, u64) {
    read_processor_time(libc::RUSAGE_CHILDREN).unwrap_or_default()
}

/// Gives the exit code as shells do.
fn exit_code(status: ExitStatus) -> i32 {
    status.code().unwrap_or_else(|| 128 + status.signal().unwrap_or_default())
}

fn count_run(
    this_program: &Path,
    program: &Path,
    words: &[OsString],
    folder: &Path,
) -> io::Result<CountedRun> {
    let result = folder.join("counts");
    let mut command = crate::starting::command(this_program);
    command.arg(COUNT).arg(BY_TRACER).arg(&result).arg(program).args(words);
    let started_ns = now_ns();
    let status = command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()).status()?;
    let elapsed_ns = now_ns() - started_ns;
    let mut text = Vec::new();
    let file = std::fs::File::open(&result);
    let file = file.map_err(|_| io::Error::other("the system refuses to let a program be traced here"))?;
    file.take(LONGEST_RESULT).read_to_end(&mut text)?;
    let demand: Demand = serde_json::from_slice(&text)?;
    if demand.calls == 0.0 {
        return Err(io::Error::other("a tracer is not told here which calls are made"));
    }
    std::fs::remove_file(&result)?;
    Ok(CountedRun { demand, elapsed_ns, code: exit_code(status), tracing_ns: 0.0 })
}

/// Measures how much longer a run takes under the tracer, and its calls, by this program itself, which ends at once.
fn measure_tracing(this_program: &Path, folder: &Path) -> io::Result<(f64, f64)> {
    let words = [this_program.as_os_str().to_owned(), "--version".into()];
    let started_ns = now_ns();
    crate::starting::command(this_program)
        .arg("--version")
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .status()?;
    let plain_ns = now_ns() - started_ns;
    let counted = count_run(this_program, this_program, &words, folder)?;
    Ok((counted.elapsed_ns.saturating_sub(plain_ns) as f64, counted.demand.calls.max(1.0)))
}
