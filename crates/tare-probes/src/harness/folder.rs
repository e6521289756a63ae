//! A folder of the trial's own: made fresh, taken away afterwards, with calls that every layer translates.
//!
//! The standard library reads metadata by statx(2), whose paths proot 5.1 passes on untranslated, so that
//! a file inside is not found. Here only openat, getdents, mkdirat and unlinkat are used.

#[cfg(unix)]
use std::ffi::OsStr;
use std::io::{self, ErrorKind};
#[cfg(unix)]
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

#[cfg(unix)]
use rustix::fd::{AsFd, BorrowedFd};
#[cfg(unix)]
use rustix::fs::{AtFlags, CWD, Dir, Mode, OFlags};
#[cfg(unix)]
use rustix::io::Errno;
use tare_data::failure::Failure;

use crate::harness::trial::broken;

/// Name of the folder that a trial makes in a place.
const NAME: &str = "tare-trial";
/// Deepest folder that is removed: the probes make two levels, a user's build many.
#[cfg(unix)]
const DEEPEST: usize = 64;

/// A folder that is removed, with what is in it, when dropped.
#[derive(Debug)]
pub struct Folder {
    path: PathBuf,
}

impl Folder {
    /// Makes the trial's folder in a place; what an earlier trial that was killed left there is removed first.
    pub fn fresh(place: &Path) -> Result<Folder, Failure> {
        let path = place.join(NAME);
        let what = || format!("making a folder in {}", place.display());
        match remove_all(&path) {
            Ok(()) => {}
            Err(e) if e.kind() == ErrorKind::NotFound => {}
            Err(e) => return Err(broken(&what(), e)),
        }
        make(&path).map_err(|e| broken(&what(), e))?;
        Ok(Folder { path })
    }

    pub fn path(&self) -> &Path {
        &self.path
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        // A folder that stays is found and removed by the next trial.
        let _ = remove_all(&self.path);
    }
}

#[cfg(unix)]
fn make(path: &Path) -> io::Result<()> {
    Ok(rustix::fs::mkdirat(CWD, path, Mode::RWXU)?)
}

#[cfg(windows)]
fn make(path: &Path) -> io::Result<()> {
    std::fs::create_dir(path)
}

/// Removes a folder with all that is in it. Follows no link.
#[cfg(unix)]
fn remove_all(path: &Path) -> io::Result<()> {
    Ok(remove(CWD, path, 0)?)
}

/// Removes a folder with all that is in it. Follows no link.
#[cfg(windows)]
fn remove_all(path: &Path) -> io::Result<()> {
    std::fs::remove_dir_all(path)
}

/// Removes a file, or a folder with all that is in it.
#[cfg(unix)]
fn remove(parent: BorrowedFd<'_>, name: &Path, depth: usize) -> Result<(), Errno> {
    match rustix::fs::unlinkat(parent, name, AtFlags::empty()) {
        // Linux returns EISDIR, POSIX EPERM.
        Err(Errno::ISDIR | Errno::PERM) if depth < DEEPEST => {}
        other => return other,
    }
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let folder = rustix::fs::openat(parent, name, flags, Mode::empty())?;
    for entry in Dir::read_from(&folder)? {
        let entry = entry?;
        let entry = entry.file_name().to_bytes();
        if entry != b"." && entry != b".." {
            remove(folder.as_fd(), Path::new(OsStr::from_bytes(entry)), depth + 1)?;
        }
    }
    rustix::fs::unlinkat(parent, name, AtFlags::REMOVEDIR)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn somewhere() -> PathBuf {
        let path = std::env::temp_dir().join(format!("tare-folder-test-{}", std::process::id()));
        let _ = std::fs::create_dir(&path);
        path
    }

    #[test]
    fn a_folder_is_fresh_and_goes_away() {
        let place = somewhere();
        let left = place.join(NAME).join("deep");
        std::fs::create_dir_all(&left).unwrap();
        std::fs::write(left.join("file"), "left by a trial that was killed").unwrap();
        let folder = Folder::fresh(&place).unwrap();
        assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 0);
        std::fs::write(folder.path().join("file"), "of this trial").unwrap();
        let path = folder.path().to_owned();
        drop(folder);
        assert!(!path.exists());
        std::fs::remove_dir(&place).unwrap();
    }

    #[test]
    fn a_missing_place_is_named() {
        let failure = Folder::fresh(Path::new("/no/such/place")).unwrap_err();
        assert_eq!(
            failure.reason,
            "making a folder in /no/such/place: No such file or directory (os error 2)"
        );
    }
}
