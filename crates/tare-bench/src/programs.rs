//! Programs that a test or a bench copies and then runs.

use std::io;
use std::path::Path;
use std::process::Command;

/// Copies a program with its mode, through a process of its own: had this process the copy open for writing,
/// a child that another thread forks meanwhile would hold it open as well, and the copy could not be started
/// ("text file busy").
///
/// # Errors
///
/// The start of `cp`, or what it says where it fails.
pub fn copy_program(from: &Path, to: &Path) -> io::Result<()> {
    let said = Command::new("cp").arg("--").args([from, to]).output()?;
    match said.status.success() {
        true => Ok(()),
        false => Err(io::Error::other(String::from_utf8_lossy(&said.stderr).trim().to_owned())),
    }
}
