//! Differences between systems in holding a folder open and working below it.

use std::time::SystemTime;

#[cfg(unix)]
mod owners;
#[cfg(unix)]
mod removal;
#[cfg_attr(unix, path = "unix.rs")]
#[cfg_attr(windows, path = "windows.rs")]
mod system;

pub(crate) use system::FolderHandle;
pub use system::{check_opened, check_ours, remove_tree};

/// Kind of an entry of a folder.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    File,
    Folder,
    Link,
    /// A pipe, a socket or a device.
    Other,
}

/// Creation of a file that is opened; always that of one which must not be there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Creation {
    Never,
    IfMissing,
    Always,
}

/// Facts of an entry that are known without opening it.
#[derive(Clone, Copy, Debug)]
pub struct About {
    pub kind: Kind,
    pub changed: SystemTime,
}
