//! The state folder: what tare remembers from one session to the next, believed only where nobody else can write.

use std::ffi::OsStr;
use std::fs::{DirBuilder, File};
use std::io;
use std::path::{Path, PathBuf};

use crate::error::{ErrorKind, LabError};
use crate::platform::{self, StateFiles};

pub(crate) use crate::platform::explain_distrust;

/// A state folder that is one's own. Its files are opened in it, and never through a link.
#[derive(Debug)]
pub(crate) struct StateFolder {
    files: StateFiles,
    path: PathBuf,
}

impl StateFolder {
    /// Opens the folder; None where there is none. One in which others can write is refused.
    pub(crate) fn open(path: &Path) -> Result<Option<Self>, LabError> {
        let failed = |e| LabError::new(ErrorKind::Storage, cannot(path)).with_cause(e);
        let files = match StateFiles::open_folder(path) {
            Err(e) if e.kind() == io::ErrorKind::NotFound => return Ok(None),
            files => files.map_err(failed)?,
        };
        match explain_distrust(&files.metadata().map_err(failed)?) {
            None => Ok(Some(StateFolder { files, path: path.to_owned() })),
            Some(because) => Err(LabError::new(ErrorKind::Storage, cannot(path))
                .with_cause(because)
                .with_hint("make it your own (chown, chmod go-w), or name another with XDG_STATE_HOME")),
        }
    }

    /// Opens the folder, and makes it where there is none: accessible only to its owner.
    pub(crate) fn open_or_make(path: &Path) -> Result<Self, LabError> {
        let failed = |e| LabError::new(ErrorKind::Storage, cannot(path)).with_cause(e);
        platform::make_private(&mut DirBuilder::new()).recursive(true).create(path).map_err(failed)?;
        Self::open(path)?.ok_or_else(|| failed(io::ErrorKind::NotFound.into()))
    }

    /// Opens a file of the folder to read and append.
    pub(crate) fn open_file(&self, path: &Path) -> io::Result<File> {
        self.files.open(name(path)?)
    }

    /// Makes a new file in the folder, to append.
    pub(crate) fn create_file(&self, path: &Path) -> io::Result<File> {
        self.files.create(name(path)?)
    }

    /// Opens a file of the folder to read and append; made where there is none.
    pub(crate) fn open_or_create_file(&self, path: &Path) -> io::Result<File> {
        self.files.open_or_create(name(path)?)
    }

    /// Waits until its entries are on the disk.
    pub(crate) fn sync(&self) -> Result<(), LabError> {
        self.files.sync().map_err(|e| {
            LabError::new(ErrorKind::Storage, format!("cannot sync the state folder {}", self.path.display()))
                .with_cause(e)
        })
    }
}

fn name(path: &Path) -> io::Result<&OsStr> {
    path.file_name().ok_or(io::ErrorKind::InvalidInput.into())
}

fn cannot(path: &Path) -> String {
    format!("cannot use the state folder {}", path.display())
}
