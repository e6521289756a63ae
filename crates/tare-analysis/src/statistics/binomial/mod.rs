//! The binomial distribution, in logarithms, so that a million operations are as safe as twelve rounds.

pub(crate) mod fisher;

/// Computes ln(n!).
///
/// Summed below 32, Stirling's series above, where its third term is already below 1e-13.
fn ln_factorial(n: u64) -> f64 {
    if n < 32 {
        return (2..=n).map(|i| libm::log(i as f64)).sum();
    }
    let x = n as f64;
    let inverse = 1.0 / x;
    let square = inverse * inverse;
    let series = inverse * (1.0 / 12.0 - square * (1.0 / 360.0 - square / 1260.0));
    (x + 0.5) * libm::log(x) - x + 0.5 * libm::log(2.0 * std::f64::consts::PI) + series
}

/// Computes P(X = k) of n trials with chance p, 0 < p < 1.
fn chance_of(n: u64, k: u64, p: f64) -> f64 {
    if k > n {
        return 0.0;
    }
    let choose = ln_factorial(n) - ln_factorial(k) - ln_factorial(n - k);
    libm::exp(choose + k as f64 * libm::log(p) + (n - k) as f64 * libm::log1p(-p))
}

/// Finds the largest k with P(X <= k - 1) <= level; 0 when there is none.
///
/// Starts 12 standard deviations below the mean, where 1e-30 is left, so that the walk is short for any n.
pub(crate) fn lower_rank(n: u64, p: f64, level: f64) -> u64 {
    let mean = n as f64 * p;
    let mut k = (mean - 12.0 * (mean * (1.0 - p)).sqrt()).max(0.0) as u64;
    let mut chance = chance_of(n, k, p);
    let mut up_to = chance;
    while up_to <= level && k < n {
        chance *= (n - k) as f64 / (k + 1) as f64 * p / (1.0 - p);
        k += 1;
        up_to += chance;
    }
    k
}

/// Computes P(X >= k).
pub(crate) fn at_least(n: u64, k: u64, p: f64) -> f64 {
    if k as f64 <= n as f64 * p {
        // Summed on the side where the terms shrink: X < k is n - X >= n - k + 1 with the other chance.
        return if k == 0 { 1.0 } else { 1.0 - shrinking_tail(n, n - k + 1, 1.0 - p) };
    }
    shrinking_tail(n, k, p)
}

/// Computes the 95 % interval of a share that was seen in k of n (Clopper and Pearson 1934).
pub fn share_interval(n: u64, k: u64) -> (f64, f64) {
    // The shares for which k or more, and k or fewer, are as rare as 2.5 %.
    let least = |is_low: &dyn Fn(f64) -> bool| {
        let (mut low, mut high) = (0.0, 1.0);
        for _ in 0..60 {
            let middle = (low + high) / 2.0;
            if is_low(middle) { low = middle } else { high = middle }
        }
        (low + high) / 2.0
    };
    let low = if k == 0 { 0.0 } else { least(&|p| at_least(n, k, p) < 0.025) };
    let high = if k >= n { 1.0 } else { least(&|p| 1.0 - at_least(n, k + 1, p) > 0.025) };
    (low, high)
}

/// Sums P(X >= k) for k above the mean, to the last digit that counts.
fn shrinking_tail(n: u64, k: u64, p: f64) -> f64 {
    let mut chance = chance_of(n, k, p);
    let mut sum = chance;
    for i in k..n {
        chance *= (n - i) as f64 / (i + 1) as f64 * p / (1.0 - p);
        sum += chance;
        if chance < sum * 1e-17 {
            break;
        }
    }
    sum.min(1.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_interval_of_a_share_is_clopper_and_pearsons() {
        // R 4: binom.test(k, n)$conf.int
        for (n, k, low, high) in [
            (20, 1, 0.0012651, 0.2487328),
            (106, 3, 0.0058750, 0.0804865),
            (16, 16, 0.7940928, 1.0),
            (30, 0, 0.0, 0.1157033),
        ] {
            let (l, h) = share_interval(n, k);
            assert!((l - low).abs() < 1e-6 && (h - high).abs() < 1e-6, "{k} of {n}: {l} {h}");
        }
    }

    #[test]
    fn factorials_agree_where_sum_and_series_meet() {
        let by_sum: f64 = (2..=40u64).map(|i| libm::log(i as f64)).sum();
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
        for (n, k, p) in [(12, 9, 0.5), (12, 3, 0.5), (12, 0, 0.5), (90, 4, 0.05), (90, 9, 0.05), (7, 8, 0.5)]
        {
            let sum: f64 = (k..=n).map(|i| chance_of(n, i, p)).sum();
            assert!((at_least(n, k, p) - sum).abs() < 1e-12, "{n} {k} {p}");
        }
        assert_eq!(lower_rank(5, 0.5, 0.025), 0, "five signs cannot reject at 5 %");
        assert_eq!(lower_rank(6, 0.5, 0.025), 1, "six can");
    }
}
