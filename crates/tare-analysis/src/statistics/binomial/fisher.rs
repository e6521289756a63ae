//! Fisher's exact test: two shares that differ by more than chance, however few there are of either.

use super::ln_factorial;

/// Tables whose chances are equal but for rounding count as equally rare.
const ROUNDING: f64 = 1e-7;

/// Computes the two-sided p of "both shares are one": `counts` in `sizes`, each count at most its size.
pub(crate) fn compute_share_p(counts: [u64; 2], sizes: [u64; 2]) -> f64 {
    let ([a, b], [m, n]) = (counts, sizes);
    let drawn = a + b;
    let ln_choose = |n: u64, k: u64| ln_factorial(n) - ln_factorial(k) - ln_factorial(n - k);
    let all = ln_choose(m + n, drawn);
    let chance = |a: u64| libm::exp(ln_choose(m, a) + ln_choose(n, drawn - a) - all);
    let observed = chance(a) * (1.0 + ROUNDING);
    let possible = drawn.saturating_sub(n)..=drawn.min(m);
    possible.map(chance).filter(|chance| *chance <= observed).sum::<f64>().min(1.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn p_is_that_of_r() {
        // R 4: fisher.test(matrix(c(a, m - a, b, n - b), 2))$p.value
        for (counts, sizes, p) in [
            ([3, 1], [4, 4], 0.4857143),
            ([7, 0], [20, 20], 0.008316355),
            ([12, 0], [12, 12], 7.396023e-07),
            ([1, 0], [30, 30], 1.0),
            ([0, 0], [5, 9], 1.0),
            ([10, 2], [100, 90], 0.03575100),
        ] {
            let found = compute_share_p(counts, sizes);
            assert!((found - p).abs() < 1e-3 * p, "{counts:?} of {sizes:?}: {found}");
        }
    }
}
