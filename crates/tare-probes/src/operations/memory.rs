//! Operations on a process's memory map.

#![allow(unsafe_code, reason = "mapping is what is measured")]

use rustix::fd::{AsFd, BorrowedFd};
use rustix::fs::OFlags;
use rustix::io::Errno;
use tare_data::failure::Failure;
use tare_paths::door::Door;

use super::repeated::{Loop, timed_loop};
use crate::harness::files;
use crate::harness::stopwatch::Stopwatch;
use crate::harness::syscall;
use crate::harness::trial::broken_failure;

/// Bytes of a mapping that is not touched.
const MAPPED: usize = 64 << 10;
/// By how much the heap grows: what glibc's malloc asks for at a time.
const GROWTH: usize = 132 << 10;

pub fn map_memory(_: &Door) -> Result<Loop<'_>, Failure> {
    Ok(Box::new(maps))
}

pub fn map_file(folder: &Door) -> Result<Loop<'_>, Failure> {
    let file = files::create_file(folder, "f", OFlags::empty())?;
    let page = rustix::param::page_size();
    files::fill_file(file.as_fd(), &vec![b't'; page], page, page as u64)?;
    Ok(Box::new(move |operations| file_maps(operations, file.as_fd(), page)))
}

pub fn protect_memory(_: &Door) -> Result<Loop<'_>, Failure> {
    let page = rustix::param::page_size();
    // Its neighbours keep their protection, so that the kernel splits and joins the mapping as it does for a program.
    let start = syscall::map_memory(MAPPED).map_err(|e| broken_failure("mapping memory", e))?;
    let mut writable = true;
    Ok(Box::new(move |operations| protects(operations, start + page, page, &mut writable)))
}

pub fn grow_heap(_: &Door) -> Result<Loop<'_>, Failure> {
    Ok(Box::new(|operations| {
        let end = syscall::set_break(0)?;
        heaps(operations, end)
    }))
}

/// Pieces of new memory that are touched before all are given back: 16 MiB fits everywhere.
const PIECES: usize = 128;
/// Pages of the file that is mapped: as many as a library's code has.
const FILE_PAGES: usize = 64;

/// Touches new pages of memory that grows by as much as malloc asks for, as that of a program which needs
/// more and more. It is mapped, since a heap has no room to grow where tare runs in user-mode Linux; mapping
/// is not timed.
pub fn new_page(_: &Door) -> Result<Loop<'_>, Failure> {
    let page = rustix::param::page_size();
    let mut pieces = Vec::with_capacity(PIECES);
    Ok(Box::new(move |operations| {
        let (mut stopwatch, mut done, mut right) = (Stopwatch::default(), 0, 0);
        while done < operations {
            let pages = (operations - done).min((GROWTH / page) as u64);
            if pieces.len() == PIECES {
                give_back(&mut pieces)?;
            }
            let start = syscall::map_memory(GROWTH)?;
            pieces.push(start);
            stopwatch.start();
            for number in 0..pages as usize {
                let address = (start + number * page) as *mut u8;
                // SAFETY: within the mapping that was just made.
                unsafe { address.write_volatile(1) };
                // SAFETY: as before.
                right += u64::from(unsafe { address.read_volatile() });
            }
            stopwatch.stop();
            done += pages;
        }
        give_back(&mut pieces)?;
        Ok((stopwatch, right))
    }))
}

fn give_back(pieces: &mut Vec<usize>) -> Result<(), Errno> {
    for start in pieces.drain(..) {
        // SAFETY: the mapping is whole and ours; no reference to it exists.
        unsafe { syscall::unmap_memory(start, GROWTH)? };
    }
    Ok(())
}

/// Touches each page of a mapped file in sequence.
pub fn file_page(folder: &Door) -> Result<Loop<'_>, Failure> {
    file_pages(folder, |address| {
        // SAFETY: the address is within the mapping that `file_pages` made.
        unsafe { address.read_volatile() == b't' }
    })
}

/// Stores to each page of a mapped file for the first time, which copies it.
pub fn copied_page(folder: &Door) -> Result<Loop<'_>, Failure> {
    file_pages(folder, |address| {
        // SAFETY: the address is within the mapping that `file_pages` made, which is private and writable.
        unsafe { address.write_volatile(b'w') };
        true
    })
}

/// Touches a file's pages by a mapping that is made anew, untimed, when all are touched.
fn file_pages(folder: &Door, touch: fn(*mut u8) -> bool) -> Result<Loop<'_>, Failure> {
    let page = rustix::param::page_size();
    let file = files::create_file(folder, "f", OFlags::empty())?;
    files::fill_file(file.as_fd(), &vec![b't'; page], page, (page * FILE_PAGES) as u64)?;
    Ok(Box::new(move |operations| {
        let (mut stopwatch, mut done, mut right) = (Stopwatch::default(), 0, 0);
        while done < operations {
            let pages = (operations - done).min(FILE_PAGES as u64);
            let start = syscall::map_file(file.as_fd(), page * FILE_PAGES)?;
            // SAFETY: the mapping is whole and ours; no reference to it exists.
            unsafe { syscall::protect_memory(start, page * FILE_PAGES, libc::PROT_READ | libc::PROT_WRITE)? };
            stopwatch.start();
            right += (0..pages as usize)
                .map(|number| u64::from(touch((start + number * page) as *mut u8)))
                .sum::<u64>();
            stopwatch.stop();
            // SAFETY: the mapping is whole and ours; no reference to it exists.
            unsafe { syscall::unmap_memory(start, page * FILE_PAGES)? };
            done += pages;
        }
        Ok((stopwatch, right))
    }))
}

timed_loop! {
    fn maps() {
        let start = syscall::map_memory(MAPPED)?;
        // SAFETY: the mapping is whole and ours; no reference to it exists.
        (unsafe { syscall::unmap_memory(start, MAPPED) }?) == 0
    }
}

timed_loop! {
    fn file_maps(file: BorrowedFd<'_>, page: usize) {
        let start = syscall::map_file(file, page)?;
        // SAFETY: within the mapping that was just made.
        let touched = unsafe { (start as *const u8).read_volatile() };
        // SAFETY: the mapping is whole and ours; no reference to it exists.
        unsafe { syscall::unmap_memory(start, page)? };
        touched == b't'
    }
}

timed_loop! {
    /// Changes the protection once per operation; every other one reverts it.
    fn protects(start: usize, page: usize, writable: &mut bool) {
        *writable = !*writable;
        let protection = if *writable { libc::PROT_READ | libc::PROT_WRITE } else { libc::PROT_READ };
        // SAFETY: the memory is ours, and nothing refers to it.
        (unsafe { syscall::protect_memory(start, page, protection) }?) == 0
    }
}

timed_loop! {
    /// Moves the heap up and back down: two calls per operation.
    fn heaps(end: usize) {
        (syscall::set_break(end + GROWTH)? == end + GROWTH) & (syscall::set_break(end)? == end)
    }
}
