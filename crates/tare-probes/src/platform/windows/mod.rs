//! Interface to Windows: the performance counter, pages of VirtualAlloc, handles, and jobs that end with their owner.

#![allow(unsafe_code, reason = "the system is called by its C interface")]

use std::fmt;
use std::io;
use std::ops::BitOr;
use std::os::windows::io::{AsHandle, BorrowedHandle, OwnedHandle};
use std::ptr::NonNull;
use std::sync::atomic::{AtomicU64, Ordering};

use windows_sys::Win32::Foundation::{
    ERROR_BROKEN_PIPE, ERROR_DISK_FULL, ERROR_INVALID_PARAMETER, ERROR_IO_DEVICE,
};
use windows_sys::Win32::Storage::FileSystem::{FILE_FLAG_NO_BUFFERING, FILE_FLAG_WRITE_THROUGH};
use windows_sys::Win32::System::Memory::{
    MEM_COMMIT, MEM_RELEASE, MEM_RESERVE, PAGE_READWRITE, VirtualAlloc, VirtualFree,
};
use windows_sys::Win32::System::Performance::{QueryPerformanceCounter, QueryPerformanceFrequency};
use windows_sys::Win32::System::SystemInformation::{GetSystemInfo, SYSTEM_INFO};

mod job;
pub(crate) mod turns;

pub use job::Job;
pub(crate) use job::{
    begin_agent, bound_trial, describe_ending, ended_by_alarm, set_alarm, set_inherited, set_process_group,
    wait_for_trial,
};

/// Handles by the names that the portable loops know.
pub(crate) type OwnedFd = OwnedHandle;
pub(crate) type BorrowedFd<'a> = BorrowedHandle<'a>;

pub(crate) trait AsFd {
    fn as_fd(&self) -> BorrowedFd<'_>;
}

impl AsFd for OwnedHandle {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.as_handle()
    }
}

/// Flags of opening a file, by the names that the portable loops know.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct OFlags {
    /// Flags of CreateFile.
    pub(crate) flags: u32,
    pub(crate) truncates: bool,
}

impl OFlags {
    pub(crate) const TRUNC: OFlags = OFlags { flags: 0, truncates: true };
    /// For devices, which are not here.
    pub(crate) const RDONLY: OFlags = OFlags::empty();
    pub(crate) const WRONLY: OFlags = OFlags::empty();
    /// Past the cache.
    pub(crate) const DIRECT: OFlags = OFlags { flags: FILE_FLAG_NO_BUFFERING, truncates: false };
    /// Each write is durable.
    pub(crate) const DSYNC: OFlags = OFlags { flags: FILE_FLAG_WRITE_THROUGH, truncates: false };

    pub(crate) const fn empty() -> OFlags {
        OFlags { flags: 0, truncates: false }
    }
}

impl BitOr for OFlags {
    type Output = OFlags;

    fn bitor(self, other: OFlags) -> OFlags {
        OFlags { flags: self.flags | other.flags, truncates: self.truncates || other.truncates }
    }
}

/// An error of the system's, by its number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Errno(pub(crate) u32);

impl Errno {
    pub(crate) const INVAL: Errno = Errno(ERROR_INVALID_PARAMETER);
    pub(crate) const IO: Errno = Errno(ERROR_IO_DEVICE);
    pub(crate) const NOSPC: Errno = Errno(ERROR_DISK_FULL);
    pub(crate) const PIPE: Errno = Errno(ERROR_BROKEN_PIPE);

    /// Reads the error of the previous call.
    #[cold]
    pub(crate) fn last_os_error() -> Errno {
        Errno(io::Error::last_os_error().raw_os_error().unwrap_or_default() as u32)
    }
}

impl fmt::Display for Errno {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        io::Error::from_raw_os_error(self.0 as i32).fmt(f)
    }
}

/// Nanoseconds of a step of the performance counter; 0 before it was asked for.
static STEP_NS: AtomicU64 = AtomicU64::new(0);

/// Reads the performance counter in nanoseconds, which is the clock of programs here. Its step is that of its
/// frequency, 100 ns on most machines.
#[inline(always)]
pub(crate) fn monotonic_ns() -> u64 {
    let mut ticks = 0;
    // SAFETY: the number lives through the call, which cannot fail.
    unsafe { QueryPerformanceCounter(&mut ticks) };
    match STEP_NS.load(Ordering::Relaxed) {
        0 => first_ns(ticks as u64),
        step_ns => ticks as u64 * step_ns,
    }
}

/// Tells nothing: what reaches disks is not counted here, and processor time stands beside it.
pub(crate) fn processor_ns() -> Option<u64> {
    None
}

/// Converts ticks where the step is not known yet, or is not a whole number of nanoseconds.
#[cold]
fn first_ns(ticks: u64) -> u64 {
    let mut frequency = 0;
    // SAFETY: as above.
    unsafe { QueryPerformanceFrequency(&mut frequency) };
    let frequency = frequency.max(1) as u64;
    if 1_000_000_000_u64.is_multiple_of(frequency) {
        STEP_NS.store(1_000_000_000 / frequency, Ordering::Relaxed);
    }
    (u128::from(ticks) * 1_000_000_000 / u128::from(frequency)) as u64
}

pub(crate) fn page_size() -> usize {
    system_info().dwPageSize as usize
}

/// Reads the number of processors and the size of pages.
pub(crate) fn system_info() -> SYSTEM_INFO {
    // SAFETY: an all-zero struct is valid.
    let mut about: SYSTEM_INFO = unsafe { std::mem::zeroed() };
    // SAFETY: the struct lives through the call.
    unsafe { GetSystemInfo(&mut about) };
    about
}

/// Maps fresh, zeroed memory; its pages are not there until they are touched.
pub(crate) fn map_pages(length: usize) -> io::Result<NonNull<u8>> {
    // SAFETY: new memory at no particular address.
    let start = unsafe { VirtualAlloc(std::ptr::null(), length, MEM_RESERVE | MEM_COMMIT, PAGE_READWRITE) };
    NonNull::new(start.cast()).ok_or_else(io::Error::last_os_error)
}

/// Gives back what `map_pages` gave.
///
/// # Safety
/// The memory is whole, the caller's, and nothing borrows it any more.
pub(crate) unsafe fn unmap_pages(start: NonNull<u8>, _length: usize) {
    // SAFETY: the caller's promise; the whole is given back.
    unsafe { VirtualFree(start.as_ptr().cast(), 0, MEM_RELEASE) };
}

/// Creates a pipe and returns its read end and its write end.
pub(crate) fn pipe() -> io::Result<(OwnedFd, OwnedFd)> {
    let (reader, writer) = io::pipe()?;
    Ok((reader.into(), writer.into()))
}

/// Does nothing: pages have the usual size unless large ones are asked for.
///
/// # Safety
/// None is needed.
pub(crate) unsafe fn small_pages(_start: NonNull<u8>, _length: usize) {}
