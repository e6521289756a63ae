//! Verbs that tare speaks to itself: the agent, its trials, and the ways into environments.

use std::ffi::OsString;

use tare_lab::environments::container;

/// Does what an inner verb says, if the arguments name one; returns the exit code.
pub fn answer(arguments: &[OsString]) -> Option<i32> {
    if let Some(code) = tare_probes::agent::answer(arguments) {
        return Some(code);
    }
    match arguments {
        [_, verb, json] if verb == container::ENTER => Some(container::enter_main(json.to_str()?)),
        _ => None,
    }
}
