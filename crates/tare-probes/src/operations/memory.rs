//! Operations on a process's memory map.

#![allow(unsafe_code, reason = "mapping is what is measured")]

use std::path::Path;

use rustix::fd::{AsFd, BorrowedFd};
use rustix::fs::OFlags;
use rustix::io::Errno;
use tare_data::failure::Failure;

use super::repeated::{Loop, timed_loop};
use crate::harness::files;
use crate::harness::stopwatch::Stopwatch;
use crate::harness::syscall;
use crate::harness::trial::broken;

/// Bytes of a mapping that is not touched.
const MAPPED: usize = 64 << 10;
/// By how much the heap grows: what glibc's malloc asks for at a time.
const GROWTH: usize = 132 << 10;

pub fn map(_: &Path) -> Result<Loop<'_>, Failure> {
    Ok(Box::new(maps))
}

pub fn map_file(folder: &Path) -> Result<Loop<'_>, Failure> {
    let file = files::open(folder, "f", OFlags::empty())?;
    let page = rustix::param::page_size();
    files::fill(file.as_fd(), &vec![b't'; page], page, page as u64)?;
    Ok(Box::new(move |operations| file_maps(operations, file.as_fd(), page)))
}

pub fn protect(_: &Path) -> Result<Loop<'_>, Failure> {
    let page = rustix::param::page_size();
    // Its neighbours keep their protection, so that the kernel splits and joins the mapping as it does for a program.
    let start = syscall::map(MAPPED).map_err(|e| broken("mapping memory", e))?;
    let mut writable = true;
    Ok(Box::new(move |operations| protects(operations, start + page, page, &mut writable)))
}

pub fn grow_heap(_: &Path) -> Result<Loop<'_>, Failure> {
    Ok(Box::new(|operations| {
        let end = syscall::set_break(0)?;
        heaps(operations, end)
    }))
}

timed_loop! {
    fn maps() {
        let start = syscall::map(MAPPED)?;
        // SAFETY: the mapping is whole and ours; no reference to it exists.
        (unsafe { syscall::unmap(start, MAPPED) }?) == 0
    }
}

timed_loop! {
    fn file_maps(file: BorrowedFd<'_>, page: usize) {
        let start = syscall::map_file(file, page)?;
        // SAFETY: within the mapping that was just made.
        let touched = unsafe { (start as *const u8).read_volatile() };
        // SAFETY: the mapping is whole and ours; no reference to it exists.
        unsafe { syscall::unmap(start, page)? };
        touched == b't'
    }
}

timed_loop! {
    /// An operation is one change; every other one takes it back.
    fn protects(start: usize, page: usize, writable: &mut bool) {
        *writable = !*writable;
        let protection = if *writable { libc::PROT_READ | libc::PROT_WRITE } else { libc::PROT_READ };
        // SAFETY: the memory is ours, and nothing refers to it.
        (unsafe { syscall::protect(start, page, protection) }?) == 0
    }
}

timed_loop! {
    /// An operation is two calls: up, and down to where it was.
    fn heaps(end: usize) {
        (syscall::set_break(end + GROWTH)? == end + GROWTH) & (syscall::set_break(end)? == end)
    }
}
