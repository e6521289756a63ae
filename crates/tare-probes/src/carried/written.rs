//! Files that a run wrote: those of its working folder that are not as they were before it.

use std::collections::BTreeMap;
use std::fs::{self, File, Metadata};
use std::io::Read;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use tare_data::foreign::plain::plain_line;
use tare_data::session::outcome::{MOST_FILES, Written, hash_bytes};

/// Limit on the entries of a folder that are looked at: a large checkout takes a tenth of a second.
const MOST_ENTRIES: usize = 20_000;
/// Longest file whose contents are compared.
const LONGEST: u64 = 1 << 20;

/// A file as its folder's list has it: length, mode, and when it was changed.
type About = (u64, u32, i64, i64);

/// Files of a folder, with everything below it.
pub(crate) struct Listed(BTreeMap<PathBuf, About>);

/// Lists the files below a folder, and follows no link; none where there are too many.
pub(crate) fn list_files(folder: &Path) -> Option<Listed> {
    let (mut found, mut folders, mut entries) = (BTreeMap::new(), vec![folder.to_owned()], 0);
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(&folder).into_iter().flatten().flatten() {
            entries += 1;
            if entries > MOST_ENTRIES {
                return None;
            }
            let Ok(about) = entry.metadata() else { continue };
            match about.is_dir() {
                true => folders.push(entry.path()),
                false => drop(found.insert(entry.path(), describe(&about))),
            }
        }
    }
    Some(Listed(found))
}

fn describe(about: &Metadata) -> About {
    (about.len(), about.mode(), about.mtime(), about.mtime_nsec())
}

impl Listed {
    /// Lists the files that are not as they were in an earlier list of the same folder; none where there are too many.
    pub(crate) fn list_changed(&self, before: &Listed, folder: &Path) -> Option<Vec<Written>> {
        let changed = self.0.iter().filter(|(path, about)| before.0.get(*path) != Some(about));
        let gone = before.0.keys().filter(|path| !self.0.contains_key(*path)).map(|path| (path, None));
        let all = changed.map(|(path, about)| (path, Some(about.0))).chain(gone);
        let written = |(path, size): (&PathBuf, Option<u64>)| {
            let inside = path.strip_prefix(folder).unwrap_or(path);
            let hash = size.filter(|size| *size <= LONGEST).and_then(|_| hash_file(path));
            Written { path: plain_line(&inside.to_string_lossy()), size, hash }
        };
        let all: Vec<Written> = all.take(MOST_FILES + 1).map(written).collect();
        (all.len() <= MOST_FILES).then_some(all)
    }
}

/// Hashes a file, or the target of a link; waits for no pipe.
fn hash_file(path: &Path) -> Option<u64> {
    if let Ok(target) = fs::read_link(path) {
        return Some(hash_bytes(target.as_os_str().as_bytes()));
    }
    let flags = libc::O_NOFOLLOW | libc::O_NONBLOCK | libc::O_CLOEXEC;
    let file: File = fs::OpenOptions::new().read(true).custom_flags(flags).open(path).ok()?;
    let mut bytes = Vec::new();
    file.take(LONGEST).read_to_end(&mut bytes).ok()?;
    Some(hash_bytes(&bytes))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_made_changed_or_removed_is_listed_and_nothing_else() {
        let folder = tempfile::tempdir().unwrap();
        let path = |name: &str| folder.path().join(name);
        for name in ["kept", "changed", "gone"] {
            fs::write(path(name), name).unwrap();
        }
        let before = list_files(folder.path()).unwrap();
        fs::create_dir(path("out")).unwrap();
        fs::write(path("out/made"), "x").unwrap();
        fs::write(path("changed"), "otherwise").unwrap();
        fs::remove_file(path("gone")).unwrap();
        std::os::unix::fs::symlink("kept", path("link")).unwrap();
        let changed = list_files(folder.path()).unwrap().list_changed(&before, folder.path()).unwrap();
        let names: Vec<(&str, Option<u64>)> =
            changed.iter().map(|file| (file.path.as_str(), file.size)).collect();
        assert_eq!(names, [("changed", Some(9)), ("link", Some(4)), ("out/made", Some(1)), ("gone", None)]);
        assert_eq!(changed[2].hash, Some(hash_bytes(b"x")));
    }
}
