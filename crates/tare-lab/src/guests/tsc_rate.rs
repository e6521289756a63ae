//! The time stamp counter: how fast it ticks. TCG shows the host's own to its guests, whose kernels cannot
//! find out its rate: they compare it with an emulated timer, which fails under load. A microvm then has no
//! clock at all and stands still in the middle of its boot.

#![allow(unsafe_code, reason = "the time stamp counter is read by an instruction")]

/// Returns None: other processors have a counter that reports its own rate.
#[cfg(not(target_arch = "x86_64"))]
pub fn rate_khz() -> Option<u64> {
    None
}

/// Measures ticks in a millisecond, to some millionths; None where there is no such counter.
#[cfg(target_arch = "x86_64")]
pub fn rate_khz() -> Option<u64> {
    use std::arch::x86_64::_rdtsc;
    use std::time::{Duration, Instant};

    /// Reading both clocks takes some 50 ns, so that this is right to 5 millionths.
    const STRETCH: Duration = Duration::from_millis(20);
    let read = || {
        let before = Instant::now();
        // SAFETY: every x86-64 processor has the instruction.
        let ticks = unsafe { _rdtsc() };
        // The middle of the two readings; a preemption between them shows as a long distance.
        (before + before.elapsed() / 2, ticks)
    };
    let (began, first) = read();
    std::thread::sleep(STRETCH);
    let (ended, last) = read();
    let elapsed_ns = ended.duration_since(began).as_nanos() as u64;
    let ticks = last.checked_sub(first)?;
    (ticks > 0).then(|| (u128::from(ticks) * 1_000_000 / u128::from(elapsed_ns)) as u64)
}
