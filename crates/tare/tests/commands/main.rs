//! The program as a person or a script meets it: its output, exit codes and leftovers.

#![allow(clippy::disallowed_methods, reason = "tests start what they look for by name")]

mod articles;
mod dry_run;
mod environments;
mod errors;
mod faults;
mod files;
#[cfg(unix)]
mod here;
mod honesty;
mod hostile;
mod importing;
mod own_commands;
mod peers;
mod places;
#[cfg(unix)]
mod planted;
mod program;
#[path = "../refusals/mod.rs"]
mod refusals;
mod sessions;
mod tools;
