//! A call that is divided: runs a command inside, with a line before and after it whose arrival the host notes.

use std::ffi::OsString;
use std::io::{self, Write};
use std::process::{Command, Stdio};

/// First argument under which the program runs the command after it.
pub const CALLED: &str = "agent-call";
/// Lines before the command and after it.
pub const BEGINS: &str = "@tare-call-begins";
pub const ENDED: &str = "@tare-call-ended";

/// Runs a command between two lines, and ends with its exit code.
pub(super) fn run_between_lines(words: &[OsString]) -> io::Result<()> {
    let (program, arguments) = words.split_first().ok_or(io::ErrorKind::InvalidInput)?;
    print_line(BEGINS)?;
    let status = Command::new(program).args(arguments).stdin(Stdio::null()).status()?;
    print_line(ENDED)?;
    match status.success() {
        true => Ok(()),
        false => Err(io::Error::other("the command failed")),
    }
}

/// Writes a line at once: its arrival is what counts.
fn print_line(line: &str) -> io::Result<()> {
    let mut out = io::stdout().lock();
    out.write_all(format!("{line}\n").as_bytes())?;
    out.flush()
}
