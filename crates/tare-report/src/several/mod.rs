//! Several records: two that are compared, and more that are joined.

pub mod diff;
pub mod pool;
