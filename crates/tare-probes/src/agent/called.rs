//! A call that is divided: runs a command inside, and says how long it took in a line whose arrival the host notes.

use std::ffi::OsString;
use std::io::{self, Write};
use std::process::Stdio;
use std::time::Duration;

use crate::harness::stopwatch::now_ns;

/// First argument under which the program runs the command after it.
pub const CALLED: &str = "agent-call";
/// Beginning of the line after the command; its nanoseconds follow.
const ENDED: &str = "@tare-call-ended ";

/// Runs a command, writes the time that it took, and ends with its exit code.
pub(super) fn run_timed(words: &[OsString]) -> io::Result<()> {
    let (program, arguments) = words.split_first().ok_or(io::ErrorKind::InvalidInput)?;
    let began_ns = now_ns();
    let status = crate::starting::command(program).args(arguments).stdin(Stdio::null()).status()?;
    let mut out = io::stdout().lock();
    // At once: the line's arrival counts as well.
    out.write_all(format!("{ENDED}{}\n", now_ns() - began_ns).as_bytes())?;
    out.flush()?;
    match status.success() {
        true => Ok(()),
        false => Err(io::Error::other("the command failed")),
    }
}

/// Reads the time that a command took from the output of a call; none before the line is whole.
pub fn read_taken(output: &[u8]) -> Option<Duration> {
    let text = String::from_utf8_lossy(output);
    let (_, after) = text.rsplit_once(ENDED)?;
    let (digits, _) = after.split_once('\n')?;
    digits.trim_end().parse().ok().map(Duration::from_nanos)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_time_of_a_command_is_read_once_its_line_is_whole() {
        let read = |output: &str| read_taken(output.as_bytes()).map(|taken| taken.as_nanos());
        assert_eq!(read("hello\n@tare-call-ended 1250\r\nbye\n"), Some(1250), "through a terminal");
        assert_eq!(read("@tare-call-ended 12"), None);
        assert_eq!(read("@tare-call-ended soon\n"), None);
        assert_eq!(read("hello\n"), None);
    }
}
