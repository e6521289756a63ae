//! The state folder: what tare remembers from one session to the next, believed only where nobody else can write.

use std::fs::{DirBuilder, File, Metadata};
use std::io;
use std::os::unix::fs::{DirBuilderExt, MetadataExt};
use std::path::{Path, PathBuf};

use rustix::fs::{Mode, OFlags, open, openat};

use crate::error::{ErrorKind, LabError};

/// Bits of a mode by which others than the owner may write.
const OTHERS_WRITE: u32 = 0o022;

/// A state folder that is one's own. Its files are opened in it, and never through a link.
#[derive(Debug)]
pub(crate) struct StateFolder {
    folder: File,
    path: PathBuf,
}

impl StateFolder {
    /// The folder; none where there is none. One in which others can write is refused.
    pub(crate) fn open(path: &Path) -> Result<Option<Self>, LabError> {
        let failed = |e| LabError::new(ErrorKind::Storage, cannot(path)).because(e);
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
        let folder = match open(path, flags, Mode::empty()).map_err(io::Error::from) {
            Err(e) if e.kind() == io::ErrorKind::NotFound => return Ok(None),
            folder => File::from(folder.map_err(failed)?),
        };
        match doubt(&folder.metadata().map_err(failed)?) {
            None => Ok(Some(StateFolder { folder, path: path.to_owned() })),
            Some(because) => Err(LabError::new(ErrorKind::Storage, cannot(path))
                .because(because)
                .hint("make it your own (chown, chmod go-w), or name another with XDG_STATE_HOME")),
        }
    }

    /// The same, made where there is none: its owner's alone.
    pub(crate) fn make(path: &Path) -> Result<Self, LabError> {
        let failed = |e| LabError::new(ErrorKind::Storage, cannot(path)).because(e);
        DirBuilder::new().recursive(true).mode(0o700).create(path).map_err(failed)?;
        Self::open(path)?.ok_or_else(|| failed(io::ErrorKind::NotFound.into()))
    }

    /// Opens a file of the folder to read and append.
    pub(crate) fn open_file(&self, path: &Path) -> io::Result<File> {
        self.file(path, OFlags::RDWR | OFlags::NONBLOCK, Mode::empty())
    }

    /// Makes a new file in the folder, to append.
    pub(crate) fn create_file(&self, path: &Path) -> io::Result<File> {
        self.file(path, OFlags::RDWR | OFlags::CREATE | OFlags::EXCL, Mode::RUSR | Mode::WUSR)
    }

    /// Opens a file of the folder to read and append; made where there is none.
    pub(crate) fn open_or_create_file(&self, path: &Path) -> io::Result<File> {
        self.file(path, OFlags::RDWR | OFlags::NONBLOCK | OFlags::CREATE, Mode::RUSR | Mode::WUSR)
    }

    fn file(&self, path: &Path, flags: OFlags, mode: Mode) -> io::Result<File> {
        let name = path.file_name().ok_or(io::ErrorKind::InvalidInput)?;
        let flags = flags | OFlags::APPEND | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        Ok(openat(&self.folder, name, flags, mode)?.into())
    }

    /// Waits until its entries are on the disk.
    pub(crate) fn sync(&self) -> Result<(), LabError> {
        self.folder.sync_all().map_err(|e| {
            LabError::new(ErrorKind::Storage, format!("cannot sync the state folder {}", self.path.display()))
                .because(e)
        })
    }
}

/// Why a file or folder is not believed; none where only its owner, this user, can have written it.
pub(crate) fn doubt(about: &Metadata) -> Option<&'static str> {
    if about.uid() != rustix::process::geteuid().as_raw() {
        return Some("it belongs to another user");
    }
    if about.mode() & OTHERS_WRITE != 0 {
        return Some("others may write in it");
    }
    (!about.is_file() && !about.is_dir()).then_some("it is not a file")
}

fn cannot(path: &Path) -> String {
    format!("cannot use the state folder {}", path.display())
}
