//! Interface to Linux: the clock of the vDSO, pages of mmap, alarms, process groups.

#![allow(unsafe_code, reason = "memory is mapped, and processes are waited for and ended by number")]

use std::io;
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::process::{Child, Command, ExitStatus};
use std::ptr::NonNull;

pub(crate) use rustix::fd::{AsFd, BorrowedFd, OwnedFd};
pub(crate) use rustix::fs::OFlags;
pub(crate) use rustix::io::Errno;
use rustix::io::{FdFlags, fcntl_setfd};
use rustix::mm::{Advice, MapFlags, ProtFlags, madvise, mmap_anonymous, munmap};
pub(crate) use rustix::param::page_size;
pub(crate) use rustix::pipe::pipe;
use rustix::time::{ClockId, clock_gettime};
use tare_data::request::LONGEST_DEADLINE_MS;

pub(crate) use super::alarm::set_alarm;
use super::alarm::wake_on_alarm;

/// Time after its deadline at which a trial's process is killed, in ms. Its own alarm comes first.
const GRACE_MS: u64 = 2_000;

/// Reads the monotonic clock in nanoseconds. About 20 ns where the vDSO answers, a system call where it does
/// not.
#[inline(always)]
pub(crate) fn monotonic_ns() -> u64 {
    let t = clock_gettime(ClockId::Monotonic);
    t.tv_sec as u64 * 1_000_000_000 + t.tv_nsec as u64
}

/// Reads the processor time of this process so far, in nanoseconds; none where a system does not tell.
pub(crate) fn processor_ns() -> Option<u64> {
    let t = clock_gettime(ClockId::ProcessCPUTime);
    Some(t.tv_sec as u64 * 1_000_000_000 + t.tv_nsec as u64)
}

/// Maps fresh, zeroed memory; its pages are not there until they are touched.
pub(crate) fn map_pages(length: usize) -> io::Result<NonNull<u8>> {
    // SAFETY: maps new memory at no particular address.
    let start = unsafe {
        mmap_anonymous(
            std::ptr::null_mut(),
            length,
            ProtFlags::READ | ProtFlags::WRITE,
            MapFlags::PRIVATE | MapFlags::NORESERVE,
        )
    }?;
    NonNull::new(start.cast()).ok_or_else(|| io::Error::other("it lies at address 0"))
}

/// Gives back what `map_pages` gave.
///
/// # Safety
/// The memory is whole, the caller's, and nothing borrows it any more.
pub(crate) unsafe fn unmap_pages(start: NonNull<u8>, length: usize) {
    // SAFETY: the caller's promise.
    let _ = unsafe { munmap(start.as_ptr().cast(), length) };
}

/// Requests pages of the usual size; a kernel that knows no others may refuse.
///
/// # Safety
/// The memory is what `map_pages` gave.
pub(crate) unsafe fn small_pages(start: NonNull<u8>, length: usize) {
    // SAFETY: the advice changes how the memory is mapped, not what it holds.
    let _ = unsafe { madvise(start.as_ptr().cast(), length, Advice::LinuxNoHugepage) };
}

/// Lets SIGALRM end the waits of the agent. Runs before all else.
pub(crate) fn begin_agent() {
    wake_on_alarm();
}

/// Has the kernel kill this process when `parent` ends, also when it is killed.
pub(crate) fn die_with_parent(parent: rustix::process::Pid) {
    // An environment without it (none known) only loses tidiness after kill -9.
    let _ = rustix::process::set_parent_process_death_signal(Some(rustix::process::Signal::KILL));
    // The parent may have ended before the request; inside a new PID namespace its number is not visible.
    if rustix::process::getppid().is_some_and(|now| now != parent) {
        // SAFETY: ends the process.
        unsafe { libc::_exit(0) };
    }
}

/// Makes a trial's process end when its time is up, whatever it waits for, and when the agent ends.
pub(crate) fn bound_trial(deadline_ms: u64) {
    if let Some(agent) = rustix::process::getppid() {
        die_with_parent(agent);
    }
    // The default action of SIGALRM ends the process.
    set_alarm(deadline_ms.clamp(1, LONGEST_DEADLINE_MS));
}

/// Has programs that this process starts inherit a descriptor, or no longer.
pub(crate) fn set_inherited(number: i32, is_inherited: bool) {
    let flags = if is_inherited { FdFlags::empty() } else { FdFlags::CLOEXEC };
    // SAFETY: a flag of the descriptor is changed and nothing else; one that is not open has none.
    let _ = fcntl_setfd(unsafe { BorrowedFd::borrow_raw(number) }, flags);
}

/// Makes a trial's process lead a process group, so that what it leaves is found.
pub(crate) fn set_process_group(command: &mut Command) {
    command.process_group(0);
}

/// Sends a trial's process what it reads, waits for it and ends its process group; None when it outlived its deadline.
pub(crate) fn wait_for_trial(
    mut child: Child,
    deadline_ms: u64,
    send: impl FnOnce(&mut Child),
) -> io::Result<Option<ExitStatus>> {
    send(&mut child);
    let pid = child.id() as libc::pid_t;
    set_alarm(deadline_ms.min(LONGEST_DEADLINE_MS) + GRACE_MS);
    let mut raw = 0;
    // Not `Child::wait`, which waits on after a signal.
    // SAFETY: `raw` lives through the call; the child is ours and nobody else waits for it.
    let in_time = unsafe { libc::waitpid(pid, &mut raw, 0) } == pid;
    set_alarm(0);
    // Whatever the trial forked and left ends with it.
    // SAFETY: kill has no memory effects; the group is the child's own.
    unsafe { libc::kill(-pid, libc::SIGKILL) };
    if in_time {
        return Ok(Some(ExitStatus::from_raw(raw)));
    }
    let _ = child.wait();
    Ok(None)
}

pub(crate) fn ended_by_alarm(status: ExitStatus) -> bool {
    status.signal() == Some(libc::SIGALRM)
}

/// Describes how a process ended that has no exit code.
pub(crate) fn describe_ending(status: ExitStatus) -> String {
    format!("killed by signal {}", status.signal().unwrap_or_default())
}
