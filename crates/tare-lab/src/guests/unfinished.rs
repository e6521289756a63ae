//! Unfinished folders, in which files are prepared until they are whole. Each holds a marker that is locked while that goes on, by
//! which a later run knows what a killed one left.

use std::fs::{self, File, OpenOptions, TryLockError};
use std::io;
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

use tare_paths::remove_tree;
use tare_record::locks::try_lock;
use tempfile::TempDir;

/// Name of such a folder, before its random letters, and how many these are.
const NAME: &str = "kernel-";
const LETTERS: usize = 6;
const MARKER: &str = "unfinished";

/// A folder of this run's, removed when dropped.
pub(crate) struct Unfinished {
    folder: TempDir,
    _marker: File,
}

impl Unfinished {
    pub(crate) fn make(parent: &Path) -> io::Result<Unfinished> {
        let folder = tempfile::Builder::new().prefix(NAME).rand_bytes(LETTERS).tempdir_in(parent)?;
        let marker = File::create_new(folder.path().join(MARKER))?;
        try_lock(&marker)?;
        Ok(Unfinished { folder, _marker: marker })
    }

    pub(crate) fn path(&self) -> &Path {
        self.folder.path()
    }
}

/// Removes the folders that killed runs have left, and returns them with the error of those that stay. One in use and one without
/// the marker stay; of the latter an empty one goes, as of a run that was killed before it made its marker.
pub(crate) fn remove_left(parent: &Path) -> Vec<(PathBuf, io::Result<()>)> {
    let is_one = |entry: &fs::DirEntry| {
        let name = entry.file_name();
        let letters = name.to_str().and_then(|name| name.strip_prefix(NAME)).unwrap_or_default();
        letters.len() == LETTERS
            && letters.bytes().all(|b| b.is_ascii_alphanumeric())
            && entry.file_type().is_ok_and(|kind| kind.is_dir())
    };
    let remove = |folder: PathBuf| {
        let marker = OpenOptions::new()
            .read(true)
            .custom_flags(libc::O_NOFOLLOW | libc::O_NONBLOCK)
            .open(folder.join(MARKER));
        let removed = match &marker {
            Ok(marker) => match try_lock(marker) {
                Ok(()) => Some(remove_tree(&folder)),
                Err(TryLockError::WouldBlock) => None,
                // It may be in use, and nothing tells.
                Err(TryLockError::Error(e)) => Some(Err(e)),
            },
            Err(_) => fs::remove_dir(&folder).ok().map(Ok),
        };
        removed.map(|removed| (folder, removed))
    };
    let entries = fs::read_dir(parent).into_iter().flatten().flatten();
    entries.filter(is_one).filter_map(|entry| remove(entry.path())).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_a_killed_run_left_goes() {
        let parent = tempfile::tempdir().unwrap();
        let place = |name: &str| parent.path().join(name);
        let used = Unfinished::make(parent.path()).unwrap();
        for folder in ["kernel-killed", "kernel-others", "kernel-before", "kernel-aarch64", "kernel"] {
            fs::create_dir(place(folder)).unwrap();
        }
        fs::remove_dir(place("kernel-before")).unwrap();
        fs::create_dir(place("kernel-befor3")).unwrap();
        for file in
            ["kernel-killed/unfinished", "kernel-killed/vmlinux", "kernel-others/precious", "kernel-a1b2c3"]
        {
            fs::write(place(file), "x").unwrap();
        }
        for name in ["kernel-aarch64", "kernel"] {
            fs::write(place(name).join("unfinished"), "x").unwrap();
        }
        std::os::unix::fs::symlink(place("kernel"), place("kernel-linked")).unwrap();
        let mut left: Vec<PathBuf> = remove_left(parent.path()).into_iter().map(|(path, _)| path).collect();
        left.sort();
        assert_eq!(left, [place("kernel-befor3"), place("kernel-killed")]);
        assert!(left.iter().all(|path| !path.exists()));
        for kept in [
            "kernel-others/precious",
            "kernel-a1b2c3",
            "kernel-aarch64/unfinished",
            "kernel-linked/unfinished",
        ] {
            assert!(place(kept).exists(), "{kept}");
        }
        assert!(used.path().join(MARKER).exists());
    }
}
