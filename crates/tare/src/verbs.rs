//! Verbs that tare speaks to itself: the agent, its trials, and the ways into environments.

use std::ffi::OsString;

/// Does what an inner verb says, if the arguments name one; returns the exit code.
pub fn answer(arguments: &[OsString]) -> Option<i32> {
    tare_probes::agent::run_subcommand(arguments).or_else(|| tare_lab::environments::answer(arguments))
}
