//! What a probe is made with: the trial, the stopwatch, timed system calls, files, children, buffers.

pub mod affinity;
pub(crate) mod alarm;
pub mod buffer;
pub mod child;
pub mod files;
pub mod folder;
pub(crate) mod handover;
pub mod interference;
pub mod kernel_files;
pub mod output;
pub(crate) mod readiness;
pub mod stopwatch;
pub mod syscall;
pub mod trial;
