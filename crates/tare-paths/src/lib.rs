//! Paths in folders that others may change: what lies below a folder is reached through the open folder, and no link is followed.

#![forbid(unsafe_code)]
#![cfg_attr(not(test), warn(clippy::unwrap_used, clippy::print_stdout, clippy::print_stderr))]
#![cfg_attr(test, allow(clippy::disallowed_methods))]

pub mod door;
#[cfg(unix)]
pub mod marked;
pub mod ours;
mod platform;

pub use platform::remove_tree;
