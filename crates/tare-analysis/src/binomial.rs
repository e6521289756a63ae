//! The binomial distribution, in logarithms, so that a million operations are as safe as twelve rounds.

/// ln(n!).
///
/// Summed below 32, Stirling's series above, where its third term is already below 1e-13.
pub fn ln_factorial(n: u64) -> f64 {
    if n < 32 {
        return (2..=n).map(|i| (i as f64).ln()).sum();
    }
    let x = n as f64;
    let inverse = 1.0 / x;
    let square = inverse * inverse;
    let series = inverse * (1.0 / 12.0 - square * (1.0 / 360.0 - square / 1260.0));
    (x + 0.5) * x.ln() - x + 0.5 * (2.0 * std::f64::consts::PI).ln() + series
}

/// P(X = k) of n trials with chance p, 0 < p < 1.
pub fn chance_of(n: u64, k: u64, p: f64) -> f64 {
    if k > n {
        return 0.0;
    }
    let choose = ln_factorial(n) - ln_factorial(k) - ln_factorial(n - k);
    (choose + k as f64 * p.ln() + (n - k) as f64 * (-p).ln_1p()).exp()
}

/// Largest k with P(X <= k - 1) <= level, at most n / 2 + 1; 0 when there is none.
///
/// Starts 40 standard deviations below the mean, where nothing is left, so that the walk is short for any n.
pub fn lower_rank(n: u64, p: f64, level: f64) -> u64 {
    let mean = n as f64 * p;
    let start = (mean - 40.0 * (mean * (1.0 - p)).sqrt()).max(0.0) as u64;
    let mut below = 0.0;
    let mut k = start;
    while k <= n {
        below += chance_of(n, k, p);
        if below > level {
            return k;
        }
        k += 1;
    }
    k
}

/// P(X >= k).
pub fn at_least(n: u64, k: u64, p: f64) -> f64 {
    if k == 0 {
        return 1.0;
    }
    (k..=n).map(|i| chance_of(n, i, p)).sum::<f64>().min(1.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn factorials_agree_where_sum_and_series_meet() {
        let by_sum: f64 = (2..=40u64).map(|i| (i as f64).ln()).sum();
        assert!((ln_factorial(40) - by_sum).abs() < 1e-11);
        assert_eq!(ln_factorial(0), 0.0);
    }

    #[test]
    fn chances_sum_to_one() {
        for (n, p) in [(12, 0.5), (90, 0.05), (1000, 0.5)] {
            let sum: f64 = (0..=n).map(|k| chance_of(n, k, p)).sum();
            assert!((sum - 1.0).abs() < 1e-10, "{n} {p}: {sum}");
        }
    }

    #[test]
    fn ranks_bound_the_tail_from_both_sides() {
        for n in [5u64, 6, 12, 90, 2_000] {
            let rank = lower_rank(n, 0.5, 0.025);
            let below = |k: u64| (0..k).map(|i| chance_of(n, i, 0.5)).sum::<f64>();
            assert!(below(rank) <= 0.025 && below(rank + 1) > 0.025, "{n}: {rank}");
        }
        assert_eq!(lower_rank(5, 0.5, 0.025), 0, "five signs cannot reject at 5 %");
        assert_eq!(lower_rank(6, 0.5, 0.025), 1, "six can");
    }
}
