//! Placeholder for making a file system: that takes Linux, so each is missing.

use std::path::Path;

use tare_data::failure::{Failure, FailureKind};

use crate::storage::file_systems::FileSystem;
use crate::storage::site::Site;

impl FileSystem {
    /// Fails with the reason of the place's gap.
    pub fn make_and_mount(&self, _: Site<'_>, _: &Path) -> Result<(), Failure> {
        let reason = format!("{}: only Linux makes and mounts file systems for a session", self.name);
        Err(Failure::new(FailureKind::NotSupported, reason))
    }
}
