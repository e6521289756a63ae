//! Timed loops over files that systems do differently: queues of requests, and steps in the life of small files.

#[cfg(unix)]
mod linux;
#[cfg(windows)]
mod windows;

#[cfg(unix)]
pub(crate) use linux::{ring, small_files};
#[cfg(windows)]
pub(crate) use windows::{ring, small_files};
