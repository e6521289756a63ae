//! The file of a start's turns, as the host has it: it is written, and never mapped, because an environment may cut it off.

use std::ffi::OsStr;
use std::fs::{self, File, OpenOptions, Permissions};
use std::io;
use std::os::fd::AsRawFd;
use std::os::unix::fs::{FileExt, OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};

/// Length of a file of turns: a page, which is the least that is mapped.
const LENGTH: u64 = 4096;

/// The file through which two sides of a session take turns. It is held open: whatever happens to its names, this one is written.
#[derive(Debug)]
pub(crate) struct TurnFile {
    file: File,
    path: PathBuf,
    pair: [usize; 2],
}

impl TurnFile {
    /// Makes the file in a folder that no environment sees. Every user may write to it, since agents run as any.
    pub fn create(folder: &Path, pair: [usize; 2]) -> io::Result<TurnFile> {
        let path = folder.join(format!("{:02}-{:02}", pair[0], pair[1]));
        let mut options = OpenOptions::new();
        let file = options.read(true).write(true).create_new(true).mode(0o600).open(&path)?;
        file.set_permissions(Permissions::from_mode(0o666))?;
        Ok(TurnFile { file, path, pair })
    }

    pub fn is_of(&self, side: usize) -> bool {
        self.pair.contains(&side)
    }

    /// Returns its name in the folder of a start.
    pub fn name(&self) -> &OsStr {
        self.path.file_name().unwrap_or_default()
    }

    /// Returns the descriptor of this process that is open on it.
    pub fn descriptor(&self) -> i32 {
        self.file.as_raw_fd()
    }

    /// Puts it into the folder of a start.
    pub fn link_into(&self, folder: &Path) -> io::Result<()> {
        fs::hard_link(&self.path, folder.join(self.name()))
    }

    /// Begins the turns of a pair, whatever an environment did to the file.
    pub fn begin(&self) -> io::Result<()> {
        self.file.set_len(LENGTH)?;
        self.write_word(0)
    }

    pub fn write_word(&self, word: u32) -> io::Result<()> {
        self.file.write_all_at(&word.to_ne_bytes(), 0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_file_that_was_made_is_written_whatever_an_environment_puts_in_its_place() {
        let (private, start) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        let precious = start.path().join("precious");
        fs::write(&precious, "precious").unwrap();
        let turns = TurnFile::create(private.path(), [1, 0]).unwrap();
        turns.link_into(start.path()).unwrap();
        let shared = start.path().join(turns.name());
        File::options().write(true).open(&shared).unwrap().set_len(0).unwrap();
        turns.begin().unwrap();
        assert_eq!(fs::read(&shared).unwrap(), [0; LENGTH as usize], "cut off, and made whole");
        fs::remove_file(&shared).unwrap();
        fs::hard_link(&precious, &shared).unwrap();
        turns.begin().unwrap();
        turns.write_word(u32::MAX).unwrap();
        assert_eq!(fs::read(&precious).unwrap(), b"precious");
        assert!(turns.is_of(0) && turns.is_of(1) && !turns.is_of(2));
    }
}
