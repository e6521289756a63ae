//! Times as they were measured: blocks with their median, the cycle of the processor, and gaps while it was kept busy.

pub mod burst;
pub mod cycle;
pub mod operations;

use super::signs::View;
use crate::statistics::sign_test::compute_median_interval;
use crate::statistics::signed_ranks::{compute_median, sort_values};

/// Blocks of a time that are read: a thorough answer has some dozens, and a document of another place may lie.
const MOST_BLOCKS: usize = 1_000;
/// Chance with which an interval misses the median.
const LEVEL: f64 = 0.05;

/// Median and the ends of its 95 % interval.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Estimate {
    pub low: f64,
    pub middle: f64,
    pub high: f64,
}

impl Estimate {
    pub fn times(self, factor: f64) -> Estimate {
        Estimate { low: self.low * factor, middle: self.middle * factor, high: self.high * factor }
    }
}

/// Estimates the median of a time's blocks; None where they are too few for an interval.
pub fn estimate(view: View<'_>, key: &str) -> Option<Estimate> {
    let blocks: Vec<f64> =
        view.text(key).split(' ').take(MOST_BLOCKS).filter_map(|block| block.parse().ok()).collect();
    let sorted = sort_values(&blocks.into_iter().filter(|ns: &f64| ns.is_finite()).collect::<Vec<_>>());
    if sorted.is_empty() {
        return None;
    }
    let interval = compute_median_interval(&sorted, LEVEL);
    let is_bounded = interval.low.is_finite() && interval.high.is_finite();
    is_bounded.then(|| Estimate { low: interval.low, middle: compute_median(&sorted), high: interval.high })
}
