//! Folders of this command: each holds a marker that is locked while it is used, by which a later run knows what a killed one left.

use std::ffi::OsStr;
use std::io;
use std::path::{Path, PathBuf};

use rustix::fd::OwnedFd;
use rustix::fs::{FileType, FlockOperation, OFlags, Stat};
use rustix::io::Errno;
use tare_paths::door::Door;

/// Beginning of the names of all these folders.
const PREFIX: &str = "tare-here-";
/// Words for the use of a folder, with which its name ends.
pub const FILES: &str = "files";
pub const PRICES: &str = "prices";
/// Name of the marker in each.
const MARKER: &str = ".tare-here";
/// Age in s from which another run's folder is left over. None is used for as long, and not every lock reaches those who share a folder.
const LEFT_OVER_S: i64 = 60;

/// A folder that a killed run left.
#[derive(Debug, PartialEq, Eq)]
pub struct LeftOver {
    pub folder: PathBuf,
    /// None where it was removed.
    pub left_because: Option<String>,
}

/// A folder of this run, with its marker; removed when dropped.
#[derive(Debug)]
pub struct OwnFolder {
    place: Door,
    name: PathBuf,
    folder: Door,
    /// Held for its lock, which ends with this process.
    _marker: OwnedFd,
}

impl OwnFolder {
    /// Makes a folder that must not be there, and its marker first of all.
    pub fn make(place: &Path, name: &str) -> io::Result<OwnFolder> {
        let (place, name) = (Door::open_itself(place)?, PathBuf::from(name));
        let folder = place.make_new_folder(&name)?;
        let marker = folder.open_with(Path::new(MARKER), OFlags::CREATE | OFlags::EXCL);
        let marker = marker.inspect_err(|_| drop(place.remove_folder(&name)))?;
        // A lock that is refused here is refused to later runs as well.
        let _ = rustix::fs::flock(&marker, FlockOperation::NonBlockingLockExclusive);
        Ok(OwnFolder { place, name, folder, _marker: marker })
    }

    pub fn door(&self) -> &Door {
        &self.folder
    }
}

impl Drop for OwnFolder {
    fn drop(&mut self) {
        // One that cannot be removed is found by a later run.
        let _ = remove_marked(&self.place, &self.name, &self.folder);
    }
}

/// Returns a run's name, from its process and the moment when it began: those that begin at the same moment have other numbers.
pub fn name_run(process: i32, began_ns: u64) -> String {
    format!("{PREFIX}{process}-{began_ns:x}")
}

/// Recognises a name exactly as a run gives it to a folder, and returns the run's own.
fn find_run(name: &str) -> Option<&str> {
    let (run, used_for) = name.rsplit_once('-')?;
    let (process, began) = run.strip_prefix(PREFIX)?.split_once('-')?;
    let (process, began_ns) = (process.parse().ok()?, u64::from_str_radix(began, 16).ok()?);
    ([FILES, PRICES].contains(&used_for) && process > 0 && name_run(process, began_ns) == run).then_some(run)
}

/// Removes folders that this run and earlier ones left in a place because they were killed. Tells of those of earlier ones, and of all
/// that stay.
pub fn remove_left(place: &Path, run: &str) -> Vec<LeftOver> {
    let mut left = sweep(place, |of| if of == run { 0 } else { LEFT_OVER_S });
    let is_own = |folder: &Path| folder.file_name().and_then(OsStr::to_str).and_then(find_run) == Some(run);
    left.retain(|left| left.left_because.is_some() || !is_own(&left.folder));
    left
}

/// Removes folders in a place whose run was killed.
pub fn remove_left_over(place: &Path) -> Vec<LeftOver> {
    sweep(place, |_| LEFT_OVER_S)
}

