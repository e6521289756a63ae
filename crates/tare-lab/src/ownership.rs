//! Ownership: everything that a session makes outside its own process is written down before it is made.
//!
//! A session that is killed cannot clean up; `tare clean` and the next run can, because the journal says
//! what was made. A journal belongs to a living session as long as its lock is held.

use std::path::PathBuf;

use serde::{Deserialize, Serialize};

/// Something that outlives the process if nobody takes it away.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Owned {
    /// A folder with all below it.
    Folder(PathBuf),
    /// A mount point.
    Mount(PathBuf),
    /// A process and its descendants. The start time (field 22 of /proc/PID/stat) tells it from a later
    /// process with the same number.
    Process { pid: u32, started_ticks: u64 },
    /// A container of an OCI runtime: taken away by `RUNTIME ARGUMENTS delete --force ID`.
    Container { runtime: PathBuf, arguments: Vec<String>, id: String },
    /// A network namespace by its name under /run/netns.
    NetworkNamespace(String),
}
