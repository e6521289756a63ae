//! `tare` without a command: the first steps.

use std::process::ExitCode;

use crate::failure::Exit;

const FIRST: &str = "\
tare measures how much slower programs run inside containers, sandboxes and virtual machines.

  tare check           which environments are ready, and how to make the others ready
  tare run             measure every environment that is ready, in three minutes
  tare run --in native,container --only 'sys.*,proc.*' --budget 60s
  tare report FILE     show a session again; also --html FILE, --export FORMAT
  tare diff OLD NEW    what became slower between two sessions

tare --help lists all commands, tare run --help its options.
";

/// Exits with an error: a script that lost its arguments must notice.
pub fn run() -> ExitCode {
    anstream::eprint!("{FIRST}");
    Exit::Usage.into()
}
