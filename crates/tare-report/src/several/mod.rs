//! Several records: two compared, or more joined.

pub mod diff;
pub mod pool;
