//! Paths: the locations of tare's files. Only this module reads environment variables for them.

use std::env;
use std::path::{Path, PathBuf};

use tare_data::encoding::clip_text;
use tare_data::session::outcome::hash_bytes;
use tare_lab::error::{ErrorKind, LabError};
use tare_lab::host::programs::Programs;
use tare_lab::ownership::workspace::serves_as_scratch;
use tare_lab::session::Setting;
use tare_lab::storage::places::Wanted;
use tare_report::text::plain_line;

use crate::invocation::find_binary;
use crate::platform;

/// Bytes of a folder's name that the name of its records has: with the hash behind them a name has at most 143 also where it is encrypted
/// (eCryptfs).
const LONGEST_NAME: usize = 100;
/// Folder that holds the folders of records, beside the journals.
const RECORDS: &str = "records";

/// Finds the folder of the journals in which sessions record everything that they create:
/// `$XDG_STATE_HOME/tare`, else `~/.local/state/tare`, on Windows `%LOCALAPPDATA%\\tare`.
pub fn find_state_folder() -> Result<PathBuf, LabError> {
    let named = env::var_os("XDG_STATE_HOME").map(PathBuf::from).filter(|path| path.is_absolute());
    named.or_else(|| home().map(|home| home.join(platform::STATE))).map(|path| path.join("tare")).ok_or_else(|| {
        LabError::new(ErrorKind::Storage, "there is no folder for journals")
            .with_cause("neither XDG_STATE_HOME nor HOME names one: HOME must be the absolute path of an existing folder")
            .with_hint("set XDG_STATE_HOME to a folder that you may write")
    })
}

/// Finds the folder for records of commands that work in a folder, and would find them there: beside the journals, with that folder's
/// name and a hash of its path. It need not be there.
pub fn find_records_folder(of: &Path) -> Option<PathBuf> {
    Some(find_state_folder().ok()?.join(RECORDS).join(name_records_folder(of)))
}

/// Tells whether a folder is one for records of commands that work elsewhere.
pub fn is_records_folder(folder: &Path) -> bool {
    let all = find_state_folder().map(|state| state.join(RECORDS));
    all.is_ok_and(|all| folder.parent() == Some(&*all))
}

fn name_records_folder(of: &Path) -> String {
    let name = clip_text(plain_line(&of.file_name().unwrap_or_default().to_string_lossy()), LONGEST_NAME);
    format!("{name}-{:013x}", hash_bytes(of.as_os_str().as_encoded_bytes()))
}

/// Finds the home folder if it is an absolute path that exists. Otherwise nothing is created or read there.
pub fn home() -> Option<PathBuf> {
    env::var_os(platform::HOME).map(PathBuf::from).filter(|home| home.is_absolute() && home.is_dir())
}

/// Finds the default scratch folder: the first in which files can be made and programs started, one on a disk before one in memory.
pub fn find_scratch_folder() -> PathBuf {
    let usual = platform::find_scratch_folder();
    let others = home().into_iter().chain(env::current_dir()).chain([env::temp_dir()]);
    let all: Vec<PathBuf> = std::iter::once(usual.clone()).chain(others).collect();
    let serves =
        |folder: &&PathBuf, needs_disk| platform::may_write(folder) && serves_as_scratch(folder, needs_disk);
    let on_disk = all.iter().find(|folder| serves(folder, true));
    on_disk.or_else(|| all.iter().find(|folder| serves(folder, false))).cloned().unwrap_or(usual)
}

/// Builds the fallback path of the journals, in the scratch folder with the user's ID. It is used if the
/// usual folder cannot be created, e.g. in a container with no home and a read-only root.
fn state_in(scratch: &Path) -> PathBuf {
    scratch.join(format!("tare-state-{}", platform::get_user_id()))
}

/// Finds the folder of journals for sessions in this scratch folder.
fn state_for(scratch: &Path) -> Result<PathBuf, LabError> {
    match find_state_folder() {
        Ok(usual) if can_be_made(&usual) => Ok(usual),
        _ if can_be_made(&state_in(scratch)) => Ok(state_in(scratch)),
        unusable => unusable,
    }
}

/// Lists the folders that may contain journals: the usual one, and the one in the scratch folder if it
/// exists.
pub fn list_state_folders() -> Result<Vec<PathBuf>, LabError> {
    let other = Some(state_in(&find_scratch_folder())).filter(|folder| folder.is_dir());
    match (find_state_folder(), other) {
        (Ok(usual), other) => Ok(std::iter::once(usual).chain(other).collect()),
        (Err(_), Some(other)) => Ok(vec![other]),
        (Err(error), None) => Err(error),
    }
}

/// Tells whether a folder is writable or could be created, and its files locked, without creating anything.
pub fn can_be_made(folder: &Path) -> bool {
    let there = folder.ancestors().find(|path| path.exists());
    there.is_some_and(|there| platform::may_write(there) && platform::may_lock(there))
}

