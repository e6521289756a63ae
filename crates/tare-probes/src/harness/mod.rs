//! Parts of every probe: the trial, the stopwatch, timed system calls, files, children, buffers.

#[cfg(unix)]
pub mod affinity;
pub(crate) mod blocks;
pub mod buffer;
#[cfg(unix)]
pub mod child;
#[cfg(unix)]
pub mod files;
pub mod folder;
pub(crate) mod handover;
pub mod interference;
#[cfg(unix)]
pub mod kernel_files;
#[cfg(unix)]
pub mod output;
#[cfg(unix)]
pub(crate) mod readiness;
pub mod stopwatch;
#[cfg(unix)]
pub mod syscall;
pub mod trial;
#[cfg(target_os = "linux")]
pub(crate) mod vdso;
#[cfg(windows)]
mod windows;

#[cfg(windows)]
pub use windows::affinity;
#[cfg(windows)]
pub(crate) use windows::{calls as syscall, files, partner};
