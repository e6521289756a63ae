//! The normal distribution's tail: for signed-rank tests beyond the exact tables, and for planning.

/// 97.5 % quantile: two-sided 5 %.
pub(crate) const Z_975: f64 = 1.959_963_984_540_054;
/// 80 % quantile: the power for which sessions are planned.
pub(crate) const Z_80: f64 = 0.841_621_233_572_914_2;

/// Computes P(Z >= z) of a standard normal Z.
///
/// Taylor's series of the distribution function up to 3, Laplace's continued fraction of Mills' ratio beyond,
/// where the series would cancel. Right to 1e-12 relative or better.
pub(crate) fn upper_tail(z: f64) -> f64 {
    if z < 0.0 {
        return 1.0 - upper_tail(-z);
    }
    let density = libm::exp(-0.5 * z * z) / (2.0 * std::f64::consts::PI).sqrt();
    if z <= 3.0 {
        // 1/2 + density * (z + z^3/3 + z^5/15 + ...): 60 terms reach 1e-17 at z = 3.
        let (mut term, mut sum) = (z, z);
        for k in 1..60 {
            term *= z * z / f64::from(2 * k + 1);
            sum += term;
        }
        return 0.5 - density * sum;
    }
    // z + 1/(z + 2/(z + 3/(z + ...))), from the inside out.
    let fraction = (1..=120).rev().fold(z, |inner, k| z + f64::from(k) / inner);
    density / fraction
}

/// Finds the z at which the upper tail is this chance, between 0 and 1/2.
pub fn upper_tail_at(chance: f64) -> f64 {
    let (mut low, mut high) = (0.0, 40.0);
    while high - low > 1e-9 {
        let middle = 0.5 * (low + high);
        if upper_tail(middle) > chance { low = middle } else { high = middle }
    }
    high
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_tail_agrees_with_published_tables() {
        // scipy.stats.norm.sf
        for (z, tail) in [
            (0.0, 0.5),
            (1.0, 0.158_655_253_931_457_05),
            (Z_975, 0.025),
            (Z_80, 0.2),
            (3.0, 0.001_349_898_031_630_094_5),
            (3.5, 0.000_232_629_079_035_525_04),
            (6.0, 9.865_876_450_376_946e-10),
            (-1.5, 0.933_192_798_731_141_9),
        ] {
            assert!((upper_tail(z) / tail - 1.0).abs() < 1e-11, "{z}: {} is not {tail}", upper_tail(z));
        }
    }

    #[test]
    fn a_tail_is_found_from_its_chance() {
        for z in [0.5, Z_80, Z_975, 4.0] {
            assert!((upper_tail_at(upper_tail(z)) - z).abs() < 1e-6, "{z}");
        }
    }
}
