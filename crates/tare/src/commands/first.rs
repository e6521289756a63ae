//! `tare` alone: what to do first.

use std::process::ExitCode;

use crate::failure::Exit;

const FIRST: &str = "\
tare weighs the layers between a program and the hardware.

  tare check           what is ready here, and what would make the rest so
  tare run             weigh all that is ready, in three minutes
  tare run --in native,container --only 'sys.*,proc.*' --budget 60s
  tare report FILE     read a session again; --html PAGE, --export FORMAT
  tare diff OLD NEW    what has become slower between two sessions

tare --help names every command, tare run --help its options.
";

/// Nothing was asked for, so nothing was done: a script that lost its arguments must notice.
pub fn run() -> ExitCode {
    anstream::eprint!("{FIRST}");
    Exit::Usage.into()
}
