//! Files of Windows.

use std::fs::{File, Metadata, OpenOptions};
use std::io;
use std::os::windows::fs::FileExt;
use std::path::Path;

/// ERROR_INVALID_FUNCTION and ERROR_NOT_SUPPORTED: what a shared folder without locks answers.
const NO_LOCKS: [i32; 2] = [1, 50];

/// Opens a file. A pipe that nobody serves is an error at once.
pub(crate) fn open_at_once(options: &mut OpenOptions, path: &Path) -> io::Result<File> {
    options.open(path)
}

/// Reads from a byte of a file on. It moves the file's own position, which nobody uses who reads in its middle.
pub(crate) fn read_at(file: &File, buffer: &mut [u8], from: u64) -> io::Result<usize> {
    file.seek_read(buffer, from)
}

/// Whether an open file has no name any more, which the standard library does not tell here.
pub(crate) fn is_removed(_: &Metadata) -> bool {
    false
}

/// Whether a file system has no locks at all: then nothing can be known.
pub(crate) fn has_no_locks(error: &io::Error) -> bool {
    error.raw_os_error().is_some_and(|code| NO_LOCKS.contains(&code))
}
