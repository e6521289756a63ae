//! Calls that need no path: a cheap one, a futex, a signal.

#![allow(unsafe_code, reason = "a signal's handler, and numbers of descriptors")]

use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};

use rustix::fd::{AsFd, BorrowedFd};
use rustix::io::Errno;
use rustix::pipe::pipe;
use tare_data::failure::Failure;
use tare_paths::door::Door;

use super::repeated::{Loop, timed_loop};
use crate::harness::stopwatch::Stopwatch;
use crate::harness::syscall;
use crate::harness::trial::broken_failure;

pub fn fstat_pipe(_: &Door) -> Result<Loop<'_>, Failure> {
    let (end, _) = pipe().map_err(|e| broken_failure("pipe", e))?;
    Ok(Box::new(move |operations| fstats(operations, end.as_fd())))
}

pub fn wake_futex(_: &Door) -> Result<Loop<'_>, Failure> {
    let word = AtomicU32::new(0);
    Ok(Box::new(move |operations| wakes(operations, &word)))
}

/// Signals that arrived.
static ARRIVED: AtomicU64 = AtomicU64::new(0);

extern "C" fn arrived(_: libc::c_int) {
    ARRIVED.fetch_add(1, Ordering::Relaxed);
}

pub fn raise_signal(_: &Door) -> Result<Loop<'_>, Failure> {
    let handler = arrived as extern "C" fn(libc::c_int);
    // SAFETY: the handler only adds to an atomic; the process is the trial's own.
    let before = unsafe { libc::signal(libc::SIGUSR1, handler as libc::sighandler_t) };
    if before == libc::SIG_ERR {
        return Err(broken_failure("a handler", std::io::Error::last_os_error()));
    }
    Ok(Box::new(|operations| {
        let before = ARRIVED.load(Ordering::Relaxed);
        let (stopwatch, _) = signals(operations, syscall::getpid(), syscall::gettid())?;
        Ok((stopwatch, ARRIVED.load(Ordering::Relaxed) - before))
    }))
}

timed_loop! {
    fn fstats(end: BorrowedFd<'_>) {
        syscall::fstat(end, &mut syscall::empty_stat())? == 0
    }
}

timed_loop! {
    fn wakes(word: &AtomicU32) {
        syscall::futex_wake(word)? == 0
    }
}

timed_loop! {
    fn signals(process: isize, thread: isize) {
        syscall::tgkill(process, thread, libc::SIGUSR1)? == 0
    }
}
