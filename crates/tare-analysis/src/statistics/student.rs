//! Student's t: intervals of a mean whose spread is known from a few values only.

use crate::statistics::spread::compute_spread;

/// Degrees of freedom beyond which the quantile changes by less than a thousandth.
const MOST_DEGREES: usize = 1_000;

/// Computes the chance that Student's t with these degrees of freedom is within ±`t` (Abramowitz and Stegun
/// 26.7.3 and 26.7.4).
pub(crate) fn compute_two_sided_chance(t: f64, degrees: u32) -> f64 {
    if degrees == 0 || t.is_nan() {
        return 0.0;
    }
    let angle = libm::atan(t.abs() / f64::from(degrees).sqrt());
    let (sine, cosine) = libm::sincos(angle);
    let is_odd = degrees % 2 == 1;
    let (mut term, mut sum) = if is_odd { (cosine, 0.0) } else { (1.0, 0.0) };
    let mut power = if is_odd { 1 } else { 0 };
    while power + 2 <= degrees {
        sum += term;
        term *= f64::from(power + 1) / f64::from(power + 2) * cosine * cosine;
        power += 2;
    }
    if is_odd { (angle + sine * sum) * std::f64::consts::FRAC_2_PI } else { sine * sum }
}

/// Finds the distance from 0 within which Student's t with these degrees of freedom is with this chance.
pub(crate) fn find_two_sided_quantile(chance: f64, degrees: u32) -> f64 {
    let (mut low, mut high) = (0.0, 1.0);
    while compute_two_sided_chance(high, degrees) < chance && high < 1e9 {
        high *= 2.0;
    }
    for _ in 0..100 {
        let middle = f64::midpoint(low, high);
        if compute_two_sided_chance(middle, degrees) < chance { low = middle } else { high = middle }
    }
    high
}

/// Computes the standard error of a mean; none of fewer than two values, or of values that are not finite.
pub(crate) fn estimate_error(values: &[f64]) -> Option<f64> {
    Some(compute_spread(values)?.deviation? / (values.len() as f64).sqrt())
}

/// Estimates a mean, with half the width of the interval that holds it with this chance.
pub(crate) fn estimate_mean(values: &[f64], chance: f64) -> Option<(f64, f64)> {
    let error = estimate_error(values)?;
    // With more degrees than that, the quantile is the same, and is found less quickly.
    let degrees = (values.len() - 1).min(MOST_DEGREES) as u32;
    Some((compute_spread(values)?.mean, find_two_sided_quantile(chance, degrees) * error))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quantiles_are_those_of_the_tables() {
        let table = [(1, 12.706), (2, 4.303), (3, 3.182), (4, 2.776), (9, 2.262), (30, 2.042), (999, 1.962)];
        for (degrees, expected) in table {
            let t = find_two_sided_quantile(0.95, degrees);
            assert!((t - expected).abs() < 6e-4, "{degrees}: {t} is not {expected}");
            assert!((compute_two_sided_chance(t, degrees) - 0.95).abs() < 1e-9);
        }
        assert!((find_two_sided_quantile(0.99, 5) - 4.032).abs() < 6e-4);
    }

    #[test]
    fn nothing_is_known_without_degrees_of_freedom() {
        assert_eq!(
            (
                compute_two_sided_chance(5.0, 0),
                compute_two_sided_chance(0.0, 3),
                compute_two_sided_chance(f64::NAN, 3)
            ),
            (0.0, 0.0, 0.0)
        );
    }
}
