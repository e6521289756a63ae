//! Room in shared memory, without which programs crash when they touch what they keep there.

use std::path::Path;

use crate::platform;
use crate::provider::NotReady;

/// Folder of shared memory. Programs do without it where it is not there.
pub(crate) const FOLDER: &str = "/dev/shm";
const MEGABYTE: u64 = 1_000_000;

/// Checks that there is this much room for a thing that a program keeps in shared memory.
pub(crate) fn require_room(megabytes: u64, kept: &str) -> Result<(), NotReady> {
    match platform::free_bytes(Path::new(FOLDER)) {
        Some(free) if free < megabytes * MEGABYTE => {
            let reason = format!("it keeps {kept} in {FOLDER}, which has less than {megabytes} MB of room");
            Err(NotReady::from_reason(reason))
        }
        _ => Ok(()),
    }
}
