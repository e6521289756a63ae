//! Folders of this command, and what killed runs left of them.

use std::ffi::OsStr;
use std::path::Path;

use tare_paths::marked::{self, LeftOver};

/// Beginning of the names of all these folders.
const PREFIX: &str = "tare-here-";
/// Words for the use of a folder, with which its name ends.
pub const FILES: &str = "files";
pub const PRICES: &str = "prices";
pub const COMMAND: &str = "command";
/// Age in s from which another run's folder is left over. None is used for as long, and not every lock reaches those who share a folder.
const LEFT_OVER_S: i64 = 60;

/// Returns a run's name, from its process and the moment when it began: those that begin at the same moment have other numbers.
pub fn name_run(process: i32, began_ns: u64) -> String {
    format!("{PREFIX}{process}-{began_ns:x}")
}

/// Recognises a name exactly as a run gives it to a folder, and returns the run's own.
fn find_run(name: &str) -> Option<&str> {
    let (run, used_for) = name.rsplit_once('-')?;
    let (process, began) = run.strip_prefix(PREFIX)?.split_once('-')?;
    let (process, began_ns) = (process.parse().ok()?, u64::from_str_radix(began, 16).ok()?);
    let is_exact = process > 0 && name_run(process, began_ns) == run;
    (is_exact && [FILES, PRICES, COMMAND].contains(&used_for)).then_some(run)
}

/// Removes folders that this run and earlier ones left in a place because they were killed. Tells of those of earlier ones, and of all
/// that stay.
pub fn remove_left(place: &Path, run: &str) -> Vec<LeftOver> {
    let mut left =
        marked::remove_left(place, |name| Some(if find_run(name)? == run { 0 } else { LEFT_OVER_S }));
    let is_own = |folder: &Path| folder.file_name().and_then(OsStr::to_str).and_then(find_run) == Some(run);
    left.retain(|left| left.left_because.is_some() || !is_own(&left.folder));
    left
}

/// Removes folders in a place whose run was killed.
pub fn remove_left_over(place: &Path) -> Vec<LeftOver> {
    marked::remove_left(place, |name| find_run(name).map(|_| LEFT_OVER_S))
}

#[cfg(test)]
mod tests {
    use std::fs;

    use tare_paths::marked::{MARKER, MarkedFolder};

    use super::*;
    use crate::harness::child::Child;
    use crate::probes::tests::take_turn;

    fn name(moment: u64) -> String {
        format!("{}-{FILES}", name_run(7, moment))
    }

    fn plant(folder: &Path) {
        fs::create_dir_all(folder.join("deep")).unwrap();
        fs::write(folder.join("deep/file"), "left").unwrap();
        fs::write(folder.join(MARKER), "").unwrap();
    }

    fn sweep_all(place: &Path) -> Vec<LeftOver> {
        marked::remove_left(place, |name| find_run(name).map(|_| 0))
    }

    #[test]
    fn names_are_recognised_whole() {
        assert_eq!(find_run("tare-here-12-7f-files"), Some("tare-here-12-7f"));
        assert_eq!(find_run("tare-here-12-7f-command"), Some("tare-here-12-7f"));
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
        let _turn = take_turn();
        let place = tempfile::tempdir().unwrap();
        let path = place.path().join(name(1));
        let (own, of) = (place.path().to_owned(), path.clone());
        let run = Child::fork(&[], move || {
            let folder = MarkedFolder::make(&own, &name(1)).unwrap();
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
        drop(MarkedFolder::make(place.path(), &name(1)).unwrap());
        (1..3).for_each(|moment| plant(&place.path().join(name(moment))));
        assert_eq!(remove_left(place.path(), &name_run(7, 1)), []);
        let left: Vec<_> =
            fs::read_dir(place.path()).unwrap().map(|entry| entry.unwrap().file_name()).collect();
        assert_eq!(left, [name(2).as_str()]);
    }
}
