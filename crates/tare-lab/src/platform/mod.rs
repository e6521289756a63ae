//! Differences between systems: files and their owners, locks, streams, processes and what keeps them, names of machines.

#[cfg(unix)]
mod unix;
#[cfg(windows)]
mod windows;

#[cfg(unix)]
pub use unix::*;
#[cfg(windows)]
pub use windows::*;
