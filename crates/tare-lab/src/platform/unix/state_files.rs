//! Files of a folder that is held open: by their names in it, and never through a link.

use std::ffi::OsStr;
use std::fs::{File, Metadata};
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::Path;

use rustix::fs::{Mode, OFlags, open, openat};

/// Bits of a mode by which others than the owner may write.
const OTHERS_WRITE: u32 = 0o022;

/// An open folder.
#[derive(Debug)]
pub(crate) struct StateFiles(File);

impl StateFiles {
    pub(crate) fn open_folder(folder: &Path) -> io::Result<StateFiles> {
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
        Ok(StateFiles(open(folder, flags, Mode::empty())?.into()))
    }

    pub(crate) fn metadata(&self) -> io::Result<Metadata> {
        self.0.metadata()
    }

    /// Waits until its entries are on the disk.
    pub(crate) fn sync(&self) -> io::Result<()> {
        self.0.sync_all()
    }

    /// Opens a file that is there, to read and append.
    pub(crate) fn open(&self, name: &OsStr) -> io::Result<File> {
        self.file(name, OFlags::NONBLOCK)
    }

    /// Makes a new one.
    pub(crate) fn create(&self, name: &OsStr) -> io::Result<File> {
        self.file(name, OFlags::CREATE | OFlags::EXCL)
    }

    /// Opens one that is there, or makes it.
    pub(crate) fn open_or_create(&self, name: &OsStr) -> io::Result<File> {
        self.file(name, OFlags::NONBLOCK | OFlags::CREATE)
    }

    fn file(&self, name: &OsStr, flags: OFlags) -> io::Result<File> {
        let flags = flags | OFlags::RDWR | OFlags::APPEND | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        Ok(openat(&self.0, name, flags, Mode::RUSR | Mode::WUSR)?.into())
    }
}

/// Explains why a file or folder is not trusted; None where only its owner, this user, can have written it.
pub fn explain_distrust(about: &Metadata) -> Option<&'static str> {
    if about.uid() != rustix::process::geteuid().as_raw() {
        return Some("it belongs to another user");
    }
    if about.mode() & OTHERS_WRITE != 0 {
        return Some("others may write in it");
    }
    (!about.is_file() && !about.is_dir()).then_some("it is not a file")
}
