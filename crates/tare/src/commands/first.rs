//! `tare` without a command: the first steps.

use crate::exit::Exit;

const FIRST: &str = "\
tare measures how much slower programs run in containers, sandboxes and VMs.

  tare check           show which environments are ready, and what is missing
  tare run             measure all that are ready, in about three minutes
  tare run --in native,container --only 'sys.*,proc.*' --budget 60s
  tare report FILE     show a session again; also --html FILE, --export FORMAT
  tare compare OLD --to NEW    show what became slower between two sessions

'tare --help' lists all commands, 'tare run --help' all options of a session.
";

/// Prints the first steps, and fails: a script that lost its arguments must notice.
pub fn print_first_steps() -> Exit {
    anstream::eprint!("{FIRST}");
    Exit::Usage
}
