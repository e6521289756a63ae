//! A folder of the trial's own: made fresh, held open, and taken away afterwards, with calls that every layer translates.
//!
//! The standard library reads metadata by statx(2), whose paths proot 5.1 passes on untranslated, so that
//! a file inside is not found.

use std::io::{self, ErrorKind};
use std::path::{Path, PathBuf};

#[cfg(unix)]
use rustix::fs::IFlags;
use tare_data::failure::Failure;
use tare_paths::door::{Door, Kind};

use crate::harness::trial::broken_failure;

/// Prefix of the folders that trials make in a place.
const NAME: &str = "tare-trial";
/// Prefix of the empty folders that stay.
const STAYS: &str = ".tare-empty";

/// A folder that is emptied and removed when dropped.
#[derive(Debug)]
pub struct Folder {
    place: Door,
    name: PathBuf,
    door: Door,
    /// Name under which it stays, empty.
    stays: Option<PathBuf>,
}

impl Folder {
    /// Makes the trial's folder in a place; what an earlier trial that was killed left there is removed first.
    pub(crate) fn make_fresh(place: &Path) -> Result<Folder, Failure> {
        Folder::make(place, NAME, None)
    }

    /// Makes the folder of one side of a pair, whose other side may work in the same place. Both have names of one length.
    pub(crate) fn make_for_side(place: &Path, is_second: bool) -> Result<Folder, Failure> {
        Folder::make(place, side_name(is_second), None)
    }

    /// Creates a folder for a trial that makes many files. On a place that is [`spread_folders`], it lies away from
    /// those of other trials.
    ///
    /// ext4 has each folder where the fewest are, and among those by its name: this one has another name in
    /// each session, and stays until the place goes, so that the next one is elsewhere. `side` is that of a pair.
    pub(crate) fn make_apart(
        place: &Path,
        side: Option<bool>,
        (seed, trial): (u64, u64),
    ) -> Result<Folder, Failure> {
        Folder::make(place, side.map_or(NAME, side_name), Some(format!("{seed:x}-{trial}")))
    }

    fn make(place: &Path, name: &str, apart: Option<String>) -> Result<Folder, Failure> {
        let make = || {
            let place = Door::open_itself(place)?;
            let entries = place.list_entries(Path::new(""))?.into_iter();
            for (left, _) in entries.filter(|(entry, kind)| *kind == Kind::Folder && is_of_trial(entry, name))
            {
                match place.remove_tree(Path::new(&left)) {
                    Err(e) if e.kind() != ErrorKind::NotFound => return Err(e),
                    _ => {}
                }
            }
            let named = |begin: &str| apart.as_ref().map(|name| PathBuf::from(format!("{begin}-{name}")));
            Folder::make_in(place, named(name).unwrap_or_else(|| name.into()), named(STAYS))
        };
        make().map_err(|e| broken_failure(&format!("making a folder in {}", place.display()), e))
    }

    /// Makes a folder of this name, which must not be there.
    #[cfg(unix)]
    pub(crate) fn make_named(place: &Path, name: &str) -> io::Result<Folder> {
        Folder::make_in(Door::open_itself(place)?, name.into(), None)
    }

    fn make_in(place: Door, name: PathBuf, stays: Option<PathBuf>) -> io::Result<Folder> {
        let door = place.make_new_folder(&name)?;
        Ok(Folder { place, name, door, stays })
    }

    /// Returns the open folder, below which the trial's files are reached.
    pub fn door(&self) -> &Door {
        &self.door
    }

    pub fn path(&self) -> &Path {
        self.door.path()
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        // A folder that cannot be removed is found by the next trial, and so is one that cannot get its other name.
        let _ = self.door.empty("").and_then(|()| match &self.stays {
            None => self.place.remove_folder(&self.name),
            Some(stays) => self.place.rename(&self.name, stays),
        });
    }
}

/// Has ext4 spread the folders that are made in this one over the disk, as it does with those at its top.
///
/// Otherwise they all lie in one group of inodes, and ext4 gives none away again within a minute of its deletion: whoever
/// creates a file looks at all those that were deleted before (0.1 us each), so that a session of many trials would measure how
/// many files it has deleted. Other file systems have no such flag, and a layer that passes none on has its folder spread by
/// the host.
#[cfg(unix)]
pub fn spread_folders(folder: &Path) {
    let Ok(folder) = Door::open_itself(folder) else { return };
    if let Ok(flags) = rustix::fs::ioctl_getflags(&folder) {
        let _ = rustix::fs::ioctl_setflags(&folder, flags | IFlags::TOPDIR);
    }
}

/// Does nothing: NTFS reuses a deleted file's record at once.
#[cfg(windows)]
pub fn spread_folders(_folder: &Path) {}

#[cfg(windows)]
pub fn keep_empty(_place: &Path, _kept: &Path) {}

