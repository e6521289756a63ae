//! System calls as the timed loops make them, with the machine code that glibc programs have.
//!
//! Why not a library: the bytes in front of `syscall` are measured too. gVisor's systrap platform rewrites a
//! call site into a cheap jump only where `mov $number,%eax` stands directly before `syscall`; any other
//! site is trapped each time, at several times the cost. A compiler that is free to place the number puts
//! argument moves in between at some sites and not at others. glibc's wrappers have the number last at every
//! site, as `mov $number,%eax`, and `xor %eax,%eax` for read, whose number is 0. These have exactly that, so
//! that a probe sees what the programs of the environment see. A test disassembles them.
//!
//! arm64's glibc puts `mov x8, #number` before `svc #0`, RISC-V's `li a7, number` before `ecall`: the same here.
//!
//! Functions that hold timed calls stand in the section [`SECTION`], where the test finds them.

#![allow(unsafe_code, reason = "system calls by their instruction, as the measured programs make them")]

use core::arch::asm;
use rustix::fd::{AsRawFd, BorrowedFd};
use rustix::io::Errno;
use std::ffi::CStr;
use std::sync::atomic::AtomicU32;

/// The section of the binary that holds every timed loop with a system call in it.
///
/// Its name is a C identifier, so that the linker keeps it apart and gives it a start and a stop symbol.
pub const SECTION: &str = "tare_timed";

#[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64", target_arch = "riscv64")))]
compile_error!("the timed system calls are written for x86-64, arm64 and 64-bit RISC-V");

/// A system call by its number, with its arguments in their order.
#[cfg(target_arch = "x86_64")]
macro_rules! call {
    ($number:expr $(, $a:expr $(, $b:expr $(, $c:expr $(, $d:expr $(, $e:expr, $f:expr)?)?)?)?)?) => {{
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
            $(in("rdi") $a,
            $(in("rsi") $b,
            $(in("rdx") $c,
            $(in("r10") $d,
            $(in("r8") $e,
            in("r9") $f,)?)?)?)?)?
            out("rcx") _,
            out("r11") _,
            options(nostack),
        );
        answer
    }};
}

#[cfg(target_arch = "aarch64")]
macro_rules! call {
    ($number:expr) => { call!($number, 0usize) };
    ($number:expr, $a:expr $(, $b:expr $(, $c:expr $(, $d:expr $(, $e:expr, $f:expr)?)?)?)?) => {{
        let answer: isize;
        asm!(
            "mov x8, #{number}",
            "svc #0",
            number = const $number,
            inlateout("x0") $a => answer,
            $(in("x1") $b,
            $(in("x2") $c,
            $(in("x3") $d,
            $(in("x4") $e,
            in("x5") $f,)?)?)?)?
            out("x8") _,
            options(nostack),
        );
        answer
    }};
}

#[cfg(target_arch = "riscv64")]
macro_rules! call {
    ($number:expr) => { call!($number, 0usize) };
    ($number:expr, $a:expr $(, $b:expr $(, $c:expr $(, $d:expr $(, $e:expr, $f:expr)?)?)?)?) => {{
        let answer: isize;
        asm!(
            "li a7, {number}",
            "ecall",
            number = const $number,
            inlateout("a0") $a => answer,
            $(in("a1") $b,
            $(in("a2") $c,
            $(in("a3") $d,
            $(in("a4") $e,
            in("a5") $f,)?)?)?)?
            out("a7") _,
            options(nostack),
        );
        answer
    }};
}

#[inline(always)]
fn counted(answer: isize) -> Result<usize, Errno> {
    if answer < 0 { Err(Errno::from_raw_os_error(-answer as i32)) } else { Ok(answer as usize) }
}

#[inline(always)]
fn number(fd: BorrowedFd<'_>) -> usize {
    fd.as_raw_fd() as usize
}

#[inline(always)]
pub fn getppid() -> isize {
    // SAFETY: takes nothing, touches no memory.
    unsafe { call!(libc::SYS_getppid) }
}

/// Calls getpid(2), never from a cache.
#[inline(always)]
pub fn getpid() -> isize {
    // SAFETY: takes nothing, touches no memory.
    unsafe { call!(libc::SYS_getpid) }
}

