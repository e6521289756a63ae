//! Counting what a program asks of the system, in runs that are never the ones that are timed: under a tracer, which stops it
//! twice a call and puts every call where it belongs, and by tracepoints, which hardly slow it down and see its pauses.

mod calls;
mod pages;
mod pauses;
mod starting;
mod tracepoints;
mod tracer;

use std::ffi::OsString;
use std::fs::File;
use std::io::{self, Write};
use std::path::Path;

use serde::Serialize;

pub use self::pages::assign_faults;
pub use self::pauses::{LONG_PAUSE_NS, PAUSE_NS, SHORT_PAUSE_NS};
use self::starting::NOT_TRACED;
pub use self::tracepoints::Watched;
pub use self::tracer::{Traced, request as request_of_tracer};

/// Subcommand under which this program counts another: how, the file for what was counted, the program's path, and its words.
pub const COUNT: &str = "agent-count";
/// Method of counting: stops at every call, or tracepoints.
pub const BY_TRACER: &str = "tracer";
pub const BY_TRACEPOINTS: &str = "tracepoints";

/// Counts a program, and writes what was counted into a file as JSON. Gives the program's own exit code.
pub fn count_program(rest: &[OsString]) -> i32 {
    let [how, result, program, words @ ..] = rest else { return NOT_TRACED };
    let (result, program) = (Path::new(result), Path::new(program));
    let counted = match how.to_str() {
        Some(BY_TRACER) => {
            tracer::count_with_tracer(program, words).and_then(|counted| keep(result, counted))
        }
        Some(BY_TRACEPOINTS) => {
            tracepoints::count_with_tracepoints(program, words).and_then(|counted| keep(result, counted))
        }
        _ => return NOT_TRACED,
    };
    counted.unwrap_or_else(|e| {
        eprintln!("counting: {e}");
        NOT_TRACED
    })
}

fn keep(result: &Path, (counted, code): (impl Serialize, i32)) -> io::Result<i32> {
    let text = serde_json::to_vec(&counted).map_err(io::Error::other)?;
    // A single file that the caller named, next to the trial's folder: what others have put there is not written to.
    let _ = std::fs::remove_file(result);
    File::create_new(result)?.write_all(&text).map(|()| code)
}
