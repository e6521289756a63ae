//! Tails: the number of operations that a quantile needs.

use crate::statistics::level::ALPHA;

/// Computes the fewest operations with which a quantile has a two-sided 95 % interval at all: below it, the
/// largest (or smallest) time seen may well lie on the near side of the quantile. None for 0 and 1, which are
/// not quantiles.
pub(crate) fn least_operations(q: f64) -> Option<u64> {
    let far = q.max(1.0 - q);
    let is_inside = (0.5..1.0).contains(&far);
    is_inside.then(|| (libm::log(ALPHA / 2.0) / libm::log(far)).ceil() as u64)
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
}
