//! Things that can outlive a session, and the names and marks by which they are recognised.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use tare_data::named;

/// Beginning of every name that a session gives to what it makes; its id follows.
pub const PREFIX: &str = "tare-";
/// Environment variable that every process of a session carries: `SESSION/START`.
pub const MARK: &str = "TARE_SESSION";

/// Something that outlives the process if nobody removes it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Owned {
    /// A folder with all below it; in the session's scratch folder.
    Folder(PathBuf),
    /// A mount point; in the session's scratch folder.
    Mount(PathBuf),
    /// A process and its descendants. The start time (field 22 of /proc/PID/stat) distinguishes it from a later
    /// process with the same number.
    Process { pid: u32, started_ticks: u64 },
    /// A container of an OCI runtime that keeps what it knows of it in a folder of the session's.
    Container { runtime: Runtime, state: PathBuf, id: String },
    /// Something of a container engine's, by the session's own name for it. The engine is called in a network
    /// namespace of the session's where it made things there.
    Engine { engine: EngineName, kind: EngineThing, name: String, namespace: Option<String> },
    /// State of a container in a runtime, which its engine may have forgotten; the engine wrote the id into
    /// this file.
    ForgottenContainer { id_file: PathBuf },
    /// A folder inside a distribution that wsl.exe knows.
    DistributionFolder { distribution: String, user: Option<String>, folder: String },
    /// A copy of a distribution that wsl.exe knows by this name, which begins as all of a session's names do.
    Distribution(String),
    /// A network namespace by its name under /run/netns.
    NetworkNamespace(String),
    /// A network device by its name, in a network namespace by its name.
    NetworkDevice { namespace: String, device: String },
    /// A program of which a launcher declares that it leaves it running. Its processes stay, and are named.
    Spared(PathBuf),
    /// A control group by its name in the root of every hierarchy.
    ControlGroup(String),
    /// Control groups by their folders, below that of the session's own process in each hierarchy.
    PlacedGroups(Vec<PathBuf>),
}

impl Owned {
    /// Tells whether it, or the only trace of it, would still be there after a restart of the machine. What lies in the session's scratch
    /// folder goes with that, and processes, mounts, devices and control groups are the running kernel's.
    pub(crate) fn outlives_restart(&self, scratch: &Path) -> bool {
        match self {
            Owned::Folder(folder) => folder == scratch || !folder.starts_with(scratch),
            Owned::Mount(_)
            | Owned::Process { .. }
            | Owned::NetworkDevice { .. }
            | Owned::Spared(_)
            | Owned::ControlGroup(_)
            | Owned::PlacedGroups(_) => false,
            // Its mount point is a file, and /run is not everywhere emptied.
            Owned::NetworkNamespace(_)
            | Owned::Container { .. }
            | Owned::Engine { .. }
            | Owned::ForgottenContainer { .. }
            | Owned::DistributionFolder { .. }
            | Owned::Distribution(_) => true,
        }
    }

    /// Describes it in a line, by its kind and its names as they are in a journal.
    pub(crate) fn describe(&self) -> String {
        let entry = serde_json::to_string(self).unwrap_or_default();
        entry.replace(['{', '}', '"'], "").replace(':', " ").replace(',', ", ").replace('_', " ")
    }
}

/// A runtime that is called to remove its containers. A journal names it, and never where it lies or what it is told.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Runtime {
    Runsc,
    Runc,
    Crun,
    Youki,
    /// Not called: what it made is ended and removed without it.
    Other,
}

impl Runtime {
    /// Recognises the runtime that a program is.
    pub fn from_program(program: &Path) -> Runtime {
        let all = [Runtime::Runsc, Runtime::Runc, Runtime::Crun, Runtime::Youki];
        let is = |runtime: &Runtime| {
            program.file_name().is_some_and(|name| Some(name) == runtime.program().map(OsStr::new))
        };
        all.into_iter().find(is).unwrap_or(Runtime::Other)
    }

    pub fn program(self) -> Option<&'static str> {
        match self {
            Runtime::Runsc => Some("runsc"),
            Runtime::Runc => Some("runc"),
            Runtime::Crun => Some("crun"),
            Runtime::Youki => Some("youki"),
            Runtime::Other => None,
        }
    }

    /// Returns the path in its state folder that exists as long as it knows a container.
    pub fn known_by(self, state: &Path, id: &str) -> PathBuf {
        match self {
            Runtime::Runsc => state.join(format!("{id}_sandbox:{id}.state")),
            Runtime::Runc | Runtime::Crun | Runtime::Youki | Runtime::Other => state.join(id),
        }
    }
}

named! {
    /// A container engine, by the name of its program.
    pub enum EngineName {
        Podman = "podman",
        Docker = "docker",
        Nerdctl = "nerdctl",
    }
}

