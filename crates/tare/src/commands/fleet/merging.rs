//! Merging trials: turns the columns that nodes wrote next to their records into a few large files, in one
//! folder per kind of node. Files that are already full are not read again.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

use sha2::{Digest, Sha256};
use tare_data::encoding::encode_hex;
use tare_lab::error::{ErrorKind, LabError};
use tare_record::input;
use tare_report::fleet::store::{Source, Stored};
use tare_report::fleet::trials::{Merged, Trials};

use super::gathered::{read_footer, remake_columns};
use crate::outputs;

/// Maximum size of a session's file, enough for a million rows.
const LONGEST: u64 = 256 << 20;
/// Maximum number of bytes of a kind in the name of its folder: file names have 255 at most.
const LONGEST_KIND: usize = 200;
/// Number of hash digits that replace the rest of a longer kind.
const OF_HASH: usize = 16;

/// Builds the path of a fleet's merged trials.
pub fn trial_store_path(folder: &Path) -> PathBuf {
    folder.join("store").join("trials")
}

/// Merges new trials, and removes files of sessions that no longer exist.
pub fn merge_trials(folder: &Path, stored: &[Stored]) -> Result<(), LabError> {
    let mut kinds: BTreeMap<&str, BTreeMap<Source, &Stored>> = BTreeMap::new();
    for of in stored {
        kinds.entry(of.kind()).or_default().insert(of.source(), of);
    }
    let place = trial_store_path(folder);
    let mut known = BTreeSet::new();
    for (kind, sessions) in kinds {
        let of_kind = place.join(folder_of(kind));
        fs::create_dir_all(&of_kind).map_err(LabError::storage_error("make", &of_kind))?;
        if let Some(link) =
            [&folder.join("store"), &place, &of_kind].into_iter().find(|path| !is_folder(path))
        {
            return Err(LabError::new(ErrorKind::Storage, format!("{} is not a folder", link.display())));
        }
        merge_kind(folder, &of_kind, kind, sessions)?;
        known.insert(of_kind);
    }
    let old = names_in(&place).filter(|path| is_folder(path) && !known.contains(path));
    for of_kind in old.collect::<Vec<_>>() {
        files_of(&of_kind).iter().try_for_each(|file| remove(file))?;
        // One in which somebody else keeps something stays.
        let _ = fs::remove_dir(&of_kind);
    }
    Ok(())
}

fn merge_kind(
    folder: &Path,
    place: &Path,
    kind: &str,
    mut sessions: BTreeMap<Source, &Stored>,
) -> Result<(), LabError> {
    let mut others = files_of(place);
    let mut lasts = Vec::new();
    for file in others.clone() {
        let merged = read_footer(&file).and_then(|footer| Merged::from_footer(&footer));
        let is_known = |merged: &Merged| merged.sources.iter().all(|source| sessions.contains_key(source));
        match merged.filter(|merged| merged.kind == kind && is_known(merged)) {
            Some(merged) if merged.is_full() => {
                for source in &merged.sources {
                    sessions.remove(source);
                }
                others.remove(&file);
            }
            Some(merged) => lasts.push((file, merged.sources)),
            None => {}
        }
    }
    // A file that is not full is rewritten with the trials that came since.
    if let [(file, sources)] = lasts.as_slice()
        && sources.len() == sessions.len()
        && sources.iter().all(|source| sessions.contains_key(source))
    {
        others.remove(file);
        sessions.clear();
    }
    let mut trials = Trials::default();
    let mut names = (0..).map(|number| place.join(format!("{number:04}.parquet")));
    let mut write = |trials: Trials| {
        let free = names
            .find(|name| others.remove(name) || name.symlink_metadata().is_err())
            .expect("numbers do not end");
        outputs::write_within(folder, &free, &trials.into_file(kind))
    };
    let mut sessions: Vec<&Stored> = sessions.into_values().collect();
    sessions.sort_by_cached_key(|of| of.node_and_number());
    for of in sessions {
        add(&mut trials, folder, of)?;
        if trials.is_full() {
            write(std::mem::take(&mut trials))?;
        }
    }
    if !trials.is_empty() {
        write(trials)?;
    }
    others.iter().try_for_each(|old| remove(old))
}

/// Adds a session by its columns; where these are damaged, by those that follow from its record.
fn add(trials: &mut Trials, folder: &Path, of: &Stored) -> Result<(), LabError> {
    let file = folder.join(&of.file);
    let read = input::read_bytes(&file, LONGEST).map_err(|e| e.to_string());
    if read.and_then(|bytes| trials.add_session(of, bytes)).is_ok() {
        return Ok(());
    }
    let failed = |why: String| {
        LabError::new(ErrorKind::Record, format!("cannot merge {}", file.display())).with_cause(why)
    };
    remake_columns(folder, &file.with_extension("tare"), &file)
        .and_then(|(bytes, _)| trials.add_session(of, bytes))
        .map_err(failed)
}

fn names_in(folder: &Path) -> impl Iterator<Item = PathBuf> {
    fs::read_dir(folder).into_iter().flatten().flatten().map(|entry| entry.path())
}

/// Lists the merged files, recognised by their names. Any other file is left alone.
fn files_of(folder: &Path) -> BTreeSet<PathBuf> {
    let is_ours = |path: &PathBuf| {
        let stem = path.file_stem().and_then(|stem| stem.to_str()).unwrap_or_default();
        let is_number = stem.len() >= 4 && stem.bytes().all(|byte| byte.is_ascii_digit());
        let is_file = path.symlink_metadata().is_ok_and(|about| about.is_file());
        is_number && is_file && path.extension().is_some_and(|ending| ending == "parquet")
    };
    names_in(folder).filter(is_ours).collect()
}

/// Tells whether a path is a folder and not a link, which could lead out of the fleet's folder.
fn is_folder(path: &Path) -> bool {
    fs::symlink_metadata(path).is_ok_and(|about| about.is_dir())
}

fn remove(file: &Path) -> Result<(), LabError> {
    fs::remove_file(file).map_err(LabError::storage_error("remove", file))
}

/// Turns a kind into a folder name in Hive's partition style, which other programs read: `kind=EPYC%2C 8
/// CPUs`.
fn folder_of(kind: &str) -> String {
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-_. ".contains(&byte);
    let one = |byte: u8| if plain(byte) { char::from(byte).to_string() } else { format!("%{byte:02X}") };
    let mut name: String = kind.bytes().map(one).collect();
    if name.len() > LONGEST_KIND {
        name.truncate(LONGEST_KIND - OF_HASH);
        name.push_str(&encode_hex(&Sha256::digest(kind))[..OF_HASH]);
    }
    format!("kind={name}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_kind_is_the_name_of_a_folder_whatever_it_holds() {
        assert_eq!(folder_of("EPYC 7, 8 CPUs"), "kind=EPYC 7%2C 8 CPUs");
        assert_eq!(folder_of("../\u{e9}\n"), "kind=..%2F%C3%A9%0A");
        let (a, b) = (folder_of(&"x/".repeat(200)), folder_of(&"x/".repeat(201)));
        assert!(a.len() == b.len() && a.len() < 255 && a != b, "{a} {b}");
    }
}
