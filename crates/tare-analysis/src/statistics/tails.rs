//! Tails: how many operations a quantile needs, and the interval of a quantile by order statistics.

use crate::statistics::binomial::lower_rank;
use crate::verdicts::stopping::ALPHA;

/// Fewest operations with which a quantile has a two-sided 95 % interval at all: below it, the largest (or smallest)
/// time seen may well lie on the near side of the quantile. None for quantiles that are no quantiles (0 and 1).
pub fn least_operations(q: f64) -> Option<u64> {
    let far = q.max(1.0 - q);
    let is_inside = (0.5..1.0).contains(&far);
    is_inside.then(|| ((ALPHA / 2.0).ln() / far.ln()).ceil() as u64)
}

/// The interval of a quantile, as ranks from 1 into `n` sorted times of near-independent operations: chance of at
/// most 2.5 % on either side. None where `n` is too few.
pub fn quantile_ranks(n: u64, q: f64) -> Option<(u64, u64)> {
    if least_operations(q)? > n {
        return None;
    }
    let low = lower_rank(n, q, ALPHA / 2.0);
    let from_end = lower_rank(n, 1.0 - q, ALPHA / 2.0);
    (low > 0 && from_end > 0).then(|| (low, n + 1 - from_end))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn least_operations_follow_from_the_level() {
        for (q, least) in [(0.99, 368), (0.999, 3_688), (0.9999, 36_887), (0.5, 6), (0.01, 368)] {
            assert_eq!(least_operations(q), Some(least), "{q}");
        }
        assert_eq!(
            (least_operations(0.0), least_operations(1.0), least_operations(f64::NAN)),
            (None, None, None)
        );
    }

    #[test]
    fn ranks_exist_from_the_least_on_and_close_in() {
        for q in [0.5, 0.9, 0.99, 0.999] {
            let least = least_operations(q).unwrap();
            assert_eq!(quantile_ranks(least - 1, q), None);
            assert_eq!(quantile_ranks(least, q).map(|(_, high)| high), Some(least), "{q}");
            let (low, high) = quantile_ranks(1_000_000, q).unwrap();
            let mean = 1e6 * q;
            let spread = 1.96 * (mean * (1.0 - q)).sqrt();
            assert!((low as f64 - (mean - spread)).abs() < 3.0, "{q}: {low}");
            assert!((high as f64 - (mean + spread)).abs() < 4.0, "{q}: {high}");
        }
    }
}
