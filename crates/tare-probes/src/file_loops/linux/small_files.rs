//! Steps in the life of small files, as programs for Linux make them: by names relative to an open folder.

#![allow(unsafe_code, reason = "descriptors by number, as the measured calls give them")]

use std::ffi::CString;

use rustix::fd::{AsFd, BorrowedFd, OwnedFd};
use rustix::fs::{Mode, OFlags};
use rustix::io::Errno;
use tare_paths::door::Door;

use crate::harness::stopwatch::Stopwatch;
use crate::harness::syscall;

/// Folder entries that one getdents call can give: glibc's readdir reads as much at a time.
pub(crate) const LISTING: usize = 32 * 1024;

/// A name, ready for the calls.
pub(crate) type Name = CString;

/// The folder that names are relative to.
pub(crate) struct Root(OwnedFd);

impl Root {
    pub(crate) fn open(folder: &Door) -> Result<Root, Errno> {
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
        rustix::fs::openat(folder, c".", flags, Mode::empty()).map(Root)
    }

    pub(crate) fn make_name(&self, text: &str) -> Name {
        CString::new(text).expect("digits and letters hold no zero byte")
    }

    pub(crate) fn make_folder(&self, name: &Name) -> Result<(), Errno> {
        rustix::fs::mkdirat(&self.0, name, Mode::RWXU)
    }
}

crate::timed! {
    pub(crate) fn create_files(root: &Root, names: &[Name], content: &[u8]) -> Result<(Stopwatch, u64), Errno> {
        let at = root.0.as_fd();
        let (mut bytes, mut stopwatch) = (0, Stopwatch::start_new());
        for name in names {
            let file = syscall::openat(at, name, libc::O_CREAT | libc::O_EXCL | libc::O_WRONLY, 0o600)?;
            // SAFETY: the number was just given to us, and is closed once, below.
            let written = syscall::write(unsafe { BorrowedFd::borrow_raw(file as i32) }, content);
            // SAFETY: as above.
            unsafe { syscall::close(file) }?;
            bytes += written? as u64;
        }
        stopwatch.stop();
        Ok((stopwatch, bytes))
    }

    pub(crate) fn stat_files(root: &Root, names: &[Name]) -> Result<(Stopwatch, u64), Errno> {
        let at = root.0.as_fd();
        // SAFETY: an all-zero stat is valid.
        let mut about: libc::stat = unsafe { std::mem::zeroed() };
        let (mut bytes, mut stopwatch) = (0, Stopwatch::start_new());
        for name in names {
            syscall::fstatat(at, name, &mut about)?;
            bytes += about.st_size as u64;
        }
        stopwatch.stop();
        Ok((stopwatch, bytes))
    }

    pub(crate) fn open_files(root: &Root, names: &[Name]) -> Result<(Stopwatch, u64), Errno> {
        let at = root.0.as_fd();
        let (mut opened, mut stopwatch) = (0, Stopwatch::start_new());
        for name in names {
            // SAFETY: nobody else knows the number that openat gave.
            unsafe { syscall::close(syscall::openat(at, name, libc::O_RDONLY, 0)?) }?;
            opened += 1;
        }
        stopwatch.stop();
        Ok((stopwatch, opened))
    }

    pub(crate) fn rename_files(root: &Root, from: &[Name], to: &[Name]) -> Result<(Stopwatch, u64), Errno> {
        let at = root.0.as_fd();
        let (mut renamed, mut stopwatch) = (0, Stopwatch::start_new());
        for (from, to) in from.iter().zip(to) {
            syscall::renameat(at, from, to)?;
            renamed += 1;
        }
        stopwatch.stop();
        Ok((stopwatch, renamed))
    }

    /// Counts the files of all folders.
    pub(crate) fn list_folders(root: &Root, folders: &[Name], listing: &mut [u8]) -> Result<(Stopwatch, u64), Errno> {
        let at = root.0.as_fd();
        let (mut found, mut stopwatch) = (0, Stopwatch::start_new());
        for name in folders {
            let folder = syscall::openat(at, name, libc::O_RDONLY | libc::O_DIRECTORY, 0)?;
            loop {
                // SAFETY: the number was just given to us, and is closed once, below.
                let got = syscall::getdents(unsafe { BorrowedFd::borrow_raw(folder as i32) }, listing)?;
                if got == 0 {
                    break;
                }
                found += renamed_files(&listing[..got]);
            }
            // SAFETY: as above.
            unsafe { syscall::close(folder) }?;
        }
        stopwatch.stop();
        Ok((stopwatch, found))
    }
}

/// Counts the entries that are files of the batch: their names begin with r. getdents64(2) has the layout.
#[inline(always)]
fn renamed_files(listing: &[u8]) -> u64 {
    let (mut at, mut files) = (0, 0);
    // Inode 8 bytes, offset 8, length of the record 2, type 1, name.
    while let Some([low, high, _, first]) = listing.get(at + 16..at + 20) {
        files += u64::from(*first == b'r');
        at += usize::from(u16::from_le_bytes([*low, *high])).max(20);
    }
    files
}

crate::timed! {
    pub(crate) fn unlink_files(root: &Root, names: &[Name]) -> Result<(Stopwatch, u64), Errno> {
        let at = root.0.as_fd();
        let (mut removed, mut stopwatch) = (0, Stopwatch::start_new());
        for name in names {
            syscall::unlinkat(at, name)?;
            removed += 1;
        }
        stopwatch.stop();
        Ok((stopwatch, removed))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_damaged_listing_ends() {
        assert_eq!(renamed_files(&[0; 64]), 0);
        assert_eq!(renamed_files(&[0xff; 19]), 0);
    }
}
