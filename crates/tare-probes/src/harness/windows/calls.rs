//! Windows' calls as the timed loops make them, by the names of Linux' own.

#![allow(unsafe_code, reason = "the system is called by its C interface")]

use std::os::windows::io::{AsRawHandle, FromRawHandle, OwnedHandle};
use std::ptr;
use std::sync::OnceLock;

use windows_sys::Win32::Foundation::{ERROR_HANDLE_EOF, WAIT_OBJECT_0};
use windows_sys::Win32::Storage::FileSystem::{
    FILE_BEGIN, FlushFileBuffers, ReadFile, SetFilePointerEx, WriteFile,
};
use windows_sys::Win32::System::IO::{OVERLAPPED, OVERLAPPED_0, OVERLAPPED_0_0};
use windows_sys::Win32::System::Memory::{
    MEM_COMMIT, MEM_RELEASE, MEM_RESERVE, PAGE_READWRITE, VirtualAlloc, VirtualFree,
};
use windows_sys::Win32::System::Threading::{
    CREATE_WAITABLE_TIMER_HIGH_RESOLUTION, CreateWaitableTimerExW, INFINITE, SetWaitableTimer,
    TIMER_ALL_ACCESS, WaitForSingleObject,
};

use crate::platform::{BorrowedFd, Errno, monotonic_ns};

/// Nanoseconds of the unit in which a timer is set.
const TIMER_UNIT_NS: u64 = 100;

#[inline(always)]
fn counted(done: i32, count: u32) -> Result<usize, Errno> {
    if done == 0 { Err(Errno::last_os_error()) } else { Ok(count as usize) }
}

/// Calls ReadFile; 0 at the end of a file, and of a pipe that the other end has closed.
#[inline(always)]
pub(crate) fn read(file: BorrowedFd<'_>, into: &mut [u8]) -> Result<usize, Errno> {
    let mut count = 0;
    // SAFETY: the call writes within `into`, and its count.
    let done = unsafe {
        ReadFile(file.as_raw_handle(), into.as_mut_ptr(), into.len() as u32, &mut count, ptr::null_mut())
    };
    match counted(done, count) {
        Err(Errno::PIPE) => Ok(0),
        other => other,
    }
}

/// Calls WriteFile.
#[inline(always)]
pub(crate) fn write(file: BorrowedFd<'_>, from: &[u8]) -> Result<usize, Errno> {
    let mut count = 0;
    // SAFETY: the call reads within `from`, and writes its count.
    let done = unsafe {
        WriteFile(file.as_raw_handle(), from.as_ptr(), from.len() as u32, &mut count, ptr::null_mut())
    };
    counted(done, count)
}

/// Sets the offset of a read or write. Where the handle is not overlapped, the call waits.
#[inline(always)]
pub(crate) fn make_overlapped(at: u64) -> OVERLAPPED {
    let place = OVERLAPPED_0_0 { Offset: at as u32, OffsetHigh: (at >> 32) as u32 };
    OVERLAPPED {
        Internal: 0,
        InternalHigh: 0,
        Anonymous: OVERLAPPED_0 { Anonymous: place },
        hEvent: ptr::null_mut(),
    }
}

/// Calls ReadFile at an offset; 0 at the end of the file. Like WriteFile at an offset, it moves the file's
/// position, which Linux does not.
#[inline(always)]
pub(crate) fn pread(file: BorrowedFd<'_>, into: &mut [u8], at: u64) -> Result<usize, Errno> {
    let (mut count, mut place) = (0, make_overlapped(at));
    // SAFETY: the call writes within `into`, its count and the place, and is over when it returns.
    let done = unsafe {
        ReadFile(file.as_raw_handle(), into.as_mut_ptr(), into.len() as u32, &mut count, &mut place)
    };
    match counted(done, count) {
        Err(Errno(ERROR_HANDLE_EOF)) => Ok(0),
        other => other,
    }
}

