//! Hidden subcommands that tare starts itself with: the agent, its trials, and programs that enter
//! environments.

use std::ffi::OsString;

/// Runs the inner subcommand that the arguments name, if they name one; returns the exit code.
pub fn run_inner_subcommand(arguments: &[OsString]) -> Option<i32> {
    tare_probes::agent::run_subcommand(arguments)
        .or_else(|| tare_lab::environments::run_subcommand(arguments))
}
