//! Facts: what the agent can tell of its environment and its places, and whether what they tell is true.
//!
//! Nothing here is needed: what an environment does not show is a fact that is absent.

use std::path::Path;

use rustix::fs::{CWD, Mode, OFlags};
use tare_data::facts::Facts;

mod environment;
mod honesty;
mod mounts;
pub mod network;

/// Longest text that is read of the kernel's: mount tables of busy container hosts are some hundred KiB.
const MOST_BYTES: usize = 1 << 20;

/// Facts of the environment: kernel, processor, clock, memory, limits, network; and whether its counters count.
pub fn environment() -> Facts {
    let mut facts = Facts::default();
    environment::note_all(&mut facts);
    network::note_all(&mut facts);
    honesty::note_environment(&mut facts);
    facts
}

/// Facts of a place: its file system and device; and whether syncs, O_DIRECT and cache drops do what they say.
pub fn place(path: &Path) -> Facts {
    let mut facts = Facts::default();
    mounts::note_all(&mut facts, path);
    honesty::note_place(&mut facts, path);
    facts
}

/// A text file of the kernel's, at most [`MOST_BYTES`] of it; None when it is not there.
///
/// Read in one piece from the first line on: these files are made up as they are read.
pub(crate) fn read_text(path: &str) -> Option<String> {
    let flags = OFlags::RDONLY | OFlags::CLOEXEC;
    let file = rustix::fs::openat(CWD, path, flags, Mode::empty()).ok()?;
    let mut bytes = Vec::new();
    let mut piece = [0; 4096];
    while bytes.len() < MOST_BYTES {
        match rustix::io::read(&file, &mut piece) {
            Ok(0) => break,
            Ok(read) => bytes.extend_from_slice(&piece[..read]),
            Err(_) => return None,
        }
    }
    Some(String::from_utf8_lossy(&bytes).into_owned())
}

/// Memory that could be had without swapping, as this kernel says; None where it does not.
pub fn available_bytes() -> Option<u64> {
    meminfo_bytes(&read_text("/proc/meminfo")?, "MemAvailable:")
}

/// A line of meminfo, or of a file that is written like it, in bytes.
pub(crate) fn meminfo_bytes(text: &str, key: &str) -> Option<u64> {
    let line = text.lines().find_map(|line| line.strip_prefix(key))?;
    line.split_ascii_whitespace().next()?.parse::<u64>().ok()?.checked_mul(1024)
}