named! {
    /// A kind of things of an engine's: one of its verbs removes them, another lists them.
    pub enum EngineThing {
        Container = "container",
        Image = "image",
    }
}

impl EngineThing {
    /// Returns the words that remove the thing named after them; with a container its volumes that have no name.
    pub fn removal_words(self) -> &'static [&'static str] {
        match self {
            EngineThing::Container => &["rm", "--force", "--volumes"],
            EngineThing::Image => &["rmi", "--force"],
        }
    }

    /// Returns the words for which the engine prints the names of all such things.
    pub fn listing_words(self) -> &'static [&'static str] {
        match self {
            EngineThing::Container => &["ps", "--all", "--format", "{{.Names}}"],
            EngineThing::Image => &["images", "--format", "{{.Repository}}"],
        }
    }
}

/// Recognises a name that a session gives: the prefix with its id, by itself or with `-` and more. `mark` is
/// the session's, or that of one of its starts.
pub fn is_named(name: &str, mark: &str) -> bool {
    let id = mark.split('/').next().unwrap_or_default();
    let rest = name.strip_prefix(PREFIX).and_then(|rest| rest.strip_prefix(id));
    let plain = |rest: &str| rest.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'-');
    !id.is_empty() && rest.is_some_and(|rest| (rest.is_empty() || rest.starts_with('-')) && plain(rest))
}

/// Recognises the name of a session's folder by its exact shape: the prefix, and 16 hex digits.
pub(crate) fn is_session_folder(name: &OsStr) -> bool {
    let is_id = |id: &[u8]| id.len() == 16 && id.iter().all(|b| matches!(b, b'0'..=b'9' | b'a'..=b'f'));
    name.as_encoded_bytes().strip_prefix(PREFIX.as_bytes()).is_some_and(is_id)
}

/// Recognises a path in the folder of another session than the one that works in `own`.
pub(crate) fn is_of_another_session(path: &Path, own: &Path) -> bool {
    path.iter().any(is_session_folder) && !path.iter().any(|name| Some(name) == own.file_name())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_power_cut_does_not_take_along_is_on_the_disk_before_it_is_made() {
        let scratch = Path::new("/var/tmp/tare-0123456789abcdef");
        let outlives = |thing: Owned| thing.outlives_restart(scratch);
        assert!(outlives(Owned::Folder(scratch.into())) && outlives(Owned::Folder("/home/u/x".into())));
        assert!(outlives(Owned::ForgottenContainer { id_file: scratch.join("id") }));
        assert!(outlives(Owned::NetworkNamespace("tare-x".into())), "a file in /run, which may be on a disk");
        assert!(!outlives(Owned::Folder(scratch.join("00/00000"))), "it goes with the scratch folder");
        assert!(!outlives(Owned::Process { pid: 7, started_ticks: 7 }));
        assert!(!outlives(Owned::Mount(scratch.join("00"))) && !outlives(Owned::PlacedGroups(Vec::new())));
    }

    #[test]
    fn another_sessions_folder_is_known_by_the_exact_shape_of_its_name() {
        let own = Path::new("/var/tmp/tare-0123456789abcdef");
        let is_others = |path: &str| is_of_another_session(Path::new(path), own);
        assert!(is_others("/var/tmp/tare-fedcba9876543210/places/ext4"));
        assert!(!is_others("/var/tmp/tare-0123456789abcdef/places/ext4"));
        // A session that works in a place of another one.
        assert!(!is_others("/tare-fedcba9876543210/places/own/tare-0123456789abcdef/places/ext4"));
        for name in
            ["tare-fedcba987654321", "tare-fedcba9876543210-00001", "tare-FEDCBA9876543210", "tare-project"]
        {
            assert!(!is_others(&format!("/var/tmp/{name}/x")), "{name}");
        }
    }

    #[test]
    fn a_sessions_names_are_its_own() {
        for name in ["tare-a1", "tare-a1-00007", "tare-a1-lab"] {
            assert!(is_named(name, "a1") && is_named(name, "a1/00002"), "{name}");
        }
        for name in ["tare-a11", "a1", "tare-", "tare-a1-x y", "tare-a1-../x", "-tare-a1"] {
            assert!(!is_named(name, "a1"), "{name}");
        }
        assert!(!is_named("tare-", "") && !is_named("tare-b", ""));
    }

    #[test]
    fn a_runtime_is_known_by_its_name_wherever_it_lies() {
        assert_eq!(Runtime::from_program(Path::new("/opt/x/runc")), Runtime::Runc);
        assert_eq!(Runtime::from_program(Path::new("/opt/x/runc.sh")), Runtime::Other);
    }
}
