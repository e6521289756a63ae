//! Times as they were measured: blocks with their median, the cycle of the processor, and gaps while it was kept busy.

pub mod burst;
pub mod cycle;
pub mod operations;

use tare_data::facts::keys::CPU_OTHERS;

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

/// Share of the processors' time that other programs may use while prices are measured: a process that another one wakes waits for a
/// processor where they use more.
const MOST_OF_OTHERS: f64 = 0.2;

/// Tells whether other programs used the processors while prices were measured.
pub fn others_run(view: View<'_>) -> bool {
    view.number(CPU_OTHERS).is_some_and(|share| share > MOST_OF_OTHERS)
}

/// Estimates the median of a time's blocks; None where they are too few for an interval. Other programs only add to it, also where each call
/// waits for a process of a layer: its low end is the least block where they use the processors.
pub fn estimate(view: View<'_>, key: &str) -> Option<Estimate> {
    let blocks: Vec<f64> =
        view.text(key).split(' ').take(MOST_BLOCKS).filter_map(|block| block.parse().ok()).collect();
    let sorted = sort_values(&blocks.into_iter().filter(|ns: &f64| ns.is_finite()).collect::<Vec<_>>());
    if sorted.is_empty() {
        return None;
    }
    let interval = compute_median_interval(&sorted, LEVEL);
    let is_bounded = interval.low.is_finite() && interval.high.is_finite();
    let low = if others_run(view) { sorted[0] } else { interval.low };
    is_bounded.then(|| Estimate { low, middle: compute_median(&sorted), high: interval.high })
}
