//! The level of every test and interval.

/// Chance that an interval misses the truth, at all looks together where there are several.
pub(crate) const ALPHA: f64 = 0.05;
