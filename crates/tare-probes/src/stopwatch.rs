//! The stopwatch: the two clock reads around what is timed.

use rustix::time::{ClockId, clock_gettime};

/// The monotonic clock in nanoseconds. About 20 ns where the vDSO answers, a system call where it does not.
#[inline(always)]
pub fn now_ns() -> u64 {
    let t = clock_gettime(ClockId::Monotonic);
    t.tv_sec as u64 * 1_000_000_000 + t.tv_nsec as u64
}

/// Times one stretch of work. Started and stopped by the probe, so that only what it means to time is timed.
#[derive(Debug, Default)]
pub struct Stopwatch {
    started_ns: u64,
    elapsed_ns: u64,
}

impl Stopwatch {
    #[inline(always)]
    pub fn start(&mut self) {
        self.started_ns = now_ns();
    }

    /// Stops, and adds the stretch to what was timed before.
    #[inline(always)]
    pub fn stop(&mut self) {
        self.elapsed_ns += now_ns().saturating_sub(self.started_ns);
    }

    /// Time in all stretches.
    pub fn elapsed_ns(&self) -> u64 {
        self.elapsed_ns
    }
}
