//! Counting what a program asks of the system: it runs under a tracer, and every system call is put where it belongs.
//!
//! The counted run is never the run that is timed: each call stops the program twice.

mod calls;
mod tracer;

use std::ffi::OsString;
use std::io;
use std::path::Path;

use self::tracer::{NOT_TRACED, run};
pub use self::tracer::{PAUSE_NS, SHORT_PAUSE_NS};

/// Subcommand under which this program counts another: the file for the counts, the program's path, and its words.
pub const COUNT: &str = "agent-count";

/// Counts a program, and writes the demand into a file as JSON. Gives the program's own exit code.
pub fn answer(rest: &[OsString]) -> i32 {
    let [result, program, words @ ..] = rest else { return NOT_TRACED };
    let counted = run(Path::new(program), words).and_then(|(demand, code)| {
        let text = serde_json::to_vec(&demand).map_err(io::Error::other)?;
        // One file that the caller named, in the trial's own folder.
        std::fs::write(result, text).map(|()| code)
    });
    counted.unwrap_or_else(|e| {
        eprintln!("counting: {e}");
        NOT_TRACED
    })
}
