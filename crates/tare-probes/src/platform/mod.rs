//! Interface of the harness to the system, behind the same names on each: the clock, pages, files, and a trial's process.
//!
//! Nothing else of the portable part of this crate knows on which system it runs. Linux' timed calls are in
//! `harness/syscall.rs`, its files in `harness/files.rs`; Windows' are in `harness/windows/`.

use std::time::Duration;

use tare_data::failure::Failure;

#[cfg(unix)]
mod alarm;
#[cfg(unix)]
mod linux;
#[cfg(unix)]
pub(crate) mod turns;
#[cfg(windows)]
mod windows;

#[cfg(unix)]
pub(crate) use linux::*;
#[cfg(windows)]
pub use windows::*;

/// Ends this process when a step of a pair takes longer than the other side waits; after it, when the trial's time is up.
pub(crate) fn run_within(
    patience: Duration,
    deadline: Duration,
    step: impl FnOnce() -> Result<(), Failure>,
) -> Result<(), Failure> {
    set_alarm(patience.as_millis() as u64);
    let done = step();
    set_alarm(deadline.as_millis() as u64);
    done
}

/// Marks functions as ones that hold timed system calls. On Linux they stand in a section, each by itself, where a test
/// looks at their machine code.
#[macro_export]
macro_rules! timed {
    ($($(#[$attribute:meta])* $visibility:vis fn $name:ident $arguments:tt $(-> $answer:ty)? $body:block)+) => {$(
        $(#[$attribute])*
        #[allow(unsafe_code, reason = "a section is chosen by an attribute that could do harm, and cannot here")]
        #[inline(never)]
        #[cfg_attr(target_os = "linux", unsafe(link_section = "tare_timed"))]
        $visibility fn $name $arguments $(-> $answer)? $body
    )+};
}
