//! Files of a trial: room for them, opening them, filling them, and taking them out of the cache.

#![allow(unsafe_code, reason = "mincore looks at a mapping")]

use std::path::Path;

use rustix::fd::{BorrowedFd, OwnedFd};
use rustix::fs::{Advice, CWD, MemfdFlags, Mode, OFlags};
use rustix::io::Errno;
use rustix::mm::{MapFlags, ProtFlags};
use tare_data::failure::{Failure, FailureKind};
use tare_paths::door::Door;

pub(crate) use crate::harness::blocks::fill_file;
use crate::harness::blocks::{SPARE, no_room};
pub(crate) use crate::harness::blocks::{fill_cache, whole_blocks};
use crate::harness::trial::broken_failure;

/// A file that fits so often into free memory stays in the cache until it is removed.
const SMALL_SHARE: u64 = 20;

/// Share of a file's pages that may stay in the cache for it to count as dropped.
const STILL_CACHED: f64 = 1.0 / 256.0;

/// Fails early, with a clear reason, when `bytes` do not fit.
pub(crate) fn check_room(folder: &Door, bytes: u64) -> Result<(), Failure> {
    // File systems that do not report their size (some shares) return 0 of 0.
    match rustix::fs::fstatvfs(folder) {
        Ok(about) if about.f_blocks > 0 => {
            let free = about.f_bavail.saturating_mul(about.f_frsize);
            if free >= bytes.saturating_add(SPARE) {
                return Ok(());
            }
            Err(no_room(bytes, free))
        }
        _ => Ok(()),
    }
}

/// Makes a file of the trial's folder, and opens it for reading and writing. What is there already, somebody else has put there.
pub fn create_file(folder: &Door, name: &str, flags: OFlags) -> Result<OwnedFd, Failure> {
    open_file(folder, name, OFlags::CREATE | OFlags::EXCL | flags)
}

/// Opens a file that the trial has made in its folder, for reading and writing.
pub(crate) fn open_file(folder: &Door, name: &str, flags: OFlags) -> Result<OwnedFd, Failure> {
    folder.open_with(Path::new(name), flags).map_err(|e| {
        if flags.contains(OFlags::DIRECT)
            && matches!(Errno::from_io_error(&e), Some(Errno::INVAL | Errno::OPNOTSUPP))
        {
            return Failure::new(FailureKind::NotSupported, "the file system has no O_DIRECT");
        }
        broken_failure(&format!("opening a file in {}", folder.path().display()), e)
    })
}

/// Takes a file, all of it written out, out of the cache, and looks whether it is gone.
///
/// A kernel that keeps it would make a cold read a warm one: not comparable. What lies below this kernel
/// (the host of a virtual machine, a file server) may cache on; the facts of the place show what lies there.
pub(crate) fn drop_cache(file: BorrowedFd<'_>, size: u64) -> Result<(), Failure> {
    rustix::fs::fadvise(file, 0, None, Advice::DontNeed).map_err(|e| {
        Failure::new(FailureKind::NotSupported, format!("dropping a file from the cache: {e}"))
    })?;
    let not_comparable = |reason: String| Err(Failure::new(FailureKind::NotComparable, reason));
    match cached_share(file, size) {
        Some(share) if share <= STILL_CACHED => Ok(()),
        Some(share) => {
            not_comparable(format!("{:.0} % of a file stay in the cache when it is dropped", share * 100.0))
        }
        None => not_comparable("whether a file left the cache cannot be seen here".into()),
    }
}

/// Computes the share of a file's pages in the cache, by mincore(2); None where that cannot be seen.
pub(crate) fn cached_share(file: BorrowedFd<'_>, size: u64) -> Option<f64> {
    let (size, page) = (usize::try_from(size).ok().filter(|&size| size > 0)?, rustix::param::page_size());
    // SAFETY: a new mapping at no particular address; nothing reads it.
    let start =
        unsafe { rustix::mm::mmap(std::ptr::null_mut(), size, ProtFlags::READ, MapFlags::SHARED, file, 0) }
            .ok()?;
    let mut pages = vec![0u8; size.div_ceil(page)];
    // SAFETY: the mapping has `size` bytes and `pages` a byte for each of its pages.
    let answered = unsafe { libc::mincore(start, size, pages.as_mut_ptr()) } == 0;
    // SAFETY: the mapping is whole, and ours.
    let _ = unsafe { rustix::mm::munmap(start, size) };
    let cached = pages.iter().filter(|&&page| page & 1 == 1).count();
    answered.then(|| cached as f64 / pages.len() as f64)
}

/// Opens a device.
pub(crate) fn open_device(path: &'static str, flags: OFlags) -> Result<OwnedFd, Failure> {
    rustix::fs::openat(CWD, path, flags | OFlags::CLOEXEC, Mode::empty())
        .map_err(|e| Failure::new(FailureKind::NotSupported, format!("{path}: {e}")))
}

/// Creates a file that is only in memory.
pub(crate) fn in_memory() -> Result<OwnedFd, Failure> {
    let file = rustix::fs::memfd_create("tare-source", MemfdFlags::CLOEXEC);
    file.map_err(|e| Failure::new(FailureKind::NotSupported, format!("memfd_create: {e}")))
}

/// Finds the length of a file by seeking, without a call that reads metadata by path.
pub(crate) fn find_file_length(file: BorrowedFd<'_>) -> Result<u64, Failure> {
    rustix::fs::seek(file, rustix::fs::SeekFrom::End(0)).map_err(|e| broken_failure("seeking", e))
}

/// Predicts that no kernel begins to write such a file out while it is read: they wait until a tenth of the
/// memory that they could give to files is to be written. A file that need not reach a disk takes less than
/// half of the time to prepare.
pub(crate) fn may_stay_in_cache(size: u64) -> bool {
    let memory = rustix::system::sysinfo();
    let free = u64::from(memory.mem_unit).saturating_mul(memory.freeram as u64);
    size.saturating_mul(SMALL_SHARE) <= free
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_does_not_fit_fails_before_it_is_written() {
        let root = Door::open(Path::new("/")).unwrap();
        let failure = check_room(&root, u64::MAX / 2).unwrap_err();
        assert!(failure.reason.ends_with("free: No space left on device"), "{}", failure.reason);
        assert_eq!(check_room(&root, 0), Ok(()));
    }
}
