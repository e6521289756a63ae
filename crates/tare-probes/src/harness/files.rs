//! Files of a trial: room for them, opening them, filling them, and taking them out of the cache.

#![allow(unsafe_code, reason = "mincore looks at a mapping")]

use std::ops::RangeInclusive;
use std::path::Path;

use rustix::fd::{BorrowedFd, OwnedFd};
use rustix::fs::{Advice, CWD, Mode, OFlags};
use rustix::io::Errno;
use rustix::mm::{MapFlags, ProtFlags};
use tare_data::failure::{Failure, FailureKind};
use tare_data::names::Parameters;

use crate::harness::syscall;
use crate::harness::trial::broken;

/// Space that is left free beyond what a trial writes, for the file system's own records.
const SPARE: u64 = 1 << 20;
/// Share of a file's pages that may stay in the cache for it to count as dropped.
const STILL_CACHED: f64 = 1.0 / 256.0;

/// Fails early, with a clear reason, when `bytes` do not fit.
pub fn room(directory: &Path, bytes: u64) -> Result<(), Failure> {
    // File systems that do not report their size (some shares) return 0 of 0.
    match rustix::fs::statvfs(directory) {
        Ok(about) if about.f_blocks > 0 => {
            let free = about.f_bavail.saturating_mul(about.f_frsize);
            if free >= bytes.saturating_add(SPARE) {
                return Ok(());
            }
            let what = format!("writing {} with {} free", size_words(bytes), size_words(free));
            Err(broken(&what, "No space left on device"))
        }
        _ => Ok(()),
    }
}

/// Bytes of a block and of a file of whole blocks: the parameters `bs` and `size`.
pub(crate) fn whole_blocks(
    parameters: &Parameters,
    block: RangeInclusive<u64>,
    largest: u64,
) -> Result<(u64, u64), Failure> {
    let block = parameters.within("bs", block)?;
    let size = parameters.within("size", block..=largest)?;
    if size.is_multiple_of(block) {
        Ok((block, size))
    } else {
        Err(broken("size", "it is not a multiple of bs"))
    }
}

/// Opens a file of the trial's folder for reading and writing, made where it is not there.
pub fn open(directory: &Path, name: &str, flags: OFlags) -> Result<OwnedFd, Failure> {
    let all = OFlags::RDWR | OFlags::CREATE | OFlags::CLOEXEC | flags;
    rustix::fs::openat(CWD, directory.join(name), all, Mode::RUSR | Mode::WUSR).map_err(|e| {
        if flags.contains(OFlags::DIRECT) && matches!(e, Errno::INVAL | Errno::OPNOTSUPP) {
            return Failure::new(FailureKind::NotSupported, "the file system has no O_DIRECT");
        }
        broken(&format!("opening a file in {}", directory.display()), e)
    })
}

/// Writes `pool` again and again until the file has `size` bytes, and has it written out.
///
/// In pieces of `piece` bytes, and the choice counts: a kernel caches a file in the pieces in which it was written, and
/// a later write of 4 KiB into a piece of 1 MiB takes several times as long as one into a piece of its own size.
pub fn fill(file: BorrowedFd<'_>, pool: &[u8], piece: usize, size: u64) -> Result<(), Failure> {
    let mut done = 0;
    while done < size {
        let from = (done % pool.len() as u64) as usize;
        let left = (size - done).try_into().unwrap_or(usize::MAX);
        let until = pool.len().min(from.saturating_add(piece.min(left)));
        let written = syscall::pwrite(file, &pool[from..until], done);
        done += written.map_err(|e| broken("writing a file to read", e))? as u64;
    }
    syscall::fdatasync(file).map(drop).map_err(|e| broken("fdatasync", e))
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

/// Which share of a file's pages is in the cache, by mincore(2); None where that cannot be seen.
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

/// Length of a file, by seeking: without a call that reads metadata by a path.
pub fn length(file: BorrowedFd<'_>) -> Result<u64, Failure> {
    rustix::fs::seek(file, rustix::fs::SeekFrom::End(0)).map_err(|e| broken("seeking", e))
}

/// The size that a parameter is, for the label of a case.
pub(crate) fn size_of(parameters: &Parameters, key: &str) -> String {
    parameters.integer(key).map(size_words).unwrap_or_default()
}

/// `4K`, `32M`: as short as a row heading needs, powers of 1024.
pub(crate) fn size_words(bytes: u64) -> String {
    match bytes {
        b if b >= 1 << 30 && b % (1 << 30) == 0 => format!("{}G", b >> 30),
        b if b >= 1 << 20 && b % (1 << 20) == 0 => format!("{}M", b >> 20),
        b if b >= 10 << 20 => format!("{}M", b >> 20),
        b if b >= 1 << 10 && b % (1 << 10) == 0 => format!("{}K", b >> 10),
        b if b >= 10 << 10 => format!("{}K", b >> 10),
        b => format!("{b}B"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_are_short() {
        let words = [512, 4096, 1 << 20, 1 << 30, 32 << 20, 1_500].map(size_words);
        assert_eq!(words, ["512B", "4K", "1M", "1G", "32M", "1500B"]);
    }

    #[test]
    fn what_does_not_fit_fails_before_it_is_written() {
        let failure = room(Path::new("/"), u64::MAX / 2).unwrap_err();
        assert!(failure.reason.ends_with("free: No space left on device"), "{}", failure.reason);
        assert_eq!(room(Path::new("/"), 0), Ok(()));
    }
}
