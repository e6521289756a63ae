//! Operations on one file that is in every cache: what a layer adds to the call, and not what a disk does.

#![allow(unsafe_code, reason = "numbers of descriptors that are opened and closed in a loop")]

use std::ffi::CString;
use std::path::Path;

use rustix::fd::{AsFd, BorrowedFd};
use rustix::fs::{Mode, OFlags};
use rustix::io::Errno;
use tare_data::failure::Failure;
use tare_paths::door::Door;

use super::repeated::{Loop, timed_loop};
use crate::harness::files;
use crate::harness::stopwatch::Stopwatch;
use crate::harness::syscall;
use crate::harness::trial::broken_failure;

const SMALL: usize = 1 << 10;
const LARGE: usize = 64 << 10;
/// Folders above the file of `stat-8`, whose path from the trial's folder has eight names.
const FOLDERS: usize = 7;

/// Entries of the folder that is listed, and room for as many as one call gives glibc's readdir.
const ENTRIES: usize = 100;
const LISTING: usize = 32 * 1024;
/// Bytes of an entry with a name of this length, at least; see getdents(2).
const SHORTEST_ENTRY: usize = 24;

/// Files that are taken in turn, so that each is met as for the first time: more than the caches of layers hold, which is a
/// thousand in gVisor.
const TURNS: usize = 1500;

/// Makes a file of a size, and returns it open.
fn file_of(folder: &Door, size: usize) -> Result<rustix::fd::OwnedFd, Failure> {
    let file = files::create_file(folder, "f", OFlags::empty())?;
    files::fill_file(file.as_fd(), &vec![b't'; size], size, size as u64)?;
    Ok(file)
}

/// Opens the trial's folder, from which paths are looked up.
fn at(folder: &Door) -> Result<rustix::fd::OwnedFd, Failure> {
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
    rustix::fs::openat(folder, c".", flags, Mode::empty())
        .map_err(|e| broken_failure("opening the trial's folder", e))
}

pub fn stat_file(folder: &Door) -> Result<Loop<'_>, Failure> {
    file_of(folder, SMALL)?;
    let at = at(folder)?;
    Ok(Box::new(move |operations| stats(operations, at.as_fd(), c"f")))
}

pub fn stat_deep(folder: &Door) -> Result<Loop<'_>, Failure> {
    let mut deepest = None;
    for _ in 0..FOLDERS {
        let made = deepest.as_ref().unwrap_or(folder).make_new_folder(Path::new("d"));
        deepest = Some(made.map_err(|e| broken_failure("making a folder", e))?);
    }
    file_of(deepest.as_ref().unwrap_or(folder), SMALL)?;
    let path = CString::new("d/".repeat(FOLDERS) + "f").map_err(|e| broken_failure("a path", e))?;
    let at = at(folder)?;
    Ok(Box::new(move |operations| stats(operations, at.as_fd(), &path)))
}

pub fn stat_missing(folder: &Door) -> Result<Loop<'_>, Failure> {
    let at = at(folder)?;
    Ok(Box::new(move |operations| stats_of_nothing(operations, at.as_fd())))
}

pub fn open_file(folder: &Door) -> Result<Loop<'_>, Failure> {
    file_of(folder, SMALL)?;
    let at = at(folder)?;
    Ok(Box::new(move |operations| opens(operations, at.as_fd(), c"f")))
}

/// Opens the root folder, which is everywhere and in memory.
pub fn open_root(_: &Door) -> Result<Loop<'_>, Failure> {
    Ok(Box::new(|operations| opens(operations, rustix::fs::CWD, c"/")))
}

pub fn stat_new(folder: &Door) -> Result<Loop<'_>, Failure> {
    let (names, at) = (turns(folder)?, at(folder)?);
    let mut turn = 0;
    Ok(Box::new(move |operations| stats_in_turn(operations, at.as_fd(), &names, &mut turn)))
}

pub fn read_new(folder: &Door) -> Result<Loop<'_>, Failure> {
    let (names, at) = (turns(folder)?, at(folder)?);
    let (mut turn, mut into) = (0, [0; SMALL]);
    Ok(Box::new(move |operations| reads_in_turn(operations, at.as_fd(), &names, &mut turn, &mut into)))
}

