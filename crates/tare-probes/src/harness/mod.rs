//! What a probe is made with: the trial, the stopwatch, timed system calls, files, children, buffers.

pub mod affinity;
pub mod alarm;
pub mod buffer;
pub mod child;
pub mod files;
pub mod folder;
pub mod handover;
pub mod interference;
pub mod kernel_files;
pub mod output;
pub mod readiness;
pub mod stopwatch;
pub mod syscall;
pub mod trial;
