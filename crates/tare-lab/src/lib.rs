//! Doing it: studies, environments, and sessions that measure the one in the other.
//!
//! Nothing here draws on the terminal or reads arguments, environment variables or the home folder:
//! the program passes them in.

// A file that needs it says so in its first lines, and why.
#![deny(unsafe_code)]
#![cfg_attr(not(test), warn(clippy::unwrap_used, clippy::print_stdout))]
#![cfg_attr(test, allow(clippy::disallowed_methods))]
// Part of what every build knows serves sessions alone, which Linux has.
#![cfg_attr(not(unix), allow(dead_code, unused_imports, unused_macros))]

pub mod asked;
#[cfg(unix)]
mod containers;
mod duration;
#[cfg(unix)]
pub mod environments;
/// None can be entered from Windows yet.
#[cfg(not(unix))]
#[path = "environments/none.rs"]
pub mod environments;
pub mod error;
#[cfg(unix)]
mod far;
pub mod fleet;
#[cfg(unix)]
pub mod guests;
#[cfg(unix)]
pub mod host;
mod nearest;
#[cfg(unix)]
mod network;
#[cfg(unix)]
pub mod ownership;
mod platform;
pub mod provider;
#[cfg(unix)]
pub mod session;
pub mod storage;
pub mod study;

pub use crate::duration::parse_duration;
pub use crate::nearest::{nearest, unlike};
