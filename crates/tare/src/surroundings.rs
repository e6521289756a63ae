//! This machine as words are read on it: its programs, the user's own environments, and records.

use std::env;
use std::fs;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use crate::commands::own_launchers::list_own_launchers;
use crate::paths;

/// Limit on the entries of a folder in which records are looked for.
const MOST_ENTRIES: usize = 10_000;

/// Tells whether a word names a program, in PATH or by its path.
pub fn is_program(word: &str) -> bool {
    let whole = match word.contains('/') {
        true => env::current_dir().map(|folder| folder.join(word)).unwrap_or_default().display().to_string(),
        false => word.to_owned(),
    };
    !whole.is_empty() && paths::find_programs().is_ok_and(|programs| programs.find(&whole).is_some())
}

/// Tells whether a word names a launcher in the user's configuration.
pub fn is_own_environment(word: &str) -> bool {
    list_own_launchers().iter().any(|(name, _)| name == word)
}

/// Lists the records of a folder, the newest first, with those of commands that worked in it; none where it is not one.
pub fn list_records(folder: &str) -> Option<Vec<String>> {
    let here = fs::read_dir(folder).ok()?.take(MOST_ENTRIES);
    let elsewhere = find_records_folder(folder).and_then(|apart| fs::read_dir(apart).ok());
    let entries = here.chain(elsewhere.into_iter().flatten().take(MOST_ENTRIES));
    let entries = entries.filter_map(Result::ok).map(|entry| entry.path());
    let records = entries.filter(|path| path.extension().is_some_and(|ending| ending == "tare"));
    let age =
        |path: &PathBuf| path.metadata().and_then(|about| about.modified()).unwrap_or(SystemTime::UNIX_EPOCH);
    let mut records: Vec<PathBuf> = records.filter(|path| path.is_file()).collect();
    records.sort_by_key(|path| (std::cmp::Reverse(age(path)), path.clone()));
    Some(records.iter().filter_map(|path| show_path(path)).collect())
}

/// Finds the folder with this user's records of commands that worked in a folder.
pub fn find_records_folder(folder: &str) -> Option<PathBuf> {
    paths::find_records_folder(&Path::new(folder).canonicalize().ok()?)
}

/// Writes the path of a file as an argument: without `./`, unless it would be an option then.
fn show_path(path: &Path) -> Option<String> {
    let bare = path.strip_prefix(".").unwrap_or(path).to_str()?;
    Some(if bare.starts_with('-') { format!("./{bare}") } else { bare.to_owned() })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_that_begins_with_a_dash_stays_a_path() {
        let shown = ["./-w.tare", "./new.tare", "a/-w.tare"].map(|path| show_path(Path::new(path)).unwrap());
        assert_eq!(shown, ["./-w.tare", "new.tare", "a/-w.tare"]);
    }
}
