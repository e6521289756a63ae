//! Differences between systems in handling a file: opening it without waiting, reading in its middle,
//! locking.

use std::time::SystemTime;

#[cfg(unix)]
mod unix;
#[cfg(unix)]
mod unix_folder;
#[cfg(windows)]
mod windows;
#[cfg(windows)]
mod windows_folder;

#[cfg(unix)]
pub use unix::*;
#[cfg(unix)]
pub(crate) use unix_folder::FolderHandle;
#[cfg(windows)]
pub use windows::*;
#[cfg(windows)]
pub(crate) use windows_folder::FolderHandle;

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
