//! The user's own files and folders, under names that begin as tare's do: none is removed, replaced or changed.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use crate::program::Program;

/// Patterns of names that tare gives to files and folders in scratch folders, working folders, places, and folders of the system. `{}` is a
/// text that nobody else has, and `{hex}` is one of the shape of a session.
const EVERYWHERE: [&str; 19] = [
    "tare-here-{}",
    "tare-here-{}.json",
    "tare-here-4711-{hex}",
    "tare-{}",
    "tare-{hex}",
    "tare-{hex}-00001",
    "tare-state-{}",
    "tare-job-{}",
    "tare-command-{}",
    "tare-trial-{}",
    "tare-carried-{}",
    "tare-setup-{}",
    "tare-demand-{}",
    "tare-turns-{}",
    ".tare-{}",
    ".tare-{hex}",
    ".tare-empty-{}",
    ".tare-look-{}",
    ".tare-neighbour-{}",
];
/// Patterns of names in the state folder, where tare has journals and a list.
const IN_STATE: [&str; 5] = ["{}.journal.txt", "begun-{}", "{hex}", "tare-{hex}", "notes-{}"];
/// Patterns of names in the cache, where tare has kernels.
const IN_CACHE: [&str; 3] = ["kernel-{}", "kernel-{}.deb", "tare-{hex}"];
/// Folders of the system in which `tare here` tries file systems, and sessions work.
const OF_SYSTEM: [&str; 3] = ["/tmp", "/var/tmp", "/dev/shm"];
const PRECIOUS: &str = "four years of work\n";
/// Age of all that is planted: tare removes nothing that is younger than a minute.
const AGE: Duration = Duration::from_secs(7200);

/// Planted files and folders, removed when dropped.
struct Planted(Vec<PathBuf>);

impl Planted {
    /// Plants each name in a folder twice, in two spellings: as a file, and as a folder that has one.
    fn plant(&mut self, folder: &Path, names: &[&str]) {
        let unique = tempfile::Builder::new().rand_bytes(12).tempfile().unwrap();
        let unique = unique.path().file_name().unwrap().to_str().unwrap().trim_start_matches('.').to_owned();
        let hex = |kind: char| format!("{:015x}{kind}", std::process::id());
        fs::create_dir_all(folder).unwrap();
        for name in names {
            let named = |kind: char| {
                folder.join(name.replace("{}", &format!("{unique}{kind}")).replace("{hex}", &hex(kind)))
            };
            let (file, below) = (named('a'), named('b'));
            fs::write(&file, PRECIOUS).unwrap();
            fs::create_dir(&below).unwrap();
            fs::write(below.join("thesis"), PRECIOUS).unwrap();
            for path in [&file, &below.join("thesis"), &below] {
                let opened = fs::File::open(path).unwrap();
                opened.set_modified(SystemTime::now() - AGE).unwrap();
            }
            self.0.extend([file, below]);
        }
    }

    /// Lists all that is planted, with what is in it and when it was changed.
    fn look(&self) -> BTreeMap<PathBuf, String> {
        let mut found = BTreeMap::new();
        for path in &self.0 {
            for path in [path.clone(), path.join("thesis")] {
                let Ok(about) = fs::symlink_metadata(&path) else { continue };
                let text = if about.is_file() { fs::read_to_string(&path).unwrap() } else { String::new() };
                found
                    .insert(path, format!("{text}{:?} {:?}", about.permissions(), about.modified().unwrap()));
            }
        }
        found
    }
}

impl Drop for Planted {
    fn drop(&mut self) {
        for path in &self.0 {
            let _ = if path.is_dir() { fs::remove_dir_all(path) } else { fs::remove_file(path) };
        }
    }
}

#[test]
fn nothing_of_the_users_goes_whatever_its_name() {
    let program = Program::new();
    let (home, place) = (program.path("home"), program.path("place"));
    let mut planted = Planted(Vec::new());
    for folder in OF_SYSTEM.iter().map(Path::new).filter(|folder| folder.is_dir()) {
        planted.plant(folder, &EVERYWHERE);
    }
    for folder in [program.path(""), place.clone(), home.clone()] {
        planted.plant(&folder, &EVERYWHERE);
    }
    planted.plant(&program.path("state/tare"), &IN_STATE);
    planted.plant(&program.path("cache/tare"), &IN_CACHE);
    let before = planted.look();
    let place = place.to_str().unwrap();
    let run =
        ["run", "--in", "native,container", "--only", "null,file.meta", "--rounds", "1", "--place", place];
    for words in [
        &["here"][..],
        &["here", "--json"],
        &["here", "--thorough"],
        &["check", "--in", "native,container", "--scratch", "."],
        &run,
        &["clean"],
        &["environment", "remove", "qemu"],
    ] {
        let mut command = program.tare_command(words);
        command.env("HOME", &home).env("XDG_CACHE_HOME", program.path("cache")).env("TMPDIR", &home);
        let output = command.output().unwrap();
        assert!(output.status.success(), "{words:?}: {output:?}");
        let after = planted.look();
        let lost: Vec<_> = before.iter().filter(|(path, was)| after.get(*path) != Some(was)).collect();
        assert!(lost.is_empty(), "tare {words:?} changed {lost:#?}");
    }
}
