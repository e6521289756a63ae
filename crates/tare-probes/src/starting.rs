//! Starting programs: this one again by its own path, and those that are measured, which the environment finds.

use std::ffi::OsStr;
use std::process::Command;

#[allow(clippy::disallowed_methods, reason = "it is this program, or the one that is measured")]
pub(crate) fn command(program: impl AsRef<OsStr>) -> Command {
    Command::new(program)
}
