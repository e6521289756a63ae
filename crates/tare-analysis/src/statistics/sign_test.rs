//! Paired differences compared by their signs alone: the interval of the median, and the anytime-valid e-process.
//!
//! Signs ask nothing of the shape of the differences: skewed tails and separate modes leave them valid.

use crate::statistics::binomial::{at_least, ln_factorial, lower_rank};
use crate::statistics::signed_ranks::Interval;

/// The interval of the median by order statistics that misses it with a chance of at most `level`.
pub fn interval(sorted: &[f64], level: f64) -> Interval {
    let k = lower_rank(sorted.len() as u64, 0.5, level / 2.0) as usize;
    between(sorted, k)
}

/// From the k-th value to the k-th from the end, k from 1; everything for k = 0.
fn between(sorted: &[f64], k: usize) -> Interval {
    if k == 0 || 2 * k > sorted.len() + 1 {
        return Interval::EVERYTHING;
    }
    Interval { low: sorted[k - 1], high: sorted[sorted.len() - k] }
}

/// Two-sided p of "median zero"; zeros count against rejection.
pub fn p_value(sorted: &[f64]) -> f64 {
    let n = sorted.len() as u64;
    let (at_most, at_least_zero) = around_zero(sorted);
    // P(X <= m) = P(X >= n - m) for a fair coin.
    (2.0 * at_least(n, n - at_most.min(at_least_zero), 0.5)).min(1.0)
}

/// How many values are at most zero, and how many at least.
fn around_zero(sorted: &[f64]) -> (u64, u64) {
    let below = sorted.partition_point(|d| *d < 0.0);
    let at_most = sorted.partition_point(|d| *d <= 0.0);
    (at_most as u64, (sorted.len() - below) as u64)
}

/// The two parameters of the Beta mixture, equal. 2 makes it most sensitive where sessions of 12 to 90 rounds end.
const MIXTURE: u64 = 2;

/// The e-process of "median zero" after n differences, s of them below it: 2^n B(s + a, n - s + a) / B(a, a).
///
/// Its expectation is 1 under the null at whatever moment one looks, so that it exceeds 1/alpha at any time with a
/// chance of at most alpha (Ville's inequality; Howard, Ramdas, McAuliffe and Sekhon 2021).
pub fn evidence(n: u64, s: u64) -> f64 {
    let a = MIXTURE - 1;
    let ln_beta = |x: u64, y: u64| ln_factorial(x) + ln_factorial(y) - ln_factorial(x + y + 1);
    (n as f64 * std::f64::consts::LN_2 + ln_beta(s + a, n - s + a) - ln_beta(a, a)).exp()
}

/// Evidence against "median zero"; zeros count on the side that leaves it least.
pub fn evidence_against_zero(sorted: &[f64]) -> f64 {
    let n = sorted.len() as u64;
    let (at_most, at_least_zero) = around_zero(sorted);
    let fewest = n - at_least_zero;
    // Evidence is least where signs are balanced.
    evidence(n, (n / 2).clamp(fewest, at_most))
}

/// Largest number of signs on one side that is still evidence at `level`; none when not even 0 is.
pub fn evidence_rank(n: u64, level: f64) -> Option<u64> {
    (0..n.div_ceil(2)).take_while(|s| evidence(n, *s) >= 1.0 / level).last()
}

/// The interval of the median that holds at any time, with a chance of at most `level` that it ever misses.
pub fn anytime_interval(sorted: &[f64], level: f64) -> Interval {
    match evidence_rank(sorted.len() as u64, level) {
        Some(k) => between(sorted, k as usize + 1),
        None => Interval::EVERYTHING,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::statistics::signed_ranks::sorted;
    use tare_data::generator::Generator;

    #[test]
    fn anytime_ranks_agree_with_known_vectors() {
        let vectors =
            [(9, 0), (15, 1), (20, 3), (25, 5), (30, 6), (40, 10), (60, 18), (90, 30), (120, 42), (200, 77)];
        for (n, k) in vectors.into_iter().chain([(400, 167)]) {
            assert_eq!(evidence_rank(n, 0.05), Some(k), "{n} rounds");
        }
        assert_eq!(evidence_rank(8, 0.05), None);
    }

    #[test]
    fn evidence_has_expectation_one_under_fair_coins() {
        for n in [1, 5, 12, 60] {
            let mean: f64 =
                (0..=n).map(|s| crate::statistics::binomial::chance_of(n, s, 0.5) * evidence(n, s)).sum();
            assert!((mean - 1.0).abs() < 1e-9, "{n}: {mean}");
        }
    }

    #[test]
    fn tests_and_intervals_agree_even_with_ties() {
        let mut generator = Generator::new(13);
        for n in [6, 9, 12, 25] {
            for _ in 0..200 {
                let d: Vec<f64> = (0..n).map(|_| generator.below(11) as f64 - 3.0).collect();
                let d = sorted(&d);
                assert_eq!(p_value(&d) <= 0.05, !interval(&d, 0.05).holds(0.0), "{d:?}");
                let evident = evidence_against_zero(&d) >= 20.0;
                assert_eq!(evident, !anytime_interval(&d, 0.05).holds(0.0), "{d:?}");
            }
        }
    }
}
