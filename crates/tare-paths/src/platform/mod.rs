//! Differences between systems in holding a folder open and working below it.

use std::time::SystemTime;

#[cfg(unix)]
mod unix;
#[cfg(windows)]
mod windows;

#[cfg(unix)]
pub(crate) use unix::FolderHandle;
#[cfg(windows)]
pub(crate) use windows::FolderHandle;

/// Kind of an entry of a folder.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    File,
    Folder,
    Link,
    /// A pipe, a socket or a device.
    Other,
}

/// Facts of an entry that are known without opening it.
#[derive(Clone, Copy, Debug)]
pub struct About {
    pub kind: Kind,
    pub changed: SystemTime,
}