#[inline(always)]
pub(crate) fn getuid() -> isize {
    // SAFETY: takes nothing, touches no memory.
    unsafe { call!(libc::SYS_getuid) }
}

/// Calls umask(2), which returns the previous mask.
#[inline(always)]
pub(crate) fn umask(mask: usize) -> isize {
    // SAFETY: touches no memory.
    unsafe { call!(libc::SYS_umask, mask) }
}

/// Calls dup(2). The caller has to [`close`] the number.
#[inline(always)]
pub(crate) fn dup(fd: BorrowedFd<'_>) -> Result<usize, Errno> {
    // SAFETY: touches no memory.
    counted(unsafe { call!(libc::SYS_dup, number(fd)) })
}

/// Calls close(2) with a number that `dup` or `openat` returned.
///
/// # Safety
/// The caller owns the descriptor, and nothing uses it afterwards.
#[inline(always)]
pub unsafe fn close(number: usize) -> Result<usize, Errno> {
    // SAFETY: touches no memory; the caller's promise.
    counted(unsafe { call!(libc::SYS_close, number) })
}

#[inline(always)]
pub fn read(fd: BorrowedFd<'_>, into: &mut [u8]) -> Result<usize, Errno> {
    // SAFETY: the kernel writes within `into`.
    counted(unsafe { call!(libc::SYS_read, number(fd), into.as_mut_ptr(), into.len()) })
}

#[inline(always)]
pub fn write(fd: BorrowedFd<'_>, from: &[u8]) -> Result<usize, Errno> {
    // SAFETY: the kernel reads within `from`.
    counted(unsafe { call!(libc::SYS_write, number(fd), from.as_ptr(), from.len()) })
}

#[inline(always)]
pub(crate) fn pread(fd: BorrowedFd<'_>, into: &mut [u8], at: u64) -> Result<usize, Errno> {
    // SAFETY: the kernel writes within `into`.
    counted(unsafe { call!(libc::SYS_pread64, number(fd), into.as_mut_ptr(), into.len(), at) })
}

#[inline(always)]
pub(crate) fn pwrite(fd: BorrowedFd<'_>, from: &[u8], at: u64) -> Result<usize, Errno> {
    // SAFETY: the kernel reads within `from`.
    counted(unsafe { call!(libc::SYS_pwrite64, number(fd), from.as_ptr(), from.len(), at) })
}

#[inline(always)]
pub(crate) fn fsync(fd: BorrowedFd<'_>) -> Result<usize, Errno> {
    // SAFETY: touches no memory.
    counted(unsafe { call!(libc::SYS_fsync, number(fd)) })
}

#[inline(always)]
pub(crate) fn fdatasync(fd: BorrowedFd<'_>) -> Result<usize, Errno> {
    // SAFETY: touches no memory.
    counted(unsafe { call!(libc::SYS_fdatasync, number(fd)) })
}

/// Calls lseek(2) to the beginning.
#[inline(always)]
pub(crate) fn rewind_file(fd: BorrowedFd<'_>) -> Result<usize, Errno> {
    // SAFETY: touches no memory.
    counted(unsafe { call!(libc::SYS_lseek, number(fd), 0usize, 0usize) })
}

/// Calls send(2), which glibc makes as sendto(2) without an address.
#[inline(always)]
pub fn send(fd: BorrowedFd<'_>, from: &[u8]) -> Result<usize, Errno> {
    // SAFETY: the kernel reads within `from`; there is no address.
    counted(unsafe { call!(libc::SYS_sendto, number(fd), from.as_ptr(), from.len(), 0usize, 0usize, 0usize) })
}

/// Calls recv(2), which glibc makes as recvfrom(2) without an address.
#[inline(always)]
pub fn recv(fd: BorrowedFd<'_>, into: &mut [u8]) -> Result<usize, Errno> {
    // SAFETY: the kernel writes within `into`; there is no address.
    counted(unsafe {
        call!(libc::SYS_recvfrom, number(fd), into.as_mut_ptr(), into.len(), 0usize, 0usize, 0usize)
    })
}

