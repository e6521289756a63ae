//! Benches of one file each.

pub mod agreement;
pub mod alternation;
pub mod faults;
pub mod fleet;
pub mod forecast;
pub mod overhead;
pub mod paces;
pub mod precision;
pub mod sessions;
pub mod validation;
