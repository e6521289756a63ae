//! The state folder: what tare remembers from one session to the next, believed only where nobody else can write.

use std::fs::File;
use std::io;
use std::path::Path;

use tare_paths::door::{Creation, Door};
use tare_paths::ours::check_ours;

use crate::error::{ErrorKind, LabError};
use crate::host::private_folder::make_private_folders;

/// A state folder that is one's own. Its files are opened in it, and never through a link.
#[derive(Debug)]
pub(crate) struct StateFolder(Door);

impl StateFolder {
    /// Opens the folder; None where there is none. One in which others can write is refused.
    pub(crate) fn open(path: &Path) -> Result<Option<Self>, LabError> {
        let failed = |e| LabError::new(ErrorKind::Storage, cannot(path)).with_cause(e);
        let folder = match Door::open(path) {
            Err(e) if e.kind() == io::ErrorKind::NotFound => return Ok(None),
            folder => folder.map_err(failed)?,
        };
        require_ours(path, "state", "XDG_STATE_HOME")?;
        Ok(Some(StateFolder(folder)))
    }

    /// Opens the folder, and makes it where there is none: accessible only to its owner.
    pub(crate) fn open_or_make(path: &Path) -> Result<Self, LabError> {
        let failed = |e| LabError::new(ErrorKind::Storage, cannot(path)).with_cause(e);
        make_private_folders(path).map_err(failed)?;
        Self::open(path)?.ok_or_else(|| failed(io::ErrorKind::NotFound.into()))
    }

    /// Opens a file of the folder to read and append.
    pub(crate) fn open_file(&self, path: &Path) -> io::Result<File> {
        self.0.open_to_append(name(path)?, Creation::Never)
    }

    /// Makes a new file in the folder, to append.
    pub(crate) fn create_file(&self, path: &Path) -> io::Result<File> {
        self.0.open_to_append(name(path)?, Creation::Always)
    }

    /// Opens a file of the folder to read and append; made where there is none.
    pub(crate) fn open_or_create_file(&self, path: &Path) -> io::Result<File> {
        self.0.open_to_append(name(path)?, Creation::IfMissing)
    }

    /// Waits until its entries are on the disk.
    pub(crate) fn sync(&self) -> Result<(), LabError> {
        self.0.sync().map_err(|e| {
            LabError::new(
                ErrorKind::Storage,
                format!("cannot sync the state folder {}", self.0.path().display()),
            )
            .with_cause(e)
        })
    }
}

fn name(path: &Path) -> io::Result<&Path> {
    path.file_name().map(Path::new).ok_or(io::ErrorKind::InvalidInput.into())
}

fn cannot(path: &Path) -> String {
    format!("cannot use the state folder {}", path.display())
}

/// Refuses a folder that somebody else can change: it is the user's by `kind`, and another one is named by `option`.
pub(crate) fn require_ours(path: &Path, kind: &str, option: &str) -> Result<(), LabError> {
    check_ours(path).map_err(|not_ours| {
        let hint = not_ours.hint(&format!("name another folder with {option}"));
        LabError::new(ErrorKind::Storage, format!("cannot use the {kind} folder {}", path.display()))
            .with_cause(not_ours)
            .with_hint(hint)
    })
}
