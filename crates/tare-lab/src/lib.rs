//! Doing it: studies, environments, and sessions that measure the one in the other.
//!
//! Nothing here draws on the terminal or reads arguments, environment variables or the home folder:
//! the program passes them in.

// A file that needs it says so in its first lines, and why.
#![deny(unsafe_code)]
#![cfg_attr(not(test), warn(clippy::unwrap_used, clippy::print_stdout))]
#![cfg_attr(test, allow(clippy::disallowed_methods))]
// Part of what every build knows serves environments that Linux alone enters.
#![cfg_attr(not(unix), allow(dead_code, unused_imports, unused_macros))]

pub mod asked;
#[cfg(unix)]
mod containers;
mod duration;
#[cfg_attr(not(unix), path = "environments/on_windows.rs")]
pub mod environments;
pub mod error;
#[cfg(unix)]
mod far;
pub mod fleet;
pub mod guests;
pub mod host;
pub mod launching;
mod nearest;
#[cfg(unix)]
mod network;
pub mod node_names;
pub(crate) mod owned;
pub mod ownership;
mod platform;
pub mod provider;
pub mod session;
pub mod storage;
pub mod study;

pub use crate::duration::parse_duration;
pub use crate::nearest::{add_nearest_hint, find_nearest};