/// Moves the empty folders that trials let stay from a place that goes into a folder that is made for them and stays longer.
///
/// Whoever is inside may have put anything there: links are not followed, and what is moved is neither opened nor counted on.
#[cfg(unix)]
pub fn keep_empty(place: &Path, kept: &Path) {
    let Ok(from) = Door::open_itself(place) else { return };
    let Ok(entries) = from.list_entries(Path::new("")) else { return };
    let names = entries.into_iter().map(|(name, _)| name);
    let names: Vec<String> = names.filter(|name| name.starts_with(STAYS)).collect();
    let made = || rustix::fs::mkdirat(rustix::fs::CWD, kept, rustix::fs::Mode::RWXU);
    if names.is_empty() || made().is_err_and(|e| e != rustix::io::Errno::EXIST) {
        return;
    }
    let Ok(to) = Door::open_itself(kept) else { return };
    for name in &names {
        // An entry that cannot be moved goes with the place.
        let _ = rustix::fs::renameat(&from, name, &to, name);
    }
}

/// Chooses the name of the folder of a side of a pair.
fn side_name(is_second: bool) -> &'static str {
    if is_second { "tare-trial-b" } else { "tare-trial-a" }
}

/// Recognises the name of a trial's folder: `name` and its sides, each by itself or with a seed and a trial's number after it.
fn is_of_trial(entry: &str, name: &str) -> bool {
    let is_apart = |rest: &str| {
        let numbers = rest.strip_prefix('-').and_then(|rest| rest.split_once('-'));
        let numbers = numbers.and_then(|(seed, trial)| {
            Some((u64::from_str_radix(seed, 16).ok()?, trial.parse::<u64>().ok()?))
        });
        numbers.is_some_and(|(seed, trial)| rest == format!("-{seed:x}-{trial}"))
    };
    let names = [NAME, side_name(false), side_name(true)].into_iter().filter(|known| known.starts_with(name));
    names.filter_map(|known| entry.strip_prefix(known)).any(|rest| rest.is_empty() || is_apart(rest))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_folder_is_fresh_and_goes_away() {
        let place = tempfile::tempdir().unwrap();
        let left = place.path().join(format!("{NAME}-1f-6")).join("deep");
        std::fs::create_dir_all(&left).unwrap();
        std::fs::write(left.join("file"), "left by a trial that was killed").unwrap();
        let folder = Folder::make_fresh(place.path()).unwrap();
        assert!(!left.exists());
        assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 0);
        std::fs::write(folder.path().join("file"), "of this trial").unwrap();
        let path = folder.path().to_owned();
        drop(folder);
        assert!(!path.exists());
        assert_eq!(std::fs::read_dir(place.path()).unwrap().count(), 0);
    }

    #[test]
    fn only_folders_of_trials_are_taken_away() {
        let place = tempfile::tempdir().unwrap();
        let foreign =
            ["results", "-results", "-c", "-a-old", "-1f", "-1f-06", "-1F-6", "-1f-6-x", "-+1-6", "s"];
        for name in foreign {
            std::fs::create_dir_all(place.path().join(format!("{NAME}{name}/deep"))).unwrap();
        }
        std::fs::write(place.path().join(format!("{NAME}-2-2")), "a file").unwrap();
        let left = ["-a", "-b", "-a-1f-6", "-1f-6"].map(|name| place.path().join(format!("{NAME}{name}")));
        left.iter().for_each(|left| std::fs::create_dir_all(left.join("deep")).unwrap());
        drop(Folder::make_for_side(place.path(), false).unwrap());
        assert_eq!(left.each_ref().map(|left| left.exists()), [false, true, false, true]);
        drop(Folder::make_fresh(place.path()).unwrap());
        assert!(left.iter().all(|left| !left.exists()));
        assert_eq!(std::fs::read_dir(place.path()).unwrap().count(), foreign.len() + 1);
        std::fs::write(place.path().join(NAME), "a file").unwrap();
        assert!(Folder::make_fresh(place.path()).unwrap_err().reason.contains("File exists"));
    }

    #[test]
    fn a_folder_apart_is_empty_when_it_stays() {
        let place = tempfile::tempdir().unwrap();
        for trial in [7, 8] {
            let folder = Folder::make_apart(place.path(), None, (1, trial)).unwrap();
            std::fs::create_dir(folder.path().join("deep")).unwrap();
            std::fs::write(folder.path().join("deep/file"), "of this trial").unwrap();
        }
        for stays in [7, 8].map(|trial| place.path().join(format!("{STAYS}-1-{trial}"))) {
            assert_eq!(std::fs::read_dir(stays).unwrap().count(), 0);
        }
        assert_eq!(std::fs::read_dir(place.path()).unwrap().count(), 2);
        let longer = tempfile::tempdir().unwrap();
        keep_empty(place.path(), &longer.path().join("kept"));
        let count = |folder: &Path| std::fs::read_dir(folder).unwrap().count();
        assert_eq!((count(place.path()), count(&longer.path().join("kept"))), (0, 2));
        std::os::unix::fs::symlink(longer.path().join("kept"), place.path().join("link")).unwrap();
        keep_empty(&place.path().join("link"), &longer.path().join("again"));
        assert_eq!(count(&longer.path().join("kept")), 2, "a link is not followed");
    }

    #[test]
    fn a_missing_place_is_named() {
        let failure = Folder::make_fresh(Path::new("/no/such/place")).unwrap_err();
        assert_eq!(
            failure.reason,
            "making a folder in /no/such/place: No such file or directory (os error 2)"
        );
    }
}