/// Calls sendto(2) with an address as the kernel reads it.
#[inline(always)]
pub fn send_to(fd: BorrowedFd<'_>, from: &[u8], address: &[u8]) -> Result<usize, Errno> {
    // SAFETY: the kernel reads within `from` and `address`.
    counted(unsafe {
        call!(
            libc::SYS_sendto,
            number(fd),
            from.as_ptr(),
            from.len(),
            0usize,
            address.as_ptr(),
            address.len()
        )
    })
}

/// Calls recvfrom(2) and notes the sender's address, as the kernel writes it.
#[inline(always)]
pub fn recv_from(fd: BorrowedFd<'_>, into: &mut [u8], address: &mut [u8]) -> Result<usize, Errno> {
    let mut length = address.len() as libc::socklen_t;
    // SAFETY: the kernel writes within `into`, no more than `length` bytes of an address, and that one's length.
    counted(unsafe {
        call!(
            libc::SYS_recvfrom,
            number(fd),
            into.as_mut_ptr(),
            into.len(),
            0usize,
            address.as_mut_ptr(),
            &raw mut length
        )
    })
}

/// Calls futex(2) with FUTEX_WAIT of this process: sleeps while the word holds `value`, for at most
/// `seconds`.
#[inline(always)]
pub(crate) fn futex_wait(word: &AtomicU32, value: u32, seconds: i64) -> Result<usize, Errno> {
    let operation = (libc::FUTEX_WAIT | libc::FUTEX_PRIVATE_FLAG) as usize;
    let longest = libc::timespec { tv_sec: seconds, tv_nsec: 0 };
    // SAFETY: the kernel reads the word and the time.
    counted(unsafe { call!(libc::SYS_futex, word.as_ptr(), operation, value as usize, &raw const longest) })
}

/// Calls futex(2) with FUTEX_WAKE, for one waiter of this process.
#[inline(always)]
pub(crate) fn futex_wake(word: &AtomicU32) -> Result<usize, Errno> {
    let operation = (libc::FUTEX_WAKE | libc::FUTEX_PRIVATE_FLAG) as usize;
    // SAFETY: the kernel only takes the address.
    counted(unsafe { call!(libc::SYS_futex, word.as_ptr(), operation, 1usize) })
}

/// Calls mmap(2) for fresh private memory and returns its address.
#[inline(always)]
pub(crate) fn map_memory(length: usize) -> Result<usize, Errno> {
    let protection = (libc::PROT_READ | libc::PROT_WRITE) as usize;
    let flags = (libc::MAP_PRIVATE | libc::MAP_ANONYMOUS) as usize;
    // SAFETY: new memory at no particular address touches nothing that is there.
    counted(unsafe { call!(libc::SYS_mmap, 0usize, length, protection, flags, usize::MAX, 0usize) })
}

/// Calls munmap(2).
///
/// # Safety
/// The memory is a whole mapping of the caller's, and nothing uses it any more.
#[inline(always)]
pub(crate) unsafe fn unmap_memory(address: usize, length: usize) -> Result<usize, Errno> {
    // SAFETY: the caller's promise.
    counted(unsafe { call!(libc::SYS_munmap, address, length) })
}

/// Calls clock_nanosleep(2) with an absolute time of the monotonic clock.
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
            libc::CLOCK_MONOTONIC as usize,
            libc::TIMER_ABSTIME as usize,
            &raw const until,
            0usize
        )
    })
}

/// Calls openat(2). The caller has to [`close`] the number.
#[inline(always)]
pub(crate) fn openat(folder: BorrowedFd<'_>, name: &CStr, flags: i32, mode: u32) -> Result<usize, Errno> {
    // SAFETY: the kernel reads the name up to its end.
    counted(unsafe { call!(libc::SYS_openat, number(folder), name.as_ptr(), flags as usize, mode as usize) })
}

/// Calls fstatat(2) as newfstatat, never statx(2): proot 5.1 does not translate paths of statx.
#[inline(always)]
pub(crate) fn fstatat(folder: BorrowedFd<'_>, name: &CStr, into: &mut libc::stat) -> Result<usize, Errno> {
    let into: *mut libc::stat = into;
    // SAFETY: the kernel reads the name up to its end and writes one stat.
    counted(unsafe { call!(libc::SYS_newfstatat, number(folder), name.as_ptr(), into, 0usize) })
}

