//! The stopwatch: the two clock reads around what is timed.

use std::sync::atomic::{AtomicU64, Ordering};

use tare_data::batch::Histogram;

use crate::platform::monotonic_ns;

/// Reads the monotonic clock in nanoseconds. About 20 ns where the vDSO answers, a system call where it does
/// not.
#[inline(always)]
pub fn now_ns() -> u64 {
    monotonic_ns()
}

/// Number of reads among which the smallest step is searched.
const STEP_READS: usize = 1_000;
/// Longest search: two ticks of the coarsest clock seen (4 ms, refined-jiffies at HZ = 250), and a bit.
const LONGEST_SEARCH_NS: u64 = 10_000_000;

/// Finds the smallest difference between two reads that differ. It waits for a clock that stands still, as
/// one that counts timer ticks.
pub(crate) fn smallest_step_ns() -> u64 {
    let (mut smallest, mut last_ns) = (u64::MAX, now_ns());
    let mut steps = 0;
    let end_ns = last_ns + LONGEST_SEARCH_NS;
    while steps < STEP_READS && last_ns < end_ns {
        let now = now_ns();
        if now != last_ns {
            smallest = smallest.min(now.abs_diff(last_ns));
            last_ns = now;
            steps += 1;
        }
    }
    smallest
}

/// Time for which every trial works on, untimed, after a stretch: ten reads of a fast clock.
///
/// A short loop of calls finds the branch predictor in one of a few states, which last (116, 153 or 196 ns for getppid on
/// Zen 4), and what runs between two stretches decides which. Were there work here only where a cost is planted, the
/// state would be planted with it: 5 % more was 21 % less.
const AFTER_STRETCH_NS: u64 = 250;

/// Share by which everything that is timed takes longer on purpose, as the bits of an f64; zero in an ordinary trial.
static SLOWER: AtomicU64 = AtomicU64::new(0);

/// Makes this process work longer by this share in everything that it times: a cost of known size, which
/// shows what a session finds. Called before the probe runs.
pub(crate) fn work_longer(share: f64) {
    if share.is_finite() && share > 0.0 {
        SLOWER.store(share.to_bits(), Ordering::Relaxed);
    }
}

/// Computes how much longer a stretch takes on purpose.
#[inline(always)]
fn longer_ns(started_ns: u64, ended_ns: u64) -> u64 {
    let share = f64::from_bits(SLOWER.load(Ordering::Relaxed));
    (ended_ns.saturating_sub(started_ns) as f64 * share) as u64
}

/// Works from the end of a stretch for this long, and returns the time at which the stretch ends with that.
#[inline(never)]
fn work_on(ended_ns: u64, longer_ns: u64, least_ns: u64) -> u64 {
    let until_ns = ended_ns + longer_ns.max(least_ns);
    while now_ns() < until_ns {}
    ended_ns + longer_ns
}

/// Times one stretch of work. Started and stopped by the probe, so that only what it means to time is timed.
#[derive(Clone, Copy, Debug, Default)]
pub struct Stopwatch {
    started_ns: u64,
    elapsed_ns: u64,
}

impl Stopwatch {
    /// Records a stretch that was timed elsewhere, e.g. across processes.
    pub(crate) fn from_stretch(started_ns: u64, ended_ns: u64) -> Self {
        let mut stopwatch = Stopwatch { started_ns, elapsed_ns: 0 };
        stopwatch.stop_at(ended_ns);
        stopwatch
    }

    /// Records time that other stopwatches or laps have measured.
    pub(crate) fn from_elapsed(elapsed_ns: u64) -> Self {
        Stopwatch { started_ns: 0, elapsed_ns }
    }

    #[inline(always)]
    pub(crate) fn start_new() -> Self {
        Stopwatch { started_ns: now_ns(), elapsed_ns: 0 }
    }

    #[inline(always)]
    pub fn start(&mut self) {
        self.started_ns = now_ns();
    }

    /// Stops, and adds the stretch to what was timed before.
    #[inline(always)]
    pub fn stop(&mut self) {
        self.stop_at(now_ns());
    }

    #[inline(always)]
    fn stop_at(&mut self, ended_ns: u64) {
        let longer_ns = longer_ns(self.started_ns, ended_ns);
        let ended_ns = work_on(ended_ns, longer_ns, AFTER_STRETCH_NS);
        self.elapsed_ns += ended_ns.saturating_sub(self.started_ns);
    }

    pub fn add(&mut self, other: &Stopwatch) {
        self.elapsed_ns += other.elapsed_ns;
    }

    pub fn elapsed_ns(&self) -> u64 {
        self.elapsed_ns
    }
}

/// Times operations one by one: two clock reads and one histogram entry each.
#[derive(Clone, Debug)]
pub struct Laps {
    histogram: Histogram,
    first_ns: Option<u64>,
    last_ns: u64,
    /// Waited in vain between laps.
    paused_ns: u64,
    /// Pause since the last lap: no part of the stretch unless another lap follows.
    pause_ns: u64,
}

impl Laps {
    /// Allocates empty laps and touches their memory: recording neither allocates nor faults.
    pub fn new() -> Self {
        let mut histogram = Histogram::new();
        // Writes every count, so that the pages are mapped before the clock runs.
        histogram.0.reset();
        Laps { histogram, first_ns: None, last_ns: 0, paused_ns: 0, pause_ns: 0 }
    }

