//! Marked folders: each holds a marker that is locked while the folder is used, by which a later run knows what a killed one left.

use std::io;
use std::path::{Path, PathBuf};

use rustix::fd::OwnedFd;
use rustix::fs::{FileType, FlockOperation, OFlags, Stat};
use rustix::io::Errno;

use crate::door::Door;

/// Name of the marker in each.
pub const MARKER: &str = ".tare-in-use";

/// A folder that a killed run left.
#[derive(Debug, PartialEq, Eq)]
pub struct LeftOver {
    pub folder: PathBuf,
    /// None where it was removed.
    pub left_because: Option<String>,
}

/// A folder of this run, with its marker; removed when dropped.
#[derive(Debug)]
pub struct MarkedFolder {
    place: Door,
    name: PathBuf,
    folder: Door,
    /// Held for its lock, which ends with this process.
    _marker: OwnedFd,
}

impl MarkedFolder {
    /// Makes a folder that must not be there, and its marker first of all.
    pub fn make(place: &Path, name: &str) -> io::Result<MarkedFolder> {
        let (place, name) = (Door::open_itself(place)?, PathBuf::from(name));
        let folder = place.make_new_folder(&name)?;
        let marker = folder.open_with(Path::new(MARKER), OFlags::CREATE | OFlags::EXCL);
        let marker = marker.inspect_err(|_| drop(place.remove_folder(&name)))?;
        // A lock that is refused here is refused to later runs as well.
        let _ = rustix::fs::flock(&marker, FlockOperation::NonBlockingLockExclusive);
        Ok(MarkedFolder { place, name, folder, _marker: marker })
    }

    pub fn door(&self) -> &Door {
        &self.folder
    }
}

impl Drop for MarkedFolder {
    fn drop(&mut self) {
        // A folder that cannot be removed is found by a later run.
        let _ = remove_marked(&self.place, &self.name, &self.folder);
    }
}

/// Removes folders in a place that killed runs left, and tells of them and of those that stay though nothing is known to use them. A
/// folder is looked at if its name has an age, in s, from which it can be one.
pub fn remove_left(place: &Path, age_s: impl Fn(&str) -> Option<i64>) -> Vec<LeftOver> {
    let Ok(place) = Door::open_itself(place) else { return Vec::new() };
    let entries = place.list_entries(Path::new("")).unwrap_or_default();
    let left = entries.iter().filter_map(|(name, _)| {
        let left_because = remove_unused(&place, Path::new(name), age_s(name)?)?.err();
        Some(LeftOver { folder: place.join(Path::new(name)), left_because })
    });
    left.collect()
}

/// Removes a folder of this user that nobody uses, or gives the reason why it stays; None where a run may use it, or none made it.
fn remove_unused(place: &Door, name: &Path, age_s: i64) -> Option<Result<(), String>> {
    let folder = place.open_folder(name).ok()?;
    let is_own = |about: &Stat| about.st_uid == rustix::process::geteuid().as_raw();
    let now_s = rustix::time::clock_gettime(rustix::time::ClockId::Realtime).tv_sec;
    let is_old = |about: &Stat| now_s.saturating_sub(about.st_mtime) >= age_s;
    rustix::fs::fstat(&folder).ok().filter(|about| is_own(about) && is_old(about))?;
    let is_file = |about: &Stat| FileType::from_raw_mode(about.st_mode) == FileType::RegularFile;
    let marker = folder.open_with(Path::new(MARKER), OFlags::NONBLOCK).ok();
    let is_marker =
        |file: &OwnedFd| rustix::fs::fstat(file).is_ok_and(|about| is_own(&about) && is_file(&about));
    let Some(marker) = marker.filter(is_marker) else {
        // A run that was killed before it made its marker had made nothing else.
        return place.remove_folder(name).ok().map(Ok);
    };
    match rustix::fs::flock(&marker, FlockOperation::NonBlockingLockExclusive) {
        Ok(()) => Some(remove_marked(place, name, &folder).map_err(|e| e.to_string())),
        Err(Errno::WOULDBLOCK) => None,
        Err(e) => Some(Err(format!(
            "it stays, since {MARKER} in it cannot be locked ({e}), so that it may be in use: remove it while no tare runs"
        ))),
    }
}

/// Removes a folder with all that is in it, the marker last: until then another run can go on where this one ends.
fn remove_marked(place: &Door, name: &Path, folder: &Door) -> io::Result<()> {
    folder.empty(MARKER)?;
    folder.remove_file(Path::new(MARKER))?;
    place.remove_folder(name)
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::symlink;

    use super::*;

    fn plant(folder: &Path) {
        fs::create_dir_all(folder.join("deep")).unwrap();
        fs::write(folder.join("deep/file"), "left").unwrap();
        fs::write(folder.join(MARKER), "").unwrap();
    }

    /// Removes what is left of folders whose names begin so.
    fn remove_all(place: &Path) -> Vec<LeftOver> {
        remove_left(place, |name| name.starts_with("left-").then_some(0))
    }

    #[test]
    fn only_what_nobody_uses_goes_and_only_from_its_age() {
        let place = tempfile::tempdir().unwrap();
        let used = MarkedFolder::make(place.path(), "left-used").unwrap();
        plant(&place.path().join("left-killed"));
        plant(&place.path().join("another"));
        assert_eq!(remove_left(place.path(), |_| Some(60)), []);
        let folder = place.path().join("left-killed");
        assert_eq!(remove_all(place.path()), [LeftOver { folder, left_because: None }]);
        assert!(
            place.path().join("another/deep/file").exists() && used.door().join(Path::new(MARKER)).exists()
        );
        drop(used);
        assert_eq!(fs::read_dir(place.path()).unwrap().count(), 1);
    }

    #[test]
    fn without_a_marker_only_an_empty_folder_goes() {
        let place = tempfile::tempdir().unwrap();
        let [empty, full, false_marker] = [1, 2, 3].map(|moment| place.path().join(format!("left-{moment}")));
        fs::create_dir(&empty).unwrap();
        plant(&full);
        fs::remove_file(full.join(MARKER)).unwrap();
        fs::create_dir_all(false_marker.join(MARKER)).unwrap();
        assert_eq!(remove_all(place.path()), [LeftOver { folder: empty, left_because: None }]);
        assert!(full.join("deep/file").exists() && false_marker.join(MARKER).exists());
    }

    #[test]
    fn links_and_files_of_such_a_name_stay() {
        let (place, other) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        plant(&other.path().join("mine"));
        symlink(other.path().join("mine"), place.path().join("left-1")).unwrap();
        fs::write(place.path().join("left-2"), "mine").unwrap();
        fs::create_dir(place.path().join("left-3")).unwrap();
        symlink(other.path().join("mine").join(MARKER), place.path().join("left-3").join(MARKER)).unwrap();
        assert_eq!(remove_all(place.path()), []);
        assert_eq!(fs::read_dir(place.path()).unwrap().count(), 3);
        assert!(other.path().join("mine/deep/file").exists());
    }
}
