//! Merging trials: turns the columns that nodes wrote next to their records into a few large files, in one
//! folder per kind of node. Files that are already full are not read again.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use sha2::{Digest, Sha256};
use tare_data::encoding::encode_hex;
use tare_lab::error::{ErrorKind, LabError};
use tare_paths::door::{Door, Kind};
use tare_report::fleet::store::{Source, Stored};
use tare_report::fleet::trials::{Merged, Trials};

use super::gathered::{read_footer, remake_columns};

/// Maximum size of a session's file, enough for a million rows.
const LONGEST: u64 = 256 << 20;
/// Maximum number of bytes of a kind in the name of its folder: file names have 255 at most.
const LONGEST_KIND: usize = 200;
/// Number of hash digits that replace the rest of a longer kind.
const OF_HASH: usize = 16;

/// Builds the path of a fleet's merged trials, in its folder.
fn trial_store_path() -> PathBuf {
    Path::new("store").join("trials")
}

/// Merges new trials, and removes files of sessions that no longer exist.
pub fn merge_trials(fleet: &Door, stored: &[Stored]) -> Result<(), LabError> {
    let mut kinds: BTreeMap<&str, BTreeMap<Source, &Stored>> = BTreeMap::new();
    for of in stored {
        kinds.entry(of.kind()).or_default().insert(of.source(), of);
    }
    let place = trial_store_path();
    let mut known = BTreeSet::new();
    for (kind, sessions) in kinds {
        let of_kind = place.join(folder_of(kind));
        fleet.make_folder(&of_kind).map_err(LabError::storage_error("write", &fleet.join(&of_kind)))?;
        merge_kind(fleet, &of_kind, kind, sessions)?;
        known.insert(of_kind);
    }
    let folders = fleet.list_entries(&place).unwrap_or_default().into_iter();
    let old = folders.filter(|(_, kind)| *kind == Kind::Folder).map(|(name, _)| place.join(name));
    for of_kind in old.filter(|path| !known.contains(path)) {
        files_of(fleet, &of_kind).iter().try_for_each(|file| remove(fleet, file))?;
        // A folder in which somebody else keeps something stays.
        let _ = fleet.remove_folder(&of_kind);
    }
    Ok(())
}

fn merge_kind(
    fleet: &Door,
    place: &Path,
    kind: &str,
    mut sessions: BTreeMap<Source, &Stored>,
) -> Result<(), LabError> {
    let mut others = files_of(fleet, place);
    let mut lasts = Vec::new();
    for file in others.clone() {
        let merged = read_footer(fleet, &file).and_then(|footer| Merged::from_footer(&footer));
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
            .find(|name| others.remove(name) || fleet.look_at(name).is_err())
            .expect("numbers do not end");
        write(fleet, &free, &trials.into_file(kind))
    };
    let mut sessions: Vec<&Stored> = sessions.into_values().collect();
    sessions.sort_by_cached_key(|of| of.node_and_number());
    for of in sessions {
        add(&mut trials, fleet, of)?;
        if trials.is_full() {
            write(std::mem::take(&mut trials))?;
        }
    }
    if !trials.is_empty() {
        write(trials)?;
    }
    others.iter().try_for_each(|old| remove(fleet, old))
}

/// Adds a session by its columns; where these are damaged, by those that follow from its record.
fn add(trials: &mut Trials, fleet: &Door, of: &Stored) -> Result<(), LabError> {
    let file = Path::new(&of.file);
    let read = fleet.read_bytes(file, LONGEST).map_err(|e| e.to_string());
    if read.and_then(|bytes| trials.add_session(of, bytes)).is_ok() {
        return Ok(());
    }
    let failed = |why: String| {
        LabError::new(ErrorKind::Record, format!("cannot merge {}", fleet.join(file).display()))
            .with_cause(why)
    };
    remake_columns(fleet, &file.with_extension("tare"), file)
        .and_then(|(bytes, _)| trials.add_session(of, bytes))
        .map_err(failed)
}

/// Lists the merged files, recognised by their names. Any other file is left alone.
fn files_of(fleet: &Door, folder: &Path) -> BTreeSet<PathBuf> {
    let is_ours = |name: &str| {
        let stem = name.strip_suffix(".parquet").unwrap_or_default();
        stem.len() >= 4 && stem.bytes().all(|byte| byte.is_ascii_digit())
    };
    let entries = fleet.list_entries(folder).unwrap_or_default().into_iter();
    let files = entries.filter(|(name, kind)| *kind == Kind::File && is_ours(name));
    files.map(|(name, _)| folder.join(name)).collect()
}

/// Writes a file of the store.
pub fn write(fleet: &Door, file: &Path, bytes: &[u8]) -> Result<(), LabError> {
    fleet.write_file(file, bytes).map_err(LabError::storage_error("write", &fleet.join(file)))
}

fn remove(fleet: &Door, file: &Path) -> Result<(), LabError> {
    fleet.remove_file(file).map_err(LabError::storage_error("remove", &fleet.join(file)))
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
