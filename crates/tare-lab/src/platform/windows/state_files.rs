//! Files of a folder by their names in it. Who may open them is inherited from the user's own folder.

use std::ffi::OsStr;
use std::fs::{self, File, Metadata, OpenOptions};
use std::io;
use std::path::{Path, PathBuf};

/// A folder that was there.
#[derive(Debug)]
pub(crate) struct StateFiles(PathBuf);

impl StateFiles {
    pub(crate) fn open_folder(folder: &Path) -> io::Result<StateFiles> {
        fs::metadata(folder)?;
        Ok(StateFiles(folder.to_owned()))
    }

    pub(crate) fn metadata(&self) -> io::Result<Metadata> {
        fs::metadata(&self.0)
    }

    /// Does nothing: the system itself writes down the entries of folders.
    pub(crate) fn sync(&self) -> io::Result<()> {
        Ok(())
    }

    /// Opens a file that is there, to read and append.
    pub(crate) fn open(&self, name: &OsStr) -> io::Result<File> {
        OpenOptions::new().read(true).append(true).open(self.0.join(name))
    }

    /// Makes a new one.
    pub(crate) fn create(&self, name: &OsStr) -> io::Result<File> {
        OpenOptions::new().read(true).append(true).create_new(true).open(self.0.join(name))
    }

    /// Opens one that is there, or makes it.
    pub(crate) fn open_or_create(&self, name: &OsStr) -> io::Result<File> {
        OpenOptions::new().read(true).append(true).create(true).open(self.0.join(name))
    }
}

/// Explains why a file or folder is not trusted. Its owner shows in its folder, which is the user's.
pub fn explain_distrust(about: &Metadata) -> Option<&'static str> {
    (!about.is_file() && !about.is_dir()).then_some("it is not a file")
}
