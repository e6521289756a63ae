//! Folders that killed runs of `tare here` left: they go and are named, and nothing else goes.

#![allow(unsafe_code, reason = "a filter of system calls is set by calls")]

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::iter;
use std::os::unix::fs::symlink;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::time::{Duration, SystemTime};

use super::{document, refuse_call};

const LEFT: &str = "tare-here-12-7f-files";
const MARKER: &str = ".tare-in-use";

/// A working folder and one for temporary files, with the commands that look into both.
struct Folders(tempfile::TempDir);

impl Folders {
    fn make() -> Folders {
        let folders = Folders(tempfile::tempdir().unwrap());
        ["work", "tmp", "state"].iter().for_each(|name| fs::create_dir(folders.at(name)).unwrap());
        folders
    }

    fn at(&self, path: &str) -> PathBuf {
        self.0.path().join(path)
    }

    fn command(&self, words: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_tare"));
        command.args(words).current_dir(self.at("work")).env("LC_ALL", "C");
        command.env("TMPDIR", self.at("tmp")).env("XDG_STATE_HOME", self.at("state"));
        command
    }

    fn run(&self, words: &[&str]) -> Output {
        self.command(words).output().unwrap()
    }

    /// Makes a folder as a run leaves it, an hour ago, and returns its path.
    fn plant(&self, path: &str) -> PathBuf {
        let folder = self.at(path);
        fs::create_dir_all(folder.join("deep")).unwrap();
        fs::write(folder.join("deep/sync"), "left").unwrap();
        fs::write(folder.join(MARKER), "").unwrap();
        make_old(&folder);
        folder
    }
}

fn make_old(path: &Path) {
    let old = SystemTime::now() - Duration::from_secs(3600);
    File::open(path).unwrap().set_modified(old).unwrap();
}

/// Tells whether the step that tidies had its time: a disk that others keep busy may have none for it.
fn has_tidied(output: &Output) -> bool {
    !document(output)["lost"].to_string().contains("tidying")
}

/// Lists everything below a folder, with the content of files.
fn list_all(folder: &Path) -> BTreeMap<PathBuf, Option<Vec<u8>>> {
    let mut all = BTreeMap::new();
    for entry in fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()) {
        if entry.is_dir() && !entry.is_symlink() {
            all.extend(list_all(&entry));
        }
        all.insert(entry.clone(), fs::read(&entry).ok());
    }
    all
}

#[test]
fn what_a_user_has_stays_whatever_its_name_begins_with() {
    let folders = Folders::make();
    for place in ["work", "tmp"] {
        for name in ["project", "1-2-mine", "1-2-files-old", "01-2-files", "+1-2-files", "1-zz-files", "1-2"]
        {
            folders.plant(&format!("{place}/tare-here-{name}"));
        }
        let unmarked = folders.plant(&format!("{place}/tare-here-3-4-files"));
        fs::remove_file(unmarked.join(MARKER)).unwrap();
        make_old(&unmarked);
        let other = folders.plant(&format!("{place}/other"));
        symlink(other, folders.at(place).join("tare-here-5-6-prices")).unwrap();
        for file in ["tare-here-laptop.json", "tare-here-notes.txt", "tare-here-7-8-files"] {
            fs::write(folders.at(place).join(file), "mine").unwrap();
            make_old(&folders.at(place).join(file));
        }
    }
    let before = [folders.at("work"), folders.at("tmp")].map(|place| list_all(&place));
    for words in [&["here", "--json"][..], &["clean"], &["here", "--thorough"]] {
        let output = folders.run(words);
        assert!(output.status.success() && output.stderr.is_empty(), "{output:?}");
        assert_eq!(
            [folders.at("work"), folders.at("tmp")].map(|place| list_all(&place)),
            before,
            "{words:?}"
        );
    }
}

#[test]
fn a_folder_of_a_killed_run_goes_and_is_named() {
    let folders = Folders::make();
    let tidy = || {
        let left = folders.plant(&format!("work/{LEFT}"));
        (left, folders.run(&["here", "--json"]))
    };
    let (left, output) =
        (0..5).map(|_| tidy()).find(|(_, output)| has_tidied(output)).expect("a quiet moment");
    assert!(!left.exists() && document(&output).is_object(), "{output:?}");
    let told = format!("note: {}: removed, since", left.display());
    assert!(String::from_utf8_lossy(&output.stderr).contains(&told), "{output:?}");
    let left = [folders.plant(&format!("tmp/{LEFT}")), folders.plant(&format!("work/{LEFT}"))];
    let output = folders.run(&["clean"]);
    for folder in left {
        assert!(!folder.exists());
        let told = format!("removed  folder {}\n", folder.display());
        assert!(String::from_utf8_lossy(&output.stdout).contains(&told), "{output:?}");
    }
}

#[test]
fn a_folder_stays_while_its_marker_is_locked() {
    let folders = Folders::make();
    let used = folders.plant(&format!("work/{LEFT}"));
    let marker = File::open(used.join(MARKER)).unwrap();
    marker.lock().unwrap();
    for words in [&["here", "--json"][..], &["clean"]] {
        let output = folders.run(words);
        assert!(output.status.success() && output.stderr.is_empty(), "{output:?}");
        assert!(used.join("deep/sync").exists(), "{words:?}");
    }
    // A child that another test forks has the same open file until its `exec`.
    marker.unlock().unwrap();
    assert!(folders.run(&["clean"]).status.success() && !used.exists());
}

#[test]
fn a_folder_stays_where_locks_are_refused() {
    let folders = Folders::make();
    let left = folders.plant(&format!("work/{LEFT}"));
    let run = |words: &[&str]| {
        let mut command = folders.command(words);
        // SAFETY: system calls alone, between fork and exec.
        unsafe { command.pre_exec(|| refuse_call(libc::SYS_flock, libc::ENOLCK)) };
        let output = command.output();
        output.inspect_err(|e| println!("SKIPPED locks: no filter of system calls is taken: {e}")).ok()
    };
    let Some(first) = run(&["here", "--json"]) else { return };
    let again = iter::repeat_with(|| run(&["here", "--json"]).unwrap()).take(4);
    let output = iter::once(first).chain(again).find(has_tidied).expect("a quiet moment");
    assert!(left.join("deep/sync").exists() && document(&output).is_object(), "{output:?}");
    let told = format!("{LEFT}: it stays, since");
    assert!(String::from_utf8_lossy(&output.stderr).contains(&told), "{output:?}");
    let output = run(&["clean"]).unwrap();
    assert!(left.join("deep/sync").exists() && output.status.code() == Some(3), "{output:?}");
    assert!(String::from_utf8_lossy(&output.stdout).contains("cannot be locked"), "{output:?}");
    assert!(folders.run(&["clean"]).status.success() && !left.exists());
}