/// Calls WriteFile at an offset.
#[inline(always)]
pub(crate) fn pwrite(file: BorrowedFd<'_>, from: &[u8], at: u64) -> Result<usize, Errno> {
    let (mut count, mut place) = (0, make_overlapped(at));
    // SAFETY: the call reads within `from`, writes its count and the place, and is over when it returns.
    let done =
        unsafe { WriteFile(file.as_raw_handle(), from.as_ptr(), from.len() as u32, &mut count, &mut place) };
    counted(done, count)
}

/// Calls FlushFileBuffers: content and metadata.
#[inline(always)]
pub(crate) fn fsync(file: BorrowedFd<'_>) -> Result<usize, Errno> {
    // SAFETY: touches no memory.
    counted(unsafe { FlushFileBuffers(file.as_raw_handle()) }, 0)
}

/// Calls FlushFileBuffers: Windows has nothing weaker that is documented for every file system.
#[inline(always)]
pub(crate) fn fdatasync(file: BorrowedFd<'_>) -> Result<usize, Errno> {
    fsync(file)
}

/// Calls SetFilePointerEx to the beginning.
#[inline(always)]
pub(crate) fn rewind_file(file: BorrowedFd<'_>) -> Result<usize, Errno> {
    // SAFETY: no place is asked for.
    counted(unsafe { SetFilePointerEx(file.as_raw_handle(), 0, ptr::null_mut(), FILE_BEGIN) }, 0)
}

/// Calls VirtualAlloc for fresh memory and returns its address.
#[inline(always)]
pub(crate) fn map_memory(length: usize) -> Result<usize, Errno> {
    // SAFETY: new memory at no particular address touches nothing that is there.
    let start = unsafe { VirtualAlloc(ptr::null(), length, MEM_RESERVE | MEM_COMMIT, PAGE_READWRITE) };
    if start.is_null() { Err(Errno::last_os_error()) } else { Ok(start as usize) }
}

/// Calls VirtualFree.
///
/// # Safety
/// The memory is what `map` gave, and nothing uses it any more.
#[inline(always)]
pub(crate) unsafe fn unmap_memory(address: usize, _length: usize) -> Result<usize, Errno> {
    // SAFETY: the caller's promise.
    counted(unsafe { VirtualFree(address as *mut _, 0, MEM_RELEASE) }, 0)
}

/// Waits for a timer of high resolution until a time of the clock that probes read.
///
/// A timer of Windows is set for a time from now, or for one of the wall clock, which may be set.
#[inline(always)]
pub(crate) fn sleep_until(time_ns: u64) -> Result<usize, Errno> {
    let timer = timer()?;
    let left = time_ns.saturating_sub(monotonic_ns()).div_ceil(TIMER_UNIT_NS);
    // Negative: from now.
    let due = -(left as i64);
    // SAFETY: the number lives through the call; nothing is called back.
    counted(unsafe { SetWaitableTimer(timer.as_raw_handle(), &due, 0, None, ptr::null(), 0) }, 0)?;
    // SAFETY: the timer is open as long as the process lives.
    match unsafe { WaitForSingleObject(timer.as_raw_handle(), INFINITE) } {
        WAIT_OBJECT_0 => Ok(0),
        _ => Err(Errno::last_os_error()),
    }
}

#[inline(always)]
fn timer() -> Result<&'static OwnedHandle, Errno> {
    static TIMER: OnceLock<Result<OwnedHandle, Errno>> = OnceLock::new();
    let make = || {
        let flags = CREATE_WAITABLE_TIMER_HIGH_RESOLUTION;
        // SAFETY: a timer without a name and with the usual rights.
        let timer = unsafe { CreateWaitableTimerExW(ptr::null(), ptr::null(), flags, TIMER_ALL_ACCESS) };
        if timer.is_null() {
            return Err(Errno::last_os_error());
        }
        // SAFETY: it is open, and nobody else's.
        Ok(unsafe { OwnedHandle::from_raw_handle(timer) })
    };
    TIMER.get_or_init(make).as_ref().map_err(|e| *e)
}