/// Removes folders in a place that have an unlocked marker and are as old as their run requires, in s.
fn sweep(place: &Path, age_s: impl Fn(&str) -> i64) -> Vec<LeftOver> {
    let Ok(place) = Door::open_itself(place) else { return Vec::new() };
    let entries = place.list_entries(Path::new("")).unwrap_or_default();
    let swept = entries.iter().filter_map(|(name, _)| {
        let left_because = remove_unused(&place, Path::new(name), age_s(find_run(name)?))?.err();
        Some(LeftOver { folder: place.join(Path::new(name)), left_because })
    });
    swept.collect()
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
            "it stays, since {MARKER} in it cannot be locked ({e}), so that it may be in use: remove it while no tare here runs"
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
    use crate::harness::child::Child;

    fn name(moment: u64) -> String {
        format!("{}-{FILES}", name_run(7, moment))
    }

    fn plant(folder: &Path) {
        fs::create_dir_all(folder.join("deep")).unwrap();
        fs::write(folder.join("deep/file"), "left").unwrap();
        fs::write(folder.join(MARKER), "").unwrap();
    }

    fn sweep_all(place: &Path) -> Vec<LeftOver> {
        sweep(place, |_| 0)
    }

    #[test]
    fn names_are_recognised_whole() {
        assert_eq!(find_run("tare-here-12-7f-files"), Some("tare-here-12-7f"));
        assert_eq!(find_run(&format!("{}-{PRICES}", name_run(i32::MAX, u64::MAX))).map(str::len), Some(37));
        for near in [
            "tare-here-project",
            "tare-here-laptop.json",
            "tare-here-12-7f",
            "tare-here-12-7f-",
            "tare-here-12-7f-old",
            "tare-here-12-7f-files-old",
            "tare-here-12-7f-filesx",
            "tare-here-12-7F-files",
            "tare-here-12-07f-files",
            "tare-here-012-7f-files",
            "tare-here-+12-7f-files",
            "tare-here--12-7f-files",
            "tare-here-0-7f-files",
            "tare-here-12-7g-files",
            "tare-here-12-7f.files",
            "Tare-here-12-7f-files",
            "xtare-here-12-7f-files",
        ] {
            assert_eq!(find_run(near), None, "{near}");
        }
    }

    #[test]
    fn a_folder_stays_while_its_run_lives_and_goes_when_that_was_killed() {
        let place = tempfile::tempdir().unwrap();
        let path = place.path().join(name(1));
        let (own, of) = (place.path().to_owned(), path.clone());
        let run = Child::fork(&[], move || {
            let folder = OwnFolder::make(&own, &name(1)).unwrap();
            fs::write(folder.door().join(Path::new("sync")), "in use").unwrap();
            loop {
                std::thread::park();
            }
        });
        let run = run.unwrap();
        while !of.join("sync").exists() {
            assert!(run.is_alive());
            std::thread::yield_now();
        }
        assert_eq!((sweep_all(place.path()), path.join("sync").exists()), (Vec::new(), true));
        drop(run);
        assert_eq!(remove_left_over(place.path()), [], "it is young");
        assert_eq!(sweep_all(place.path()), [LeftOver { folder: path.clone(), left_because: None }]);
        assert!(!path.exists());
    }

    #[test]
    fn a_run_removes_its_own_folder_without_a_word() {
        let place = tempfile::tempdir().unwrap();
        drop(OwnFolder::make(place.path(), &name(1)).unwrap());
        (1..3).for_each(|moment| plant(&place.path().join(name(moment))));
        assert_eq!(remove_left(place.path(), &name_run(7, 1)), []);
        let left: Vec<_> =
            fs::read_dir(place.path()).unwrap().map(|entry| entry.unwrap().file_name()).collect();
        assert_eq!(left, [name(2).as_str()]);
    }

    #[test]
    fn without_a_marker_only_an_empty_folder_goes() {
        let place = tempfile::tempdir().unwrap();
        let [empty, full, false_marker] = [1, 2, 3].map(|moment| place.path().join(name(moment)));
        fs::create_dir(&empty).unwrap();
        plant(&full);
        fs::remove_file(full.join(MARKER)).unwrap();
        fs::create_dir_all(false_marker.join(MARKER)).unwrap();
        assert_eq!(sweep_all(place.path()), [LeftOver { folder: empty, left_because: None }]);
        assert!(full.join("deep/file").exists() && false_marker.join(MARKER).exists());
    }

    #[test]
    fn links_and_files_of_such_a_name_stay() {
        let (place, other) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        plant(&other.path().join("mine"));
        symlink(other.path().join("mine"), place.path().join(name(1))).unwrap();
        fs::write(place.path().join(name(2)), "mine").unwrap();
        fs::create_dir(place.path().join(name(3))).unwrap();
        symlink(other.path().join("mine").join(MARKER), place.path().join(name(3)).join(MARKER)).unwrap();
        assert_eq!(sweep_all(place.path()), []);
        assert_eq!(fs::read_dir(place.path()).unwrap().count(), 3);
        assert!(other.path().join("mine/deep/file").exists());
    }
}
