//! The file of a start's turns, as the host has it: it is written, and never mapped, because an environment may cut it off.

use std::fs::{File, OpenOptions, Permissions};
use std::io;
use std::os::unix::fs::{FileExt, OpenOptionsExt, PermissionsExt};
use std::path::Path;

/// Length of a file of turns: a page, which is the least that is mapped.
const LENGTH: u64 = 4096;

/// The file through which the trials of a start take turns with others.
#[derive(Debug)]
pub(crate) struct TurnFile {
    file: File,
    pub name: String,
}

impl TurnFile {
    /// Makes the file in the folder that environments share. Every user may write to it, since agents run as any.
    pub fn create(folder: &Path, name: String) -> io::Result<TurnFile> {
        let mut options = OpenOptions::new();
        let file = options.write(true).create_new(true).mode(0o600).open(folder.join(&name))?;
        file.set_permissions(Permissions::from_mode(0o666))?;
        file.set_len(LENGTH)?;
        Ok(TurnFile { file, name })
    }

    pub fn write_word(&self, word: u32) -> io::Result<()> {
        self.file.write_all_at(&word.to_ne_bytes(), 0)
    }

    /// Makes another handle of the same file.
    pub fn try_clone(&self) -> io::Result<TurnFile> {
        Ok(TurnFile { file: self.file.try_clone()?, name: self.name.clone() })
    }
}
