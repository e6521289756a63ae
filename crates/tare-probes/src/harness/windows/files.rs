//! Files of a trial on Windows: room for them, opening them, and what takes the part of Linux' devices.

#![allow(unsafe_code, reason = "the system is called by its C interface")]

use std::fs::{File, OpenOptions};
use std::os::windows::ffi::OsStrExt;
use std::os::windows::fs::OpenOptionsExt;
use std::path::Path;

use tare_data::failure::{Failure, FailureKind};
use tare_paths::door::Door;
use windows_sys::Win32::Storage::FileSystem::GetDiskFreeSpaceExW;

use crate::harness::blocks::{SPARE, no_room};
pub(crate) use crate::harness::blocks::{fill_cache, fill_file, whole_blocks};
use crate::harness::trial::broken_failure;
use crate::platform::{BorrowedFd, OFlags, OwnedFd};

/// Predicts that no file stays in the cache: the system begins to write it out within a second, whatever its size.
pub(crate) fn may_stay_in_cache(_size: u64) -> bool {
    false
}

/// Fails early, with a clear reason, when `bytes` do not fit.
pub(crate) fn check_room(folder: &Door, bytes: u64) -> Result<(), Failure> {
    let path: Vec<u16> = folder.path().as_os_str().encode_wide().chain([0]).collect();
    let (mut free, mut all) = (0, 0);
    // SAFETY: the path ends with a zero, and both numbers live through the call.
    let known = unsafe { GetDiskFreeSpaceExW(path.as_ptr(), &mut free, &mut all, std::ptr::null_mut()) };
    // File systems that do not report their size return 0 of 0.
    if known != 0 && all > 0 && free < bytes.saturating_add(SPARE) {
        return Err(no_room(bytes, free));
    }
    Ok(())
}

/// Makes a file of the trial's folder, and opens it for reading and writing.
pub(crate) fn create_file(folder: &Door, name: &str, flags: OFlags) -> Result<OwnedFd, Failure> {
    open(folder, name, OpenOptions::new().create_new(true).custom_flags(flags.flags))
}

/// Opens a file that the trial has made in its folder, for reading and writing.
pub(crate) fn open_file(folder: &Door, name: &str, flags: OFlags) -> Result<OwnedFd, Failure> {
    open(folder, name, OpenOptions::new().truncate(flags.truncates).custom_flags(flags.flags))
}

fn open(folder: &Door, name: &str, options: &mut OpenOptions) -> Result<OwnedFd, Failure> {
    let file = options.read(true).write(true).open(folder.join(Path::new(name)));
    file.map(OwnedFd::from)
        .map_err(|e| broken_failure(&format!("opening a file in {}", folder.path().display()), e))
}

/// Windows has no call that takes one file out of its cache.
pub(crate) fn drop_cache(_file: BorrowedFd<'_>, _size: u64) -> Result<(), Failure> {
    Err(Failure::new(FailureKind::NotSupported, "Windows takes no single file out of its cache"))
}

pub(crate) fn find_file_length(file: BorrowedFd<'_>) -> Result<u64, Failure> {
    let about = file.try_clone_to_owned().and_then(|file| File::from(file).metadata());
    about.map(|about| about.len()).map_err(|e| broken_failure("asking for the length of a file", e))
}

/// Fails: Linux' devices do not exist here.
pub(crate) fn open_device(path: &'static str, _flags: OFlags) -> Result<OwnedFd, Failure> {
    Err(Failure::new(FailureKind::NotSupported, format!("Windows has no {path}")))
}

/// Fails: Windows has no files that exist only in memory.
pub(crate) fn in_memory() -> Result<OwnedFd, Failure> {
    Err(Failure::new(FailureKind::NotSupported, "Windows has no file in memory that is read like others"))
}
