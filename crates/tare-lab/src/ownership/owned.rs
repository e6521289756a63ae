//! What can outlive a session, and the names and marks by which it is known to be one's own.

use std::path::PathBuf;

use serde::{Deserialize, Serialize};

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
    /// A container of a runtime: removed by `RUNTIME ARGUMENTS delete --force ID`. The runtime knows it
    /// as long as `known_by` exists; where that is not known, the runtime is.
    Container { runtime: PathBuf, arguments: Vec<String>, id: String, known_by: Option<PathBuf> },
    /// Something that a program made and removes when it is called with these words.
    /// The program is called in a network namespace of the session's where it made things there.
    Foreign {
        what: String,
        program: PathBuf,
        words: Vec<String>,
        #[serde(default)]
        namespace: Option<String>,
        /// How the program lists what there is; where it cannot, a call that fails leaves the thing.
        #[serde(default)]
        listed: Option<Listed>,
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

/// How a program lists things of a kind, and the name of the one that is owned.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Listed {
    /// Called with these words, the program prints a name a line.
    pub words: Vec<String>,
    pub name: String,
}
