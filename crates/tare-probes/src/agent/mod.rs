//! The agent: answers the host's requests inside an environment, each trial in a fresh process.
//!
//! The resident process only waits and starts trials, so that nothing of an earlier trial (heap, page
//! tables, file descriptors, warmed branch predictors) is left in a later one.

use std::ffi::OsString;
use std::path::Path;

#[cfg(unix)]
use crate::peer::process;

mod identity;
#[cfg(unix)]
pub mod launched;
mod resident;
mod trial_process;

pub use resident::AGENT;

/// Runs the agent's subcommand that the arguments of a program name, and returns its exit code; None when they name
/// none.
///
/// The program that holds the agent calls this first: a probe times how long it takes to start.
pub fn run_subcommand(arguments: &[OsString]) -> Option<i32> {
    let (program, verb) = (Path::new(arguments.first()?), arguments.get(1)?.to_str()?);
    let rest = &arguments[2..];
    let done = match verb {
        AGENT => resident::serve_requests(program, rest),
        trial_process::TRIAL => trial_process::run_requested_trial(program, rest.first().map(Path::new)),
        #[cfg(unix)]
        launched::LAUNCHED => launched::serve_launched(program, rest),
        #[cfg(unix)]
        launched::LOOK => launched::answer_look(program, rest),
        #[cfg(unix)]
        process::PEER => process::run_peer(),
        _ => return crate::probes::run_subcommand(program, verb, rest),
    };
    Some(match done {
        Ok(()) => 0,
        // The stream is gone: nobody is left to report to.
        Err(_) => 1,
    })
}
