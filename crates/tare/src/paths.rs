//! Paths: where tare keeps things on this machine. The only place that reads the environment for them.

use std::env;
use std::path::{Path, PathBuf};

use tare_lab::error::{ErrorKind, LabError};
use tare_lab::host::programs::Programs;
use tare_lab::session::Setting;
use tare_lab::storage::places::Wanted;

use crate::invocation::binary;
use crate::platform;

/// Folder of the journals in which sessions write down what they make: `$XDG_STATE_HOME/tare`, else `~/.local/state/tare`, on
/// Windows `%LOCALAPPDATA%\\tare`.
pub fn state() -> Result<PathBuf, LabError> {
    let named = env::var_os("XDG_STATE_HOME").map(PathBuf::from).filter(|path| path.is_absolute());
    named.or_else(|| home().map(|home| home.join(platform::STATE))).map(|path| path.join("tare")).ok_or_else(|| {
        LabError::new(ErrorKind::Storage, "there is no folder for journals")
            .because("neither XDG_STATE_HOME nor HOME names one: HOME must be a folder that is there, by its whole path")
            .hint("set XDG_STATE_HOME to a folder that you may write")
    })
}

/// The home folder: by its whole path, and only where it is there. Elsewhere nothing is made, and from nowhere read.
fn home() -> Option<PathBuf> {
    env::var_os(platform::HOME).map(PathBuf::from).filter(|home| home.is_absolute() && home.is_dir())
}

/// Folder on a disk below which a session builds.
pub fn scratch() -> PathBuf {
    platform::scratch()
}

/// Where journals are kept if the usual folder cannot be made, as in a container without a home and with a root that cannot
/// be written: in the scratch folder, with the user's number.
fn state_in(scratch: &Path) -> PathBuf {
    scratch.join(format!("tare-state-{}", platform::user()))
}

/// The folder of journals for sessions that work in this scratch folder.
fn state_for(scratch: &Path) -> Result<PathBuf, LabError> {
    match state() {
        Ok(usual) if can_be_made(&usual) => Ok(usual),
        _ if can_be_made(&state_in(scratch)) => Ok(state_in(scratch)),
        unusable => unusable,
    }
}

/// The folders in which journals can be: the usual one, and the one in the scratch folder if it is there.
pub fn states() -> Result<Vec<PathBuf>, LabError> {
    let other = Some(state_in(&scratch())).filter(|folder| folder.is_dir());
    match (state(), other) {
        (Ok(usual), other) => Ok(std::iter::once(usual).chain(other).collect()),
        (Err(_), Some(other)) => Ok(vec![other]),
        (Err(error), None) => Err(error),
    }
}

/// Whether files can be made in a folder that is there, or else the folder. Nothing is made to find out.
fn can_be_made(folder: &Path) -> bool {
    let there = folder.ancestors().find(|path| path.exists());
    there.is_some_and(platform::may_write)
}

/// What a session is given to work with; the scratch folder is `scratch` unless named.
pub fn setting(named: Option<&Path>) -> Result<Setting, LabError> {
    let scratch = named.map_or_else(scratch, Path::to_owned);
    Ok(Setting {
        state: state_for(&scratch)?,
        scratch,
        binary: binary()?,
        wanted: Wanted::default(),
        programs: programs()?,
    })
}

/// A record's name with `%h` (host name), `%t` (time), `%r` (random hex digits) and `%%` replaced.
pub fn record_named(pattern: &Path) -> Result<PathBuf, LabError> {
    let Some(text) = pattern.to_str().filter(|text| text.contains('%')) else {
        return Ok(pattern.to_owned());
    };
    let unknown = |what: &str| {
        LabError::usage(format!("'{what}' in the record's name {text} stands for nothing"))
            .hint("%h is the host name, %t the time, %r random digits, and %% a percent sign")
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
            Some('t') => named.push_str(&jiff::Zoned::now().strftime("%Y-%m-%dT%H-%M-%S").to_string()),
            Some('r') => named.push_str(&fresh_digits()?),
            Some(other) => return Err(unknown(&format!("%{other}"))),
            None => return Err(unknown("%")),
        }
    }
    Ok(named.into())
}

/// This machine's name, without what leads out of a folder.
fn host_name() -> String {
    let name = platform::host_name();
    let plain = |c: char| if c.is_ascii_alphanumeric() || c == '-' || c == '.' { c } else { '_' };
    name.chars().map(plain).collect()
}

/// Eight hex digits that nobody else draws.
fn fresh_digits() -> Result<String, LabError> {
    let mut bytes = [0; 4];
    platform::randomise(&mut bytes)
        .map_err(|e| LabError::new(ErrorKind::Host, "cannot draw random digits").because(e))?;
    Ok(format!("{:08x}", u32::from_le_bytes(bytes)))
}

/// Foreign programs, this program's own file, and what was prepared for environments:
/// `$XDG_CACHE_HOME/tare`, else `~/.cache/tare`, else nowhere: a folder that anybody could make is not looked in.
pub fn programs() -> Result<Programs, LabError> {
    let named = env::var_os("XDG_CACHE_HOME").map(PathBuf::from).filter(|path| path.is_absolute());
    let kept = named.or_else(|| home().map(|home| home.join(platform::CACHE)));
    let prepared = kept.map_or_else(|| PathBuf::from(platform::NOWHERE), |kept| kept.join("tare"));
    Ok(Programs { folders: program_folders(), tare: binary()?, prepared })
}

/// Folders in which foreign programs are looked for, in order: PATH, then where `go install` puts runsc.
fn program_folders() -> Vec<PathBuf> {
    let path = env::var_os("PATH").unwrap_or_default();
    let go = env::var_os("GOBIN").map(PathBuf::from);
    let home = home().map(|home| home.join("go/bin"));
    let system = platform::SYSTEM_FOLDERS.iter().map(PathBuf::from);
    env::split_paths(&path).filter(|p| p.is_absolute()).chain(go).chain(home).chain(system).collect()
}
