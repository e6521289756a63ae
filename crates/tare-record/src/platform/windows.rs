//! Files of Windows.

#![allow(unsafe_code, reason = "a lock is taken by a call of the system's")]

use std::fs::{File, Metadata, OpenOptions, TryLockError};
use std::io;
use std::mem;
use std::os::windows::fs::FileExt;
use std::os::windows::io::AsRawHandle;
use std::path::Path;

use windows_sys::Win32::Foundation::{ERROR_IO_PENDING, ERROR_LOCK_VIOLATION};
use windows_sys::Win32::Storage::FileSystem::{
    LOCK_FILE_FLAGS, LOCKFILE_EXCLUSIVE_LOCK, LOCKFILE_FAIL_IMMEDIATELY, LockFileEx, UnlockFile,
};
use windows_sys::Win32::System::IO::OVERLAPPED;

/// The byte of a file, by the upper half of its place, whose lock means all of it. Locked bytes cannot be read by others, so
/// that it is beyond the end of all files.
const LOCKED_AT: u32 = 1 << 30;
/// ERROR_INVALID_FUNCTION and ERROR_NOT_SUPPORTED: answers of a shared folder without locks.
const NO_LOCKS: [i32; 2] = [1, 50];

/// Opens a file. A pipe that nobody serves is an error at once.
pub(crate) fn open_at_once(options: &mut OpenOptions, path: &Path) -> io::Result<File> {
    options.open(path)
}

/// Reads from a byte of a file on. It moves the file's position, which readers in its middle do not use.
pub(crate) fn read_at(file: &File, buffer: &mut [u8], from: u64) -> io::Result<usize> {
    file.seek_read(buffer, from)
}

/// Answers false: the standard library does not tell here.
pub(crate) fn is_removed(_: &Metadata) -> bool {
    false
}

/// Recognises a file system without any locks: then nothing can be known.
pub(crate) fn has_no_locks(error: &io::Error) -> bool {
    error.raw_os_error().is_some_and(|code| NO_LOCKS.contains(&code))
}

/// Cuts a file, which takes other rights than appending to it.
pub(crate) fn cut_file(_: &File, path: &Path, bytes: u64) -> io::Result<()> {
    OpenOptions::new().write(true).open(path)?.set_len(bytes)
}

/// Makes a temporary file.
pub(crate) fn open_nameless() -> io::Result<File> {
    tempfile::tempfile()
}

/// Refuses: a file that is open is not replaced here. Records stay as they were written.
pub(crate) fn replace_file(
    _: &File,
    _: &Path,
    _: impl FnOnce(&mut File) -> io::Result<()>,
) -> io::Result<File> {
    Err(io::ErrorKind::Unsupported.into())
}

/// Locks a file for this process alone, without waiting.
pub fn try_lock(file: &File) -> Result<(), TryLockError> {
    locked(file, LOCKFILE_EXCLUSIVE_LOCK | LOCKFILE_FAIL_IMMEDIATELY).map_err(refused)
}

/// Shares a lock on a file with others that do the same, without waiting.
pub fn try_lock_shared(file: &File) -> Result<(), TryLockError> {
    locked(file, LOCKFILE_FAIL_IMMEDIATELY).map_err(refused)
}

/// Waits until it is this process' alone.
pub fn lock(file: &File) -> io::Result<()> {
    locked(file, LOCKFILE_EXCLUSIVE_LOCK)
}

/// Ends a lock at once.
pub fn unlock(file: &File) {
    // SAFETY: the handle is open.
    unsafe { UnlockFile(file.as_raw_handle(), 0, LOCKED_AT, 1, 0) };
}

fn locked(file: &File, how: LOCK_FILE_FLAGS) -> io::Result<()> {
    // SAFETY: an all-zero struct is valid.
    let mut place: OVERLAPPED = unsafe { mem::zeroed() };
    place.Anonymous.Anonymous.OffsetHigh = LOCKED_AT;
    // SAFETY: the handle is open; the place lives through the call, which waits until it is over.
    match unsafe { LockFileEx(file.as_raw_handle(), how, 0, 1, 0, &mut place) } {
        0 => Err(io::Error::last_os_error()),
        _ => Ok(()),
    }
}

fn refused(error: io::Error) -> TryLockError {
    match error.raw_os_error().map(|code| code as u32) {
        Some(ERROR_LOCK_VIOLATION | ERROR_IO_PENDING) => TryLockError::WouldBlock,
        _ => TryLockError::Error(error),
    }
}
