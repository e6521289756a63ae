//! System calls as the timed loops make them, with the machine code that glibc programs have.
//!
//! Why not a library: the bytes in front of `syscall` are measured too. gVisor's systrap platform rewrites a
//! call site into a cheap jump only where `mov $number,%eax` stands directly before `syscall`; any other
//! site is trapped each time, at several times the cost. A compiler that is free to place the number puts
//! argument moves in between at some sites and not at others. glibc's wrappers have the number last at every
//! site, as `mov $number,%eax`, and `xor %eax,%eax` for read, whose number is 0. These have exactly that, so
//! that a probe sees what the programs of the environment see. A test disassembles them.
//!
//! Functions that hold timed calls stand in the section [`SECTION`], where the test finds them.

use core::arch::asm;
use rustix::fd::{AsRawFd, BorrowedFd};
use rustix::io::Errno;
use std::ffi::CStr;
use std::sync::atomic::AtomicU32;

/// The section of the binary that holds every timed loop with a system call in it.
///
/// Its name is a C identifier, so that the linker keeps it apart and gives it a start and a stop symbol.
pub const SECTION: &str = "tare_timed";

/// Marks a function as one that holds timed system calls: it stands in [`SECTION`], by itself.
#[macro_export]
macro_rules! timed {
    ($(#[$attribute:meta])* fn $name:ident $($rest:tt)*) => {
        $(#[$attribute])*
        #[inline(never)]
        #[cfg_attr(target_os = "linux", unsafe(link_section = "tare_timed"))]
        fn $name $($rest)*
    };
}

#[cfg(not(target_arch = "x86_64"))]
compile_error!("the timed system calls are written for x86-64 alone");

macro_rules! call {
    ($number:expr $(, $register:tt = $argument:expr)*) => {{
        let answer: isize;
        asm!(
            ".if {number} == 0",
            "xor eax, eax",
            ".else",
            "mov eax, {number}",
            ".endif",
            "syscall",
            number = const $number,
            out("rax") answer,
            $(in($register) $argument,)*
            out("rcx") _,
            out("r11") _,
            options(nostack),
        );
        answer
    }};
}

/// The number of bytes, or whatever the call counts, or its error.
#[inline(always)]
fn counted(answer: isize) -> Result<usize, Errno> {
    if answer < 0 { Err(Errno::from_raw_os_error(-answer as i32)) } else { Ok(answer as usize) }
}

/// getppid(2).
#[inline(always)]
pub fn getppid() -> isize {
    // SAFETY: takes nothing, touches no memory.
    unsafe { call!(libc::SYS_getppid) }
}

/// getpid(2), never from a cache.
#[inline(always)]
pub fn getpid() -> isize {
    // SAFETY: takes nothing, touches no memory.
    unsafe { call!(libc::SYS_getpid) }
}

/// getuid(2).
#[inline(always)]
pub(crate) fn getuid() -> isize {
    // SAFETY: takes nothing, touches no memory.
    unsafe { call!(libc::SYS_getuid) }
}

/// umask(2); gives the mask before.
#[inline(always)]
pub(crate) fn umask(mask: usize) -> isize {
    // SAFETY: touches no memory.
    unsafe { call!(libc::SYS_umask, "rdi" = mask) }
}

/// dup(2); the caller has to [`close`] the number.
#[inline(always)]
pub(crate) fn dup(fd: BorrowedFd<'_>) -> Result<usize, Errno> {
    // SAFETY: touches no memory.
    counted(unsafe { call!(libc::SYS_dup, "rdi" = fd.as_raw_fd() as usize) })
}

/// close(2) of a number that [`dup`] or [`openat`] gave.
///
/// # Safety
/// The caller owns the descriptor, and nothing uses it afterwards.
#[inline(always)]
pub unsafe fn close(number: usize) -> Result<usize, Errno> {
    // SAFETY: touches no memory; the caller's promise.
    counted(unsafe { call!(libc::SYS_close, "rdi" = number) })
}

/// read(2).
#[inline(always)]
pub fn read(fd: BorrowedFd<'_>, into: &mut [u8]) -> Result<usize, Errno> {
    let fd = fd.as_raw_fd() as usize;
    // SAFETY: the kernel writes within `into`.
    counted(unsafe { call!(libc::SYS_read, "rdi" = fd, "rsi" = into.as_mut_ptr(), "rdx" = into.len()) })
}

/// write(2).
#[inline(always)]
pub fn write(fd: BorrowedFd<'_>, from: &[u8]) -> Result<usize, Errno> {
    let fd = fd.as_raw_fd() as usize;
    // SAFETY: the kernel reads within `from`.
    counted(unsafe { call!(libc::SYS_write, "rdi" = fd, "rsi" = from.as_ptr(), "rdx" = from.len()) })
}

/// pread(2).
#[inline(always)]
pub(crate) fn pread(fd: BorrowedFd<'_>, into: &mut [u8], at: u64) -> Result<usize, Errno> {
    let fd = fd.as_raw_fd() as usize;
    // SAFETY: the kernel writes within `into`.
    counted(unsafe {
        call!(libc::SYS_pread64, "rdi" = fd, "rsi" = into.as_mut_ptr(), "rdx" = into.len(), "r10" = at)
    })
}

/// pwrite(2).
#[inline(always)]
pub(crate) fn pwrite(fd: BorrowedFd<'_>, from: &[u8], at: u64) -> Result<usize, Errno> {
    let fd = fd.as_raw_fd() as usize;
    // SAFETY: the kernel reads within `from`.
    counted(unsafe {
        call!(libc::SYS_pwrite64, "rdi" = fd, "rsi" = from.as_ptr(), "rdx" = from.len(), "r10" = at)
    })
}

/// fsync(2).
#[inline(always)]
pub(crate) fn fsync(fd: BorrowedFd<'_>) -> Result<usize, Errno> {
    // SAFETY: touches no memory.
    counted(unsafe { call!(libc::SYS_fsync, "rdi" = fd.as_raw_fd() as usize) })
}

/// fdatasync(2).
#[inline(always)]
pub(crate) fn fdatasync(fd: BorrowedFd<'_>) -> Result<usize, Errno> {
    // SAFETY: touches no memory.
    counted(unsafe { call!(libc::SYS_fdatasync, "rdi" = fd.as_raw_fd() as usize) })
}

/// lseek(2) from the beginning.
#[inline(always)]
pub fn rewind(fd: BorrowedFd<'_>) -> Result<usize, Errno> {
    // SAFETY: touches no memory.
    counted(unsafe {
        call!(libc::SYS_lseek, "rdi" = fd.as_raw_fd() as usize, "rsi" = 0usize, "rdx" = 0usize)
    })
}

/// send(2), which glibc makes as sendto(2) without an address.
#[inline(always)]
pub fn send(fd: BorrowedFd<'_>, from: &[u8]) -> Result<usize, Errno> {
    let fd = fd.as_raw_fd() as usize;
    // SAFETY: the kernel reads within `from`; there is no address.
    counted(unsafe {
        call!(
            libc::SYS_sendto,
            "rdi" = fd,
            "rsi" = from.as_ptr(),
            "rdx" = from.len(),
            "r10" = 0usize,
            "r8" = 0usize,
            "r9" = 0usize
        )
    })
}

/// recv(2), which glibc makes as recvfrom(2) without an address.
#[inline(always)]
pub fn recv(fd: BorrowedFd<'_>, into: &mut [u8]) -> Result<usize, Errno> {
    let fd = fd.as_raw_fd() as usize;
    // SAFETY: the kernel writes within `into`; there is no address.
    counted(unsafe {
        call!(
            libc::SYS_recvfrom,
            "rdi" = fd,
            "rsi" = into.as_mut_ptr(),
            "rdx" = into.len(),
            "r10" = 0usize,
            "r8" = 0usize,
            "r9" = 0usize
        )
    })
}

/// sendto(2), to an address as the kernel reads it.
#[inline(always)]
pub fn send_to(fd: BorrowedFd<'_>, from: &[u8], address: &[u8]) -> Result<usize, Errno> {
    let fd = fd.as_raw_fd() as usize;
    // SAFETY: the kernel reads within `from` and `address`.
    counted(unsafe {
        call!(
            libc::SYS_sendto,
            "rdi" = fd,
            "rsi" = from.as_ptr(),
            "rdx" = from.len(),
            "r10" = 0usize,
            "r8" = address.as_ptr(),
            "r9" = address.len()
        )
    })
}

/// recvfrom(2); notes where the bytes came from, as the kernel writes it.
#[inline(always)]
pub fn recv_from(fd: BorrowedFd<'_>, into: &mut [u8], address: &mut [u8]) -> Result<usize, Errno> {
    let fd = fd.as_raw_fd() as usize;
    let mut length = address.len() as libc::socklen_t;
    // SAFETY: the kernel writes within `into`, no more than `length` bytes of an address, and that one's length.
    counted(unsafe {
        call!(
            libc::SYS_recvfrom,
            "rdi" = fd,
            "rsi" = into.as_mut_ptr(),
            "rdx" = into.len(),
            "r10" = 0usize,
            "r8" = address.as_mut_ptr(),
            "r9" = &raw mut length
        )
    })
}

/// futex(2), FUTEX_WAIT of this process: sleeps while the word holds `value`, for at most `seconds`.
#[inline(always)]
pub(crate) fn futex_wait(word: &AtomicU32, value: u32, seconds: i64) -> Result<usize, Errno> {
    let operation = (libc::FUTEX_WAIT | libc::FUTEX_PRIVATE_FLAG) as usize;
    let longest = libc::timespec { tv_sec: seconds, tv_nsec: 0 };
    // SAFETY: the kernel reads the word and the time.
    counted(unsafe {
        call!(
            libc::SYS_futex,
            "rdi" = word.as_ptr(),
            "rsi" = operation,
            "rdx" = value as usize,
            "r10" = &raw const longest
        )
    })
}

/// futex(2), FUTEX_WAKE of one waiter of this process.
#[inline(always)]
pub(crate) fn futex_wake(word: &AtomicU32) -> Result<usize, Errno> {
    let operation = (libc::FUTEX_WAKE | libc::FUTEX_PRIVATE_FLAG) as usize;
    // SAFETY: the kernel only takes the address.
    counted(unsafe { call!(libc::SYS_futex, "rdi" = word.as_ptr(), "rsi" = operation, "rdx" = 1usize) })
}

/// mmap(2) of fresh private memory; gives its address.
#[inline(always)]
pub fn map(length: usize) -> Result<usize, Errno> {
    let protection = (libc::PROT_READ | libc::PROT_WRITE) as usize;
    let flags = (libc::MAP_PRIVATE | libc::MAP_ANONYMOUS) as usize;
    // SAFETY: new memory at no particular address touches nothing that is there.
    counted(unsafe {
        call!(
            libc::SYS_mmap,
            "rdi" = 0usize,
            "rsi" = length,
            "rdx" = protection,
            "r10" = flags,
            "r8" = usize::MAX,
            "r9" = 0usize
        )
    })
}

/// munmap(2).
///
/// # Safety
/// The memory is a whole mapping of the caller's, and nothing uses it any more.
#[inline(always)]
pub(crate) unsafe fn unmap(address: usize, length: usize) -> Result<usize, Errno> {
    // SAFETY: the caller's promise.
    counted(unsafe { call!(libc::SYS_munmap, "rdi" = address, "rsi" = length) })
}

/// clock_nanosleep(2) until an absolute time of the monotonic clock.
#[inline(always)]
pub(crate) fn sleep_until(time_ns: u64) -> Result<usize, Errno> {
    let until = libc::timespec {
        tv_sec: (time_ns / 1_000_000_000) as libc::time_t,
        tv_nsec: (time_ns % 1_000_000_000) as libc::c_long,
    };
    // SAFETY: the kernel reads the time; the remainder is not returned for an absolute one.
    counted(unsafe {
        call!(
            libc::SYS_clock_nanosleep,
            "rdi" = libc::CLOCK_MONOTONIC as usize,
            "rsi" = libc::TIMER_ABSTIME as usize,
            "rdx" = &raw const until,
            "r10" = 0usize
        )
    })
}

/// openat(2); the caller has to [`close`] the number.
#[inline(always)]
pub(crate) fn openat(folder: BorrowedFd<'_>, name: &CStr, flags: i32, mode: u32) -> Result<usize, Errno> {
    let folder = folder.as_raw_fd() as usize;
    // SAFETY: the kernel reads the name up to its end.
    counted(unsafe {
        call!(
            libc::SYS_openat,
            "rdi" = folder,
            "rsi" = name.as_ptr(),
            "rdx" = flags as usize,
            "r10" = mode as usize
        )
    })
}

/// fstatat(2), as newfstatat, never statx(2): proot 5.1 does not translate paths of statx.
#[inline(always)]
pub(crate) fn fstatat(folder: BorrowedFd<'_>, name: &CStr, into: &mut libc::stat) -> Result<usize, Errno> {
    let folder = folder.as_raw_fd() as usize;
    let into: *mut libc::stat = into;
    // SAFETY: the kernel reads the name up to its end and writes one stat.
    counted(unsafe {
        call!(libc::SYS_newfstatat, "rdi" = folder, "rsi" = name.as_ptr(), "rdx" = into, "r10" = 0usize)
    })
}

/// renameat(2) within one folder.
#[inline(always)]
pub(crate) fn renameat(folder: BorrowedFd<'_>, from: &CStr, to: &CStr) -> Result<usize, Errno> {
    let folder = folder.as_raw_fd() as usize;
    // SAFETY: the kernel reads both names up to their ends.
    counted(unsafe {
        call!(libc::SYS_renameat, "rdi" = folder, "rsi" = from.as_ptr(), "rdx" = folder, "r10" = to.as_ptr())
    })
}

/// unlinkat(2) of a file.
#[inline(always)]
pub(crate) fn unlinkat(folder: BorrowedFd<'_>, name: &CStr) -> Result<usize, Errno> {
    let folder = folder.as_raw_fd() as usize;
    // SAFETY: the kernel reads the name up to its end.
    counted(unsafe { call!(libc::SYS_unlinkat, "rdi" = folder, "rsi" = name.as_ptr(), "rdx" = 0usize) })
}

/// getdents64(2): raw folder entries.
#[inline(always)]
pub(crate) fn getdents(folder: BorrowedFd<'_>, into: &mut [u8]) -> Result<usize, Errno> {
    let folder = folder.as_raw_fd() as usize;
    // SAFETY: the kernel writes within `into`.
    counted(unsafe {
        call!(libc::SYS_getdents64, "rdi" = folder, "rsi" = into.as_mut_ptr(), "rdx" = into.len())
    })
}
