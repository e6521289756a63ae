//! Differences between systems in handling a file: opening it without waiting, reading in its middle,
//! locking.

#[cfg(unix)]
mod unix;
#[cfg(windows)]
mod windows;

#[cfg(unix)]
pub use unix::*;
#[cfg(windows)]
pub use windows::*;
