//! Files of Linux, and of systems that resemble it.

use std::fs::{File, Metadata, OpenOptions, TryLockError};
use std::io;
use std::os::unix::fs::{FileExt, MetadataExt, OpenOptionsExt};
use std::path::Path;

use rustix::fs::OFlags;
use rustix::io::Errno;

/// Opens a file without waiting for the writer of a pipe.
pub(crate) fn open_at_once(options: &mut OpenOptions, path: &Path) -> io::Result<File> {
    let flags = OFlags::NONBLOCK | OFlags::NOCTTY;
    options.custom_flags(flags.bits() as i32).open(path)
}

/// Reads from a byte of a file on.
pub(crate) fn read_at(file: &File, buffer: &mut [u8], from: u64) -> io::Result<usize> {
    file.read_at(buffer, from)
}

pub(crate) fn is_removed(about: &Metadata) -> bool {
    about.nlink() == 0
}

/// Recognises a file system without any locks, as some that are shared over a network: then nothing can be
/// known.
pub(crate) fn has_no_locks(error: &io::Error) -> bool {
    matches!(Errno::from_io_error(error), Some(Errno::NOLCK | Errno::NOTSUP | Errno::NOSYS))
}

/// Cuts an open file.
pub(crate) fn cut_file(file: &File, _: &Path, bytes: u64) -> io::Result<()> {
    file.set_len(bytes)
}

/// Locks a file for this process alone, without waiting.
pub fn try_lock(file: &File) -> Result<(), TryLockError> {
    file.try_lock()
}

/// Shares a lock on a file with others that do the same, without waiting.
pub fn try_lock_shared(file: &File) -> Result<(), TryLockError> {
    file.try_lock_shared()
}

/// Waits until it is this process' alone.
pub fn lock(file: &File) -> io::Result<()> {
    file.lock()
}

/// Ends a lock at once: a child that another thread has just forked has the same open file, and would keep it until its `exec`.
pub fn unlock(file: &File) {
    let _ = file.unlock();
}
