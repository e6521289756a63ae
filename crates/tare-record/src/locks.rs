//! Locks of open files, which others can still read.

pub use crate::platform::{lock, try_lock, try_lock_shared, unlock};
