//! What can outlive a session, and the names and marks by which it is known to be one's own.

use std::path::PathBuf;

use serde::{Deserialize, Serialize};

/// Beginning of every name that a session gives to what it makes; its id follows.
pub const PREFIX: &str = "tare-";
/// Environment variable that every process of a session carries: `SESSION/START`.
pub const MARK: &str = "TARE_SESSION";

/// Something that outlives the process if nobody takes it away.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Owned {
    /// A folder with all below it; in the session's scratch folder.
    Folder(PathBuf),
    /// A mount point; in the session's scratch folder.
    Mount(PathBuf),
    /// A process and its descendants. The start time (field 22 of /proc/PID/stat) tells it from a later
    /// process with the same number.
    Process { pid: u32, started_ticks: u64 },
    /// A container of a runtime: taken away by `RUNTIME ARGUMENTS delete --force ID`. The runtime knows it
    /// as long as `known_by` exists; where that is not known, it is asked.
    Container { runtime: PathBuf, arguments: Vec<String>, id: String, known_by: Option<PathBuf> },
    /// Something that a program made and takes away when it is called with these words.
    /// The program is called in a network namespace of the session's where it made things there.
    Foreign {
        what: String,
        program: PathBuf,
        words: Vec<String>,
        #[serde(default)]
        namespace: Option<String>,
    },
    /// A copy of a distribution that wsl.exe knows by this name, which begins as all of a session's names do.
    Distribution { program: PathBuf, name: String },
    /// A network namespace by its name under /run/netns.
    NetworkNamespace(String),
    /// A network device by its name, in a network namespace by its name.
    NetworkDevice { namespace: String, device: String },
    /// A control group by its name in the root of every hierarchy.
    ControlGroup(String),
}
