//! A folder of Windows, by its path: no part below it may be a link when it is looked at.

#![allow(clippy::disallowed_methods, reason = "this is where a path is looked at before")]

use std::ffi::OsStr;
use std::fs::{self, File, Metadata, OpenOptions};
use std::io;
use std::path::{Path, PathBuf};

use super::{About, Creation, Kind};
use crate::ours::{NotOurs, Why};

/// A folder.
#[derive(Debug)]
pub(crate) struct FolderHandle(PathBuf);

impl FolderHandle {
    pub(crate) fn open(path: &Path) -> io::Result<Self> {
        let folder = path.canonicalize()?;
        if folder.is_dir() { Ok(FolderHandle(folder)) } else { Err(io::ErrorKind::NotADirectory.into()) }
    }

    pub(crate) fn open_itself(path: &Path) -> io::Result<Self> {
        FolderHandle::open(path)
    }

    pub(crate) fn open_folder(&self, inside: &Path) -> io::Result<Self> {
        let folder = self.whole(inside)?;
        if folder.is_dir() { Ok(FolderHandle(folder)) } else { Err(io::ErrorKind::NotADirectory.into()) }
    }

    /// Opens a file to read and append. Who may open it is inherited from the user's own folder.
    pub(crate) fn open_to_append(&self, inside: &Path, creation: Creation) -> io::Result<File> {
        let mut options = OpenOptions::new();
        options.read(true).append(true);
        options.create(creation == Creation::IfMissing).create_new(creation == Creation::Always);
        options.open(self.below_parent(inside)?)
    }

    /// Does nothing: the system itself writes down the entries of folders.
    pub(crate) fn sync(&self) -> io::Result<()> {
        Ok(())
    }

    /// Removes all that is in the folder; nothing here has an entry that stays.
    pub(crate) fn empty(&self, _: &OsStr) -> io::Result<()> {
        fs::remove_dir_all(&self.0)?;
        fs::create_dir(&self.0)
    }

    pub(crate) fn open_file(&self, inside: &Path) -> io::Result<File> {
        File::open(self.whole(inside)?)
    }

    /// Makes a new file. Permissions are those of the folder.
    pub(crate) fn create_new(&self, inside: &Path, _: u32) -> io::Result<File> {
        OpenOptions::new().write(true).create_new(true).open(self.below_parent(inside)?)
    }

    pub(crate) fn metadata(&self) -> io::Result<Metadata> {
        self.0.metadata()
    }

    pub(crate) fn look_at(&self, inside: &Path) -> io::Result<About> {
        let about = self.below_parent(inside)?.symlink_metadata()?;
        Ok(About { kind: kind(about.file_type()), changed: about.modified()? })
    }

    pub(crate) fn list_entries(&self, inside: &Path, most: usize) -> io::Result<Vec<(String, Kind)>> {
        let entries = fs::read_dir(self.whole(inside)?)?.take(most);
        let listed = entries.map(|entry| {
            let entry = entry?;
            Ok((entry.file_name().to_string_lossy().into_owned(), kind(entry.file_type()?)))
        });
        listed.collect()
    }

    /// Makes a folder. Permissions are those of the one above.
    pub(crate) fn make_folder(&self, inside: &Path, _: u32) -> io::Result<()> {
        fs::create_dir(self.below_parent(inside)?)
    }

    pub(crate) fn rename(&self, from: &Path, to: &Path) -> io::Result<()> {
        fs::rename(self.below_parent(from)?, self.below_parent(to)?)
    }

    pub(crate) fn remove_file(&self, inside: &Path) -> io::Result<()> {
        fs::remove_file(self.below_parent(inside)?)
    }

    pub(crate) fn remove_folder(&self, inside: &Path) -> io::Result<()> {
        fs::remove_dir(self.below_parent(inside)?)
    }

    /// Joins a path whose every part is none of a link.
    fn whole(&self, inside: &Path) -> io::Result<PathBuf> {
        let mut path = self.0.clone();
        for part in inside {
            path.push(part);
            if path.symlink_metadata()?.is_symlink() {
                return Err(io::ErrorKind::NotADirectory.into());
            }
        }
        Ok(path)
    }

    /// Joins a path whose every part but the last is none of a link.
    fn below_parent(&self, inside: &Path) -> io::Result<PathBuf> {
        let name = inside.file_name().ok_or(io::ErrorKind::InvalidInput)?;
        Ok(self.whole(inside.parent().unwrap_or(Path::new("")))?.join(name))
    }
}

/// Removes a folder with all that is in it.
pub fn remove_tree(path: &Path) -> io::Result<()> {
    fs::remove_dir_all(path)
}

fn kind(kind: fs::FileType) -> Kind {
    match (kind.is_file(), kind.is_dir(), kind.is_symlink()) {
        (true, ..) => Kind::File,
        (_, true, _) => Kind::Folder,
        (_, _, true) => Kind::Link,
        _ => Kind::Other,
    }
}

/// Finds nothing to say: a folder's rights are inherited, and a user's are the user's.
pub fn check_ours(_: &Path) -> Result<(), NotOurs> {
    Ok(())
}

/// Checks that it is a file or folder. Its owner shows in its folder, which is the user's.
pub fn check_opened(path: &Path, about: &Metadata) -> Result<(), NotOurs> {
    let refused = || NotOurs { path: path.to_owned(), why: Why::Other };
    if about.is_file() || about.is_dir() { Ok(()) } else { Err(refused()) }
}
