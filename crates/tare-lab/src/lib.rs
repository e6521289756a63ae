//! Doing it: studies, the plan, environments and the links into them.
//!
//! Nothing here draws on the terminal or reads arguments, environment variables or the home folder:
//! the program passes them in.

#![cfg_attr(not(test), warn(clippy::unwrap_used, clippy::print_stdout))]
#![cfg_attr(test, allow(clippy::disallowed_methods))]

pub mod containers;
pub mod environments;
pub mod error;
pub mod guests;
pub mod host;
pub mod nearest;
pub mod network;
pub mod ownership;
pub mod provider;
pub mod session;
pub mod storage;
pub mod study;