    /// Adds one operation. Called after its end was read, so that it costs the operation nothing.
    #[inline(always)]
    pub fn add(&mut self, started_ns: u64, ended_ns: u64) {
        // In a row of operations any work between them would be a part of the next one. So a cost that is planted here may
        // bring a state of the branch predictor with it.
        let ended_ns = match longer_ns(started_ns, ended_ns) {
            0 => ended_ns,
            longer_ns => work_on(ended_ns, longer_ns, 0),
        };
        self.histogram.record(ended_ns.saturating_sub(started_ns));
        self.first_ns.get_or_insert(started_ns);
        self.last_ns = ended_ns;
        self.paused_ns += std::mem::take(&mut self.pause_ns);
    }

    /// Leaves out of the elapsed time a wait that belonged to no operation: for an answer that did not come.
    pub(crate) fn exclude_wait(&mut self, waited_ns: u64) {
        if self.first_ns.is_some() {
            self.pause_ns += waited_ns;
        }
    }

    /// Adds the laps of another thread over the same stretch.
    pub fn merge(&mut self, other: &Laps) {
        self.histogram.0.add(&other.histogram.0).expect("all histograms have the same bounds");
        self.first_ns = self.first_ns.into_iter().chain(other.first_ns).min();
        self.last_ns = self.last_ns.max(other.last_ns);
    }

    pub fn operations(&self) -> u64 {
        self.histogram.0.len()
    }

    /// Returns the time from the first start to the last end, without the pauses.
    pub fn elapsed_ns(&self) -> u64 {
        self.last_ns.saturating_sub(self.first_ns.unwrap_or(self.last_ns)).saturating_sub(self.paused_ns)
    }

    pub(crate) fn into_histogram(self) -> Histogram {
        self.histogram
    }
}

impl Default for Laps {
    fn default() -> Self {
        Self::new()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Answers clock_gettime with an error in this thread, which a read of the vDSO doesn't notice.
    #[cfg(all(target_os = "linux", target_arch = "x86_64"))]
    #[allow(
        unsafe_code,
        reason = "a filter is a structure of C, and the C library reads the clock to compare"
    )]
    #[test]
    fn the_clock_is_read_without_a_system_call() {
        let step = |code: u32, jt, jf, k| libc::sock_filter { code: code as u16, jt, jf, k };
        let filter = [
            step(libc::BPF_LD | libc::BPF_W | libc::BPF_ABS, 0, 0, 0),
            step(libc::BPF_JMP | libc::BPF_JEQ | libc::BPF_K, 0, 1, libc::SYS_clock_gettime as u32),
            step(libc::BPF_RET | libc::BPF_K, 0, 0, libc::SECCOMP_RET_ERRNO | libc::EPERM as u32),
            step(libc::BPF_RET | libc::BPF_K, 0, 0, libc::SECCOMP_RET_ALLOW),
        ];
        let program = libc::sock_fprog { len: filter.len() as u16, filter: filter.as_ptr().cast_mut() };
        rustix::thread::set_no_new_privs(true).unwrap();
        // SAFETY: the filter outlives the call, and only this thread gets it.
        let is_set =
            unsafe { libc::prctl(libc::PR_SET_SECCOMP, libc::SECCOMP_MODE_FILTER, &raw const program) };
        let by_libc = || {
            let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
            // SAFETY: the structure outlives the call.
            let code = unsafe { libc::clock_gettime(libc::CLOCK_MONOTONIC, &raw mut time) };
            (code == 0).then(|| time.tv_sec as u64 * 1_000_000_000 + time.tv_nsec as u64)
        };
        let Some(before) = by_libc().filter(|_| is_set == 0) else {
            return println!("SKIPPED the_clock_is_read_without_a_system_call: no vDSO or no filter here");
        };
        let read = now_ns();
        let after = by_libc().unwrap();
        assert!((before..=after).contains(&read), "{before} {read} {after}");
    }

    #[test]
    fn laps_run_from_the_first_start_to_the_last_end() {
        let mut laps = Laps::new();
        laps.add(1_000, 1_010);
        laps.add(1_020, 1_050);
        let mut other = Laps::new();
        other.add(900, 1_040);
        laps.merge(&other);
        assert_eq!(laps.operations(), 3);
        assert_eq!(laps.elapsed_ns(), 150);
        assert_eq!(laps.into_histogram().0.max(), 140);
    }

    #[test]
    fn a_wait_in_vain_between_laps_is_not_part_of_their_time() {
        let mut laps = Laps::new();
        laps.exclude_wait(1_000);
        laps.add(1_000, 1_010);
        laps.exclude_wait(300);
        laps.add(1_400, 1_410);
        laps.exclude_wait(500);
        assert_eq!(laps.elapsed_ns(), 410 - 300);
    }

    #[test]
    fn work_that_is_slower_on_purpose_goes_on_for_its_share() {
        let ended_ns = now_ns();
        assert_eq!(work_on(ended_ns, 500_000, AFTER_STRETCH_NS), ended_ns + 500_000);
        assert!(now_ns() >= ended_ns + 500_000, "it worked, and did not only say so");
    }

    #[test]
    fn every_trial_works_on_after_a_stretch_and_does_not_count_it() {
        let ended_ns = now_ns();
        let stopwatch = Stopwatch::from_stretch(ended_ns - 1_000, ended_ns);
        assert!(now_ns() >= ended_ns + AFTER_STRETCH_NS);
        assert_eq!(stopwatch.elapsed_ns(), 1_000);
        let mut laps = Laps::new();
        laps.add(5, 10);
        assert_eq!(laps.elapsed_ns(), 5);
    }

    #[test]
    fn the_clock_moves() {
        assert!((1..LONGEST_SEARCH_NS).contains(&smallest_step_ns()));
    }

    #[test]
    fn no_laps_take_no_time() {
        assert_eq!(Laps::new().elapsed_ns(), 0);
    }
}