/// Calls renameat(2) within one folder.
#[cfg(not(target_arch = "riscv64"))]
#[inline(always)]
pub(crate) fn renameat(folder: BorrowedFd<'_>, from: &CStr, to: &CStr) -> Result<usize, Errno> {
    // SAFETY: the kernel reads both names up to their ends.
    counted(unsafe { call!(libc::SYS_renameat, number(folder), from.as_ptr(), number(folder), to.as_ptr()) })
}

/// Calls renameat2(2) within one folder, without flags: RISC-V has no other.
#[cfg(target_arch = "riscv64")]
#[inline(always)]
pub(crate) fn renameat(folder: BorrowedFd<'_>, from: &CStr, to: &CStr) -> Result<usize, Errno> {
    let folder = number(folder);
    // SAFETY: the kernel reads both names up to their ends, and takes no sixth argument.
    counted(unsafe { call!(libc::SYS_renameat2, folder, from.as_ptr(), folder, to.as_ptr(), 0usize, 0usize) })
}

/// Calls unlinkat(2) for a file.
#[inline(always)]
pub(crate) fn unlinkat(folder: BorrowedFd<'_>, name: &CStr) -> Result<usize, Errno> {
    // SAFETY: the kernel reads the name up to its end.
    counted(unsafe { call!(libc::SYS_unlinkat, number(folder), name.as_ptr(), 0usize) })
}

/// Calls getdents64(2), which returns raw folder entries.
#[inline(always)]
pub(crate) fn getdents(folder: BorrowedFd<'_>, into: &mut [u8]) -> Result<usize, Errno> {
    // SAFETY: the kernel writes within `into`.
    counted(unsafe { call!(libc::SYS_getdents64, number(folder), into.as_mut_ptr(), into.len()) })
}

#[inline(always)]
pub(crate) fn empty_stat() -> libc::stat {
    // SAFETY: an all-zero stat is valid.
    unsafe { core::mem::zeroed() }
}

/// Calls fstat(2).
#[inline(always)]
pub(crate) fn fstat(fd: BorrowedFd<'_>, into: &mut libc::stat) -> Result<usize, Errno> {
    let into: *mut libc::stat = into;
    // SAFETY: the kernel writes one stat.
    counted(unsafe { call!(libc::SYS_fstat, number(fd), into) })
}

/// Calls gettid(2).
#[inline(always)]
pub(crate) fn gettid() -> isize {
    // SAFETY: takes nothing, touches no memory.
    unsafe { call!(libc::SYS_gettid) }
}

/// Calls tgkill(2) for one thread of a process, as raise(3) does.
#[inline(always)]
pub(crate) fn tgkill(process: isize, thread: isize, signal: i32) -> Result<usize, Errno> {
    // SAFETY: touches no memory.
    counted(unsafe { call!(libc::SYS_tgkill, process, thread, signal as usize) })
}

/// Calls mmap(2) for reading the beginning of a file and returns the address.
#[inline(always)]
pub(crate) fn map_file(fd: BorrowedFd<'_>, length: usize) -> Result<usize, Errno> {
    let (protection, flags) = (libc::PROT_READ as usize, libc::MAP_PRIVATE as usize);
    // SAFETY: new memory at no particular address touches nothing that is there.
    counted(unsafe { call!(libc::SYS_mmap, 0usize, length, protection, flags, number(fd), 0usize) })
}

/// Calls mprotect(2).
///
/// # Safety
/// The memory is the caller's, and nothing uses it in a way that it then forbids.
#[inline(always)]
pub(crate) unsafe fn protect_memory(address: usize, length: usize, protection: i32) -> Result<usize, Errno> {
    // SAFETY: the caller's promise.
    counted(unsafe { call!(libc::SYS_mprotect, address, length, protection as usize) })
}

/// Calls brk(2), which returns the end of the heap afterwards.
#[inline(always)]
pub(crate) fn set_break(end: usize) -> Result<usize, Errno> {
    // SAFETY: growing touches nothing that is there; callers only take back what they added.
    counted(unsafe { call!(libc::SYS_brk, end) })
}
