//! The scale of ordinary differences between nodes, and the chance that a node lies further off.

use crate::statistics::signed_ranks::{compute_median, sort_values};
use crate::statistics::student;

/// 1.4826 times the median distance is the standard deviation of normal values.
pub(super) const NORMAL: f64 = 1.4826;
/// The median distance of two normal values is 0.9539 of their standard deviation.
const OF_PAIRS: f64 = 1.0 / 0.9539;
/// Degrees of freedom of a spread that was taken by medians, a value: they use 37 % of the information that a
/// variance uses.
const DEGREES: f64 = 0.37;
/// Beyond this many degrees of freedom Student's t changes no more.
const MOST_DEGREES: f64 = 400.0;
/// A spread that is not zero: values that are all the same have none, and whatever differs from them is far off.
const LEAST: f64 = 1e-9;

/// Values that should be alike: their centre and their spread, neither of which a few that are far off can move.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Scale {
    pub centre: f64,
    pub deviation: f64,
    pub values: usize,
}

impl Scale {
    /// Estimates the scale of values; none if there are no values. `floor` is the spread that their own uncertainty
    /// causes at least.
    pub(super) fn from_values(values: &[f64], floor: f64) -> Option<Scale> {
        let n = values.len() as f64;
        let values = sort_values(values);
        let centre = values.first().map(|_| compute_median(&values))?;
        let distances: Vec<f64> = values.iter().map(|value| (value - centre).abs()).collect();
        // The median distance of a few values is too small (Croux and Rousseeuw 1992); and their centre is not known exactly.
        let few = if n > 1.5 { n / (n - 0.8) } else { 1.0 };
        let of_centre = (1.0 + std::f64::consts::FRAC_PI_2 / n).sqrt();
        let deviation = NORMAL * compute_median(&sort_values(&distances)) * few;
        Some(Scale { centre, deviation: deviation.max(floor).max(LEAST) * of_centre, values: values.len() })
    }

    /// Converts a distance from the centre to deviations.
    pub(super) fn to_deviations(self, distance: f64) -> f64 {
        distance / self.deviation
    }

    /// Computes the chance that an ordinary value lies this far above the centre, or further.
    pub(super) fn tail_probability(&self, distance: f64) -> f64 {
        let within = student::compute_two_sided_chance(self.to_deviations(distance), self.degrees());
        if distance > 0.0 { 0.5 * (1.0 - within) } else { 0.5 * (1.0 + within) }
    }

    fn degrees(&self) -> u32 {
        (DEGREES * self.values as f64).round().clamp(1.0, MOST_DEGREES) as u32
    }
}

/// Estimates the standard deviation within groups, by the median distance of two of a group. None where no
/// group has two.
pub(super) fn within_groups<'a>(groups: impl Iterator<Item = &'a [f64]>) -> Option<f64> {
    let mut distances = Vec::new();
    for group in groups {
        for (at, value) in group.iter().enumerate() {
            distances.extend(group[at + 1..].iter().map(|other| (value - other).abs()));
        }
    }
    (!distances.is_empty()).then(|| OF_PAIRS * compute_median(&sort_values(&distances)))
}

/// Combines the p of several tests of one thing (Simes 1986): small where one of them is very small, or many
/// are small.
pub(super) fn combine_p_values(p: &[f64]) -> f64 {
    let all = p.len() as f64;
    let of_rank = |(at, p): (usize, &f64)| p * all / (at as f64 + 1.0);
    sort_values(p).iter().enumerate().map(of_rank).fold(1.0, f64::min)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_few_values_far_off_move_neither_centre_nor_spread() {
        let mut values: Vec<f64> = (0..41).map(|i| f64::from(i - 20) * 0.01).collect();
        let plain = Scale::from_values(&values, 0.0).unwrap();
        values[40] = 1e6;
        let off = Scale::from_values(&values, 0.0).unwrap();
        assert_eq!(plain, off);
        assert!(
            off.tail_probability(0.0) > 0.49
                && off.tail_probability(1e6) < 1e-12
                && off.tail_probability(-1.0) > 0.99
        );
    }

    #[test]
    fn equal_values_have_a_spread_all_the_same() {
        let scale = Scale::from_values(&[2.0; 12], 0.0).unwrap();
        assert!(scale.deviation > 0.0 && scale.tail_probability(0.1) < 1e-6);
        assert!(
            Scale::from_values(&[2.0; 12], 0.5).unwrap().deviation >= 0.5,
            "never below what is known of the values"
        );
        assert_eq!(Scale::from_values(&[], 0.0), None);
    }

    #[test]
    fn simes_is_between_the_least_and_its_multiple() {
        assert!((combine_p_values(&[0.01, 0.5, 0.9]) - 0.03).abs() < 1e-12);
        assert!((combine_p_values(&[0.02, 0.02]) - 0.02).abs() < 1e-12);
        assert_eq!(combine_p_values(&[]), 1.0);
    }

    #[test]
    fn spread_within_groups_is_of_pairs() {
        assert_eq!(within_groups([&[1.0][..], &[2.0]].into_iter()), None);
        let spread = within_groups([&[0.0, 0.9539][..], &[5.0, 5.9539]].into_iter()).unwrap();
        assert!((spread - 1.0).abs() < 1e-9);
    }
}