/// Builds the setting of a session, with `scratch` as the scratch folder unless another is named.
pub fn make_setting(named: Option<&Path>) -> Result<Setting, LabError> {
    let scratch = named.map_or_else(find_scratch_folder, Path::to_owned);
    let state = state_for(&scratch)?;
    let works_in = (named.is_none() && scratch != platform::find_scratch_folder())
        .then(|| format!("the session works in {}", scratch.display()));
    let keeps_in = find_state_folder()
        .is_ok_and(|usual| usual != state)
        .then(|| format!("its journal is in {}", state.display()));
    let moved: Vec<String> = works_in.into_iter().chain(keeps_in).collect();
    let moved = (!moved.is_empty())
        .then(|| format!("{}: the usual folder cannot be written or locked", moved.join(", ")));
    Ok(Setting {
        state,
        scratch,
        moved,
        binary: find_binary()?,
        wanted: Wanted::default(),
        programs: find_programs()?,
    })
}

/// Expands `%h` (host name), `%t` (time), `%r` (random hex digits) and `%%` in the name of a record.
pub fn record_named(pattern: &Path) -> Result<PathBuf, LabError> {
    let Some(text) = pattern.to_str().filter(|text| text.contains('%')) else {
        return Ok(pattern.to_owned());
    };
    let unknown = |what: &str| {
        LabError::usage_error(format!("'{what}' in the record's name {text} has no meaning"))
            .with_hint("%h is the host name, %t the time, %r random digits, and %% a percent sign")
    };
    let mut named = String::new();
    let mut letters = text.chars();
    while let Some(letter) = letters.next() {
        if letter != '%' {
            named.push(letter);
            continue;
        }
        match letters.next() {
            Some('%') => named.push('%'),
            Some('h') => named.push_str(&host_name()),
            Some('t') => {
                named.push_str(&jiff::ZonedDateTime::now().strftime("%Y-%m-%dT%H-%M-%S").to_string())
            }
            Some('r') => named.push_str(&fresh_digits()?),
            Some(other) => return Err(unknown(&format!("%{other}"))),
            None => return Err(unknown("%")),
        }
    }
    Ok(named.into())
}

/// Returns the host name, without characters that could leave the folder.
fn host_name() -> String {
    let name = platform::host_name();
    let plain = |c: char| if c.is_ascii_alphanumeric() || c == '-' || c == '.' { c } else { '_' };
    name.chars().map(plain).collect()
}

fn fresh_digits() -> Result<String, LabError> {
    let mut bytes = [0; 4];
    platform::fill_random(&mut bytes)
        .map_err(|e| LabError::new(ErrorKind::Host, "cannot draw random digits").with_cause(e))?;
    Ok(format!("{:08x}", u32::from_le_bytes(bytes)))
}

/// Locates external programs, this program's own file and the prepared files of environments. Those are in
/// `$XDG_CACHE_HOME/tare`, else in `~/.cache/tare`, and never in a folder that other users could have
/// created.
pub fn find_programs() -> Result<Programs, LabError> {
    let named = env::var_os("XDG_CACHE_HOME").map(PathBuf::from).filter(|path| path.is_absolute());
    let kept = named.or_else(|| home().map(|home| home.join(platform::CACHE)));
    let prepared = kept.map_or_else(|| PathBuf::from(platform::NOWHERE), |kept| kept.join("tare"));
    let (path, go) = (env::var_os("PATH").unwrap_or_default(), env::var_os("GOBIN").map(PathBuf::from));
    // The folder into which `go install` puts runsc.
    let installed = go.clone().into_iter().chain(home().map(|home| home.join("go/bin")));
    let system = platform::SYSTEM_FOLDERS.iter().map(PathBuf::from);
    let folders = env::split_paths(&path).chain(installed).chain(system).collect();
    // An account without a home may have / as its home, and everything is below that.
    let own = go.into_iter().chain(home()).filter(|own| own.parent().is_some()).collect();
    Ok(Programs { folders, own, tare: find_binary()?, prepared })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn records_of_any_folder_have_a_name_that_a_file_system_takes() {
        let name = |of: &str| name_records_folder(Path::new(of));
        for folder in ["ä".repeat(127), "a".repeat(255), "\u{1b}[2J".repeat(60)] {
            let name = name(&format!("/folder/{folder}"));
            assert!(name.len() <= LONGEST_NAME + 14 && !name.chars().any(char::is_control), "{name}");
        }
        assert!(name("/folder/mine").starts_with("mine-") && name("/folder/mine").len() == 18);
        let long = "a".repeat(200);
        assert_ne!(name(&format!("/folder/{long}1")), name(&format!("/folder/{long}2")));
        assert_eq!(name("/").len(), 14);
    }
}
