//! Paired differences compared by their signs alone: the interval of the median and its test.
//!
//! Signs ask nothing of the shape of the differences: skewed tails and separate modes leave them valid.

use crate::statistics::binomial::{at_least, lower_rank};
use crate::statistics::signed_ranks::Interval;

/// Computes the interval of the median by order statistics that misses it with a chance of at most `level`.
pub(crate) fn compute_median_interval(sorted: &[f64], level: f64) -> Interval {
    // From the k-th value to the k-th from the end, k from 1; everything for k = 0.
    let k = lower_rank(sorted.len() as u64, 0.5, level / 2.0) as usize;
    if k == 0 || 2 * k > sorted.len() + 1 {
        return Interval::EVERYTHING;
    }
    Interval { low: sorted[k - 1], high: sorted[sorted.len() - k] }
}

/// Computes the two-sided p of "median zero"; zeros count against rejection.
pub fn p_value(sorted: &[f64]) -> f64 {
    let n = sorted.len() as u64;
    let (at_most, at_least_zero) = around_zero(sorted);
    // P(X <= m) = P(X >= n - m) for a fair coin.
    (2.0 * at_least(n, n - at_most.min(at_least_zero), 0.5)).min(1.0)
}

/// Counts the values at most zero, and those at least zero.
fn around_zero(sorted: &[f64]) -> (u64, u64) {
    let below = sorted.partition_point(|d| *d < 0.0);
    let at_most = sorted.partition_point(|d| *d <= 0.0);
    (at_most as u64, (sorted.len() - below) as u64)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::statistics::signed_ranks::sort_values;
    use tare_data::generator::Generator;

    #[test]
    fn tests_and_intervals_agree_even_with_ties() {
        let mut generator = Generator::new(13);
        for n in [6, 9, 12, 25] {
            for _ in 0..200 {
                let d: Vec<f64> = (0..n).map(|_| generator.draw_below(11) as f64 - 3.0).collect();
                let d = sort_values(&d);
                assert_eq!(p_value(&d) <= 0.05, !compute_median_interval(&d, 0.05).contains(0.0), "{d:?}");
            }
        }
    }
}
