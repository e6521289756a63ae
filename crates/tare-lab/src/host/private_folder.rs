//! A private folder: its owner's alone, whatever the umask.

use std::fs::DirBuilder;
use std::io;
use std::path::Path;

use crate::platform::make_private;

/// Makes a private folder. Environments enter it as its owner, or have their root in it.
pub(crate) fn make_private_folder(path: &Path) -> io::Result<()> {
    make_private(&mut DirBuilder::new()).create(path)
}

/// Makes a folder of tare's own in somebody's home, with those above it that are missing: private, all of them.
pub fn make_private_folders(path: &Path) -> io::Result<()> {
    make_private(&mut DirBuilder::new()).recursive(true).create(path)
}
