//! What stands in for making a file system: it takes Linux, so that each is missing.

use std::path::Path;

use tare_data::failure::{Failure, FailureKind};

use crate::host::programs::Programs;
use crate::storage::file_systems::FileSystem;

/// Where and for what a file system would be made.
#[derive(Clone, Copy, Debug)]
pub struct Site<'a> {
    pub folder: &'a Path,
    pub binary: &'a Path,
    pub room_bytes: u64,
    pub programs: &'a Programs,
    pub mark: &'a str,
}

impl FileSystem {
    /// The failure is the reason of the place's gap.
    pub fn make(&self, _: Site<'_>, _: &Path) -> Result<(), Failure> {
        let reason = format!("{}: only Linux makes and mounts file systems for a session", self.name);
        Err(Failure::new(FailureKind::NotSupported, reason))
    }
}
