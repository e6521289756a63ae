//! A private folder: its owner's alone, whatever the umask.

use std::fs::DirBuilder;
use std::io;
use std::os::unix::fs::DirBuilderExt;
use std::path::Path;

/// Makes it. Environments enter it as its owner, or have their root in it.
pub(crate) fn make(path: &Path) -> io::Result<()> {
    DirBuilder::new().mode(0o700).create(path)
}