/// Makes the files that are taken in turn, and returns their names.
fn turns(folder: &Door) -> Result<Vec<CString>, Failure> {
    let name = |turn: usize| {
        let name = format!("turn-{turn}");
        let file = files::create_file(folder, &name, OFlags::empty())?;
        files::fill_file(file.as_fd(), &[b't'; SMALL], SMALL, SMALL as u64)?;
        CString::new(name).map_err(|e| broken_failure("a path", e))
    };
    (0..TURNS).map(name).collect()
}

pub fn list_folder(folder: &Door) -> Result<Loop<'_>, Failure> {
    for entry in 0..ENTRIES {
        drop(files::create_file(folder, &format!("entry-{entry}"), OFlags::empty())?);
    }
    let (at, mut listing) = (at(folder)?, vec![0; LISTING]);
    Ok(Box::new(move |operations| lists(operations, at.as_fd(), &mut listing)))
}

pub fn read_small(folder: &Door) -> Result<Loop<'_>, Failure> {
    reading(folder, SMALL)
}

pub fn read_large(folder: &Door) -> Result<Loop<'_>, Failure> {
    reading(folder, LARGE)
}

pub fn write_small(folder: &Door) -> Result<Loop<'_>, Failure> {
    writing(folder, SMALL)
}

pub fn write_large(folder: &Door) -> Result<Loop<'_>, Failure> {
    writing(folder, LARGE)
}

fn reading(folder: &Door, size: usize) -> Result<Loop<'_>, Failure> {
    let (file, mut into) = (file_of(folder, size)?, vec![0; size]);
    Ok(Box::new(move |operations| reads(operations, file.as_fd(), &mut into)))
}

fn writing(folder: &Door, size: usize) -> Result<Loop<'_>, Failure> {
    let (file, from) = (file_of(folder, size)?, vec![b'w'; size]);
    Ok(Box::new(move |operations| writes(operations, file.as_fd(), &from)))
}

timed_loop! {
    fn stats(at: BorrowedFd<'_>, path: &std::ffi::CStr) {
        let mut about = syscall::empty_stat();
        syscall::fstatat(at, path, &mut about)?;
        about.st_size as usize == SMALL
    }
}

timed_loop! {
    fn stats_of_nothing(at: BorrowedFd<'_>) {
        syscall::fstatat(at, c"nothing", &mut syscall::empty_stat()) == Err(Errno::NOENT)
    }
}

timed_loop! {
    fn opens(at: BorrowedFd<'_>, path: &std::ffi::CStr) {
        let file = syscall::openat(at, path, libc::O_RDONLY, 0)?;
        // SAFETY: nobody else knows the number that openat gave.
        (unsafe { syscall::close(file) }?) == 0
    }
}

timed_loop! {
    fn stats_in_turn(at: BorrowedFd<'_>, names: &[CString], turn: &mut usize) {
        let mut about = syscall::empty_stat();
        syscall::fstatat(at, &names[*turn], &mut about)?;
        *turn = (*turn + 1) % names.len();
        about.st_size as usize == SMALL
    }
}

timed_loop! {
    fn reads_in_turn(at: BorrowedFd<'_>, names: &[CString], turn: &mut usize, into: &mut [u8]) {
        let number = syscall::openat(at, &names[*turn], libc::O_RDONLY, 0)?;
        *turn = (*turn + 1) % names.len();
        // SAFETY: the number was just given to us, and is closed once, below.
        let file = unsafe { BorrowedFd::borrow_raw(number as i32) };
        let got = syscall::read(file, into);
        // SAFETY: as above.
        unsafe { syscall::close(number)? };
        got? == into.len()
    }
}

timed_loop! {
    fn reads(file: BorrowedFd<'_>, into: &mut [u8]) {
        syscall::pread(file, into, 0)? == into.len()
    }
}

timed_loop! {
    fn writes(file: BorrowedFd<'_>, from: &[u8]) {
        syscall::pwrite(file, from, 0)? == from.len()
    }
}

timed_loop! {
    /// Lists a folder from opening to closing it, as readdir(3) does: the last call returns nothing.
    fn lists(at: BorrowedFd<'_>, listing: &mut [u8]) {
        let number = syscall::openat(at, c".", libc::O_RDONLY | libc::O_DIRECTORY, 0)?;
        // SAFETY: the number was just given to us, and is closed once, below.
        let folder = unsafe { BorrowedFd::borrow_raw(number as i32) };
        let (some, none) = (syscall::getdents(folder, listing), syscall::getdents(folder, listing));
        // SAFETY: as above.
        unsafe { syscall::close(number)? };
        (some? >= ENTRIES * SHORTEST_ENTRY) & (none? == 0)
    }
}
