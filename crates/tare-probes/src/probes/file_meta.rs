//! `file.meta`: small files created, statted, opened, renamed, listed and deleted.
//!
//! What git status, npm install and tar do all day. Files of 1 KiB in folders of 100, each step over all of
//! them before the next: create = open, write, close; stat = fstatat; open = open, close; rename within the
//! folder; list = open the folder, getdents until it is empty, close; unlink. Paths are relative to an open
//! folder and have one folder in them. One operation is one file through all six steps.

#![allow(unsafe_code, reason = "descriptors by number, as the measured calls give them")]

use std::ffi::CString;

use rustix::fs::{AtFlags, CWD, Mode};

use crate::harness::syscall;
use crate::probe::prelude::*;

const FILES_A_FOLDER: u64 = 100;
const BYTES: usize = 1024;
/// What a small file takes on a disk at most, with its share of the folder.
const ROOM_A_FILE: u64 = 8192;
/// Folder entries that one getdents call can give: glibc's readdir reads as much at a time.
const LISTING: usize = 32 * 1024;

pub static PROBE: Probe = Probe {
    name: "file.meta",
    title: "small file lifecycle",
    summary: "Small files created, statted, opened, renamed, listed and deleted: time per file for all six steps.",
    timed: "each of the six steps over all files of a batch, without a clock read between files",
    not_timed: "creating and removing the folders",
    distorted_by: "age of the folder and of the file system; journal settings; indexers and scanners that watch the place",
    parameters: &[],
    metrics: &[
        time("time", "file"),
        time("create", "create"),
        time("stat", "stat"),
        time("open", "open"),
        time("rename", "rename"),
        time("list", "list"),
        time("unlink", "unlink"),
    ],
    needs: &[Need::Place],
    revision: 1,
    label: |_| "small file lifecycle".into(),
    run: |trial| {
        let directory = trial.directory()?;
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
        let root = rustix::fs::openat(CWD, directory, flags, Mode::empty());
        let root = root.map_err(|e| broken("opening the trial's folder", e))?;
        let content = [b't'; BYTES];
        let mut generation = 0;
        trial.repeat(|operations, report| {
            files::room(directory, operations * ROOM_A_FILE)?;
            generation += 1;
            let tree = Tree::make(&root, generation, operations)?;
            let mut all = Stopwatch::default();
            let mut step = |name, done: Result<(Stopwatch, u64), Errno>, expected| {
                let (stopwatch, counted) = done.map_err(|e| broken(name, e))?;
                prove(name, counted, expected)?;
                all.add(&stopwatch);
                report.throughput(name, operations, &stopwatch);
                Ok::<(), Failure>(())
            };
            let at = root.as_fd();
            step("create", create(at, &tree.names, &content), operations * BYTES as u64)?;
            step("stat", stat(at, &tree.names), operations * BYTES as u64)?;
            step("open", open(at, &tree.names), operations)?;
            step("rename", rename(at, &tree.names, &tree.later_names), operations)?;
            step("list", list(at, &tree.folders, &mut [0; LISTING]), operations)?;
            step("unlink", unlink(at, &tree.later_names), operations)?;
            report.throughput("file", operations, &all);
            tree.remove(&root)
        })
    },
};

/// The names of a batch, ready for the calls.
struct Tree {
    folders: Vec<CString>,
    names: Vec<CString>,
    later_names: Vec<CString>,
}

impl Tree {
    /// Makes the folders of a batch. Each batch has folders of its own: a used one is slower on some systems.
    fn make(root: &OwnedFd, generation: u64, files: u64) -> Result<Tree, Failure> {
        let text = |text: String| CString::new(text).expect("digits and letters hold no zero byte");
        let folder = |file: u64| format!("g{generation}d{}", file / FILES_A_FOLDER);
        let tree = Tree {
            folders: (0..files.div_ceil(FILES_A_FOLDER)).map(|i| text(folder(i * FILES_A_FOLDER))).collect(),
            names: (0..files).map(|i| text(format!("{}/f{i}", folder(i)))).collect(),
            later_names: (0..files).map(|i| text(format!("{}/r{i}", folder(i)))).collect(),
        };
        for folder in &tree.folders {
            rustix::fs::mkdirat(root, folder, Mode::RWXU).map_err(|e| broken("making a folder", e))?;
        }
        Ok(tree)
    }

    fn remove(&self, root: &OwnedFd) -> Result<(), Failure> {
        self.folders.iter().try_for_each(|folder| {
            rustix::fs::unlinkat(root, folder, AtFlags::REMOVEDIR).map_err(|e| broken("removing a folder", e))
        })
    }
}

crate::timed! {
    fn create(at: BorrowedFd<'_>, names: &[CString], content: &[u8]) -> Result<(Stopwatch, u64), Errno> {
        let (mut bytes, mut stopwatch) = (0, Stopwatch::started());
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

    fn stat(at: BorrowedFd<'_>, names: &[CString]) -> Result<(Stopwatch, u64), Errno> {
        // SAFETY: an all-zero stat is valid.
        let mut about: libc::stat = unsafe { std::mem::zeroed() };
        let (mut bytes, mut stopwatch) = (0, Stopwatch::started());
        for name in names {
            syscall::fstatat(at, name, &mut about)?;
            bytes += about.st_size as u64;
        }
        stopwatch.stop();
        Ok((stopwatch, bytes))
    }

    fn open(at: BorrowedFd<'_>, names: &[CString]) -> Result<(Stopwatch, u64), Errno> {
        let (mut opened, mut stopwatch) = (0, Stopwatch::started());
        for name in names {
            // SAFETY: nobody else knows the number that openat gave.
            unsafe { syscall::close(syscall::openat(at, name, libc::O_RDONLY, 0)?) }?;
            opened += 1;
        }
        stopwatch.stop();
        Ok((stopwatch, opened))
    }

    fn rename(at: BorrowedFd<'_>, from: &[CString], to: &[CString]) -> Result<(Stopwatch, u64), Errno> {
        let (mut renamed, mut stopwatch) = (0, Stopwatch::started());
        for (from, to) in from.iter().zip(to) {
            syscall::renameat(at, from, to)?;
            renamed += 1;
        }
        stopwatch.stop();
        Ok((stopwatch, renamed))
    }

    /// Counts the files of all folders.
    fn list(at: BorrowedFd<'_>, folders: &[CString], listing: &mut [u8]) -> Result<(Stopwatch, u64), Errno> {
        let (mut found, mut stopwatch) = (0, Stopwatch::started());
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

/// How many entries are files of the batch: their names begin with r. getdents64(2) has the layout.
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
    fn unlink(at: BorrowedFd<'_>, names: &[CString]) -> Result<(Stopwatch, u64), Errno> {
        let (mut removed, mut stopwatch) = (0, Stopwatch::started());
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
    use super::super::tests::{request, run};
    use super::*;
    use tare_data::request::Amount;

    #[test]
    fn more_files_than_a_folder_holds_are_all_listed() {
        let mut request = request(&PROBE, &[]);
        request.amount = Amount::Operations { batch: 2 * FILES_A_FOLDER + 5, batches: 1 };
        run(&request).unwrap();
    }

    #[test]
    fn a_damaged_listing_ends() {
        assert_eq!(renamed_files(&[0; 64]), 0);
        assert_eq!(renamed_files(&[0xff; 19]), 0);
    }
}
