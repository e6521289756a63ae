//! Facts: what the agent can find out about its environment and its places, and whether what they report is true.
//!
//! Nothing here is needed: what an environment does not show is a fact that is absent.

use std::path::Path;

use tare_data::facts::Facts;

use crate::harness::folder::spread_folders;

mod clock;
#[cfg(unix)]
pub mod control_groups;
#[cfg(unix)]
pub(crate) mod environment;
#[cfg(unix)]
mod honesty;
#[cfg(unix)]
pub mod inherited;
#[cfg(unix)]
pub mod mounts;
#[cfg(unix)]
pub mod network;
#[cfg(unix)]
mod processor;
pub(crate) mod promises;
#[cfg(windows)]
mod windows;

/// Collects facts of the environment: kernel, processor, clock, memory, limits, network; and whether its
/// counters count.
pub fn collect_environment_facts() -> Facts {
    let mut facts = Facts::default();
    #[cfg(unix)]
    environment::note_all(&mut facts);
    #[cfg(unix)]
    honesty::note_environment(&mut facts);
    #[cfg(windows)]
    windows::note_all(&mut facts);
    facts
}

/// Collects facts of a place: its file system and device; and whether syncs, O_DIRECT and cache drops do what
/// they promise.
pub(crate) fn collect_place_facts(path: &Path) -> Facts {
    let mut facts = Facts::default();
    // Here if the host cannot, because the place is on a disk that is only inside.
    spread_folders(path);
    #[cfg(unix)]
    mounts::note_all(&mut facts, path);
    promises::note_place(&mut facts, path);
    facts
}
