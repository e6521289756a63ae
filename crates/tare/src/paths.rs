//! Paths: where tare keeps things on this machine. The only place that reads the environment for them.

use std::collections::BTreeMap;
use std::env;
use std::path::{Path, PathBuf};

use tare_lab::error::{ErrorKind, LabError};
use tare_lab::host::programs::Programs;
use tare_lab::session::Setting;
use tare_lab::storage::places::Wanted;

/// Where programs are looked for if PATH is not set.
const PROGRAMS: &str = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin";
/// Where nothing is, and nothing can be made.
const NOWHERE: &str = "/proc/self/no-home";

/// Folder of the journals in which sessions write down what they make: `$XDG_STATE_HOME/tare`, else `~/.local/state/tare`.
pub fn state() -> Result<PathBuf, LabError> {
    let named = env::var_os("XDG_STATE_HOME").map(PathBuf::from).filter(|path| path.is_absolute());
    named.or_else(|| home().map(|home| home.join(".local/state"))).map(|path| path.join("tare")).ok_or_else(|| {
        LabError::new(ErrorKind::Storage, "there is no folder for journals")
            .because("neither XDG_STATE_HOME nor HOME names one: HOME must be a folder that is there, by its whole path")
            .hint("set XDG_STATE_HOME to a folder that you may write")
    })
}

/// The home folder: by its whole path, and only where it is there. Elsewhere nothing is made, and from nowhere read.
fn home() -> Option<PathBuf> {
    env::var_os("HOME").map(PathBuf::from).filter(|home| home.is_absolute() && home.is_dir())
}

/// Variables of this environment that a command of one's own finds in every other: where programs are, who runs them, and
/// how they speak. What leads to a socket of this machine is left out.
pub fn variables_of_commands() -> BTreeMap<String, String> {
    let passed = ["HOME", "USER", "LOGNAME", "LANG", "LC_ALL", "TZ"];
    let mut all: BTreeMap<String, String> =
        passed.iter().filter_map(|name| Some(((*name).to_owned(), env::var(name).ok()?))).collect();
    let path = env::var("PATH").unwrap_or_else(|_| PROGRAMS.to_owned());
    all.extend([("PATH".to_owned(), path), ("TERM".to_owned(), "dumb".to_owned())]);
    all
}

/// Folder on a disk below which a session builds. /tmp is often in memory; /var/tmp is not.
pub fn scratch() -> PathBuf {
    PathBuf::from("/var/tmp")
}

/// What a session is given to work with; the scratch folder is `scratch` unless named.
pub fn setting(named: Option<&Path>) -> Result<Setting, LabError> {
    Ok(Setting {
        state: state()?,
        scratch: named.map_or_else(scratch, Path::to_owned),
        binary: binary()?,
        wanted: Wanted::default(),
        programs: programs()?,
    })
}

/// A name of now that no record here has yet: sessions may begin in one second.
pub fn fresh_record(prefix: &str) -> PathBuf {
    let stem = jiff::Zoned::now().strftime(&format!("{prefix}-%Y-%m-%dT%H-%M-%S")).to_string();
    let names = (1..).map(|n| if n == 1 { format!("{stem}.tare") } else { format!("{stem}-{n}.tare") });
    // A link that leads nowhere is in the way, too.
    names.map(PathBuf::from).find(|path| path.symlink_metadata().is_err()).expect("numbers do not end")
}

/// Foreign programs, this program's own file, and what was prepared for environments:
/// `$XDG_CACHE_HOME/tare`, else `~/.cache/tare`, else nowhere: a folder that anybody could make is not looked in.
pub fn programs() -> Result<Programs, LabError> {
    let named = env::var_os("XDG_CACHE_HOME").map(PathBuf::from).filter(|path| path.is_absolute());
    let kept = named.or_else(|| home().map(|home| home.join(".cache")));
    let prepared = kept.map_or_else(|| PathBuf::from(NOWHERE), |kept| kept.join("tare"));
    Ok(Programs { folders: program_folders(), tare: binary()?, prepared })
}

/// This program's own file.
pub fn binary() -> Result<PathBuf, LabError> {
    env::current_exe()
        .map_err(|e| LabError::new(ErrorKind::Storage, "cannot find tare's own file").because(e))
}

/// Folders in which foreign programs are looked for, in order: PATH, then where `go install` puts runsc.
fn program_folders() -> Vec<PathBuf> {
    let path = env::var_os("PATH").unwrap_or_default();
    let go = env::var_os("GOBIN").map(PathBuf::from);
    let home = home().map(|home| home.join("go/bin"));
    // Administrators' folders are missing from an ordinary user's PATH.
    let system = ["/usr/local/sbin", "/usr/sbin", "/sbin"].map(PathBuf::from);
    env::split_paths(&path).filter(|p| p.is_absolute()).chain(go).chain(home).chain(system).collect()
}
