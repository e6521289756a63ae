//! Calls that need no path: a cheap one, the same after some computing, a futex, a signal.

#![allow(unsafe_code, reason = "a signal's handler, and numbers of descriptors")]

use std::hint::black_box;
use std::path::Path;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};

use rustix::fd::{AsFd, BorrowedFd};
use rustix::io::Errno;
use rustix::pipe::pipe;
use tare_data::failure::Failure;

use super::repeated::{Loop, timed_loop};
use crate::harness::stopwatch::Stopwatch;
use crate::harness::syscall;
use crate::harness::trial::broken;

/// Steps of the computing before a call: about 20 us on a processor of 3 GHz, and the same work everywhere.
const STEPS: u64 = 7_000;

pub fn fstat(_: &Path) -> Result<Loop<'_>, Failure> {
    let (end, _) = pipe().map_err(|e| broken("pipe", e))?;
    Ok(Box::new(move |operations| fstats(operations, end.as_fd())))
}

pub fn work(_: &Path) -> Result<Loop<'_>, Failure> {
    Ok(Box::new(works))
}

pub fn work_fstat(_: &Path) -> Result<Loop<'_>, Failure> {
    let (end, _) = pipe().map_err(|e| broken("pipe", e))?;
    Ok(Box::new(move |operations| works_and_fstats(operations, end.as_fd())))
}

pub fn futex(_: &Path) -> Result<Loop<'_>, Failure> {
    let word = AtomicU32::new(0);
    Ok(Box::new(move |operations| wakes(operations, &word)))
}

/// Signals that arrived.
static ARRIVED: AtomicU64 = AtomicU64::new(0);

extern "C" fn arrived(_: libc::c_int) {
    ARRIVED.fetch_add(1, Ordering::Relaxed);
}

pub fn signal(_: &Path) -> Result<Loop<'_>, Failure> {
    let handler = arrived as extern "C" fn(libc::c_int);
    // SAFETY: the handler only adds to an atomic; the process is the trial's own.
    let before = unsafe { libc::signal(libc::SIGUSR1, handler as libc::sighandler_t) };
    if before == libc::SIG_ERR {
        return Err(broken("a handler", std::io::Error::last_os_error()));
    }
    Ok(Box::new(|operations| {
        let before = ARRIVED.load(Ordering::Relaxed);
        let (stopwatch, _) = signals(operations, syscall::getpid(), syscall::gettid())?;
        Ok((stopwatch, ARRIVED.load(Ordering::Relaxed) - before))
    }))
}

/// A chain of steps, each of which waits for the one before; false for one value in 2^64.
#[inline(always)]
fn compute() -> bool {
    let mut state = 1_u64;
    for _ in 0..STEPS {
        // Seen by nobody else in between, it is still a value that a compiler cannot compute two steps ahead.
        state =
            black_box(state).wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
    }
    black_box(state) != 0
}

timed_loop! {
    fn fstats(end: BorrowedFd<'_>) {
        syscall::fstat(end, &mut syscall::empty_stat())? == 0
    }
}

timed_loop! {
    fn works() {
        compute()
    }
}

timed_loop! {
    fn works_and_fstats(end: BorrowedFd<'_>) {
        compute() & (syscall::fstat(end, &mut syscall::empty_stat())? == 0)
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
