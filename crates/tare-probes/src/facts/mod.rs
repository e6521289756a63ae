//! Facts: what the agent can find out about its environment and its places, and whether what they report is true.
//!
//! Nothing here is needed: what an environment does not show is a fact that is absent.

use std::path::Path;

use tare_data::facts::Facts;

mod environment;
mod honesty;
pub mod mounts;
pub mod network;
mod processor;

/// Facts of the environment: kernel, processor, clock, memory, limits, network; and whether its counters count.
pub fn environment() -> Facts {
    let mut facts = Facts::default();
    environment::note_all(&mut facts);
    honesty::note_environment(&mut facts);
    facts
}

/// Facts of a place: its file system and device; and whether syncs, O_DIRECT and cache drops do what they promise.
pub fn place(path: &Path) -> Facts {
    let mut facts = Facts::default();
    mounts::note_all(&mut facts, path);
    honesty::note_place(&mut facts, path);
    facts
}
