//! A verdict: what an interval says at a margin, and how many more rounds it would take to say more.

use crate::findings::Verdict;
use crate::statistics::normal::{Z_80, Z_975};
use crate::statistics::signed_ranks::Interval;

/// Rounds that signed ranks need beyond the normal formula, for skewed and heavy-tailed differences and for
/// looking more than once; found by simulation over the noise models of the tests.
const RANK_FACTOR: f64 = 1.35;

/// What counts as the same and what as a difference, as logarithms of ratios, both positive.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Margin {
    /// Within this it is the same: what the study says, whatever the noise.
    pub within: f64,
    /// Beyond this it is a difference: never less than what the session calls one where there is none.
    pub beyond: f64,
}

impl Margin {
    /// A margin that noise has not raised.
    pub fn plain(margin: f64) -> Margin {
        Margin { within: margin, beyond: margin }
    }

    /// The margin, raised for differences to what the baseline differs from itself.
    pub fn raised(self, floor: f64) -> Margin {
        Margin { beyond: self.beyond.max(floor), ..self }
    }
}

/// The three regions at once: slower, faster, the same. Asking all three costs no further error, because the truth
/// lies in one of them only (Goeman, Solari and Stijnen 2010).
///
/// `interval` and `margin` are logarithms of the cost ratio.
pub fn verdict(interval: Interval, margin: Margin) -> Verdict {
    let Interval { low, high } = interval;
    if low >= margin.beyond {
        Verdict::Slower
    } else if high <= -margin.beyond {
        Verdict::Faster
    } else if -margin.within <= low && high <= margin.within {
        Verdict::Same
    } else if low > 0.0 {
        Verdict::SlowerUnclear
    } else if high < 0.0 {
        Verdict::FasterUnclear
    } else {
        Verdict::Inconclusive
    }
}

/// Whether more rounds are needless: never because something has become significant, only because size is known.
pub fn is_decided(verdict: Verdict) -> bool {
    matches!(verdict, Verdict::Slower | Verdict::Faster | Verdict::Same)
}

/// Whether it names a direction.
pub fn names_direction(verdict: Verdict) -> bool {
    matches!(verdict, Verdict::Slower | Verdict::Faster | Verdict::SlowerUnclear | Verdict::FasterUnclear)
}

/// About how many rounds it would take until the interval is as narrow as the margin: widths shrink with the root
/// of the rounds. None when the interval has no width to go by.
pub fn rounds_to_tell(rounds: u32, interval: Interval, margin: f64) -> Option<u32> {
    let half = interval.half();
    if !half.is_finite() || margin <= 0.0 {
        return None;
    }
    let needed = f64::from(rounds) * (half / margin).powi(2);
    // Narrower than the margin already, and astride its edge: more rounds is all that can be said.
    Some((needed.ceil().min(f64::from(u32::MAX)) as u32).max(rounds.saturating_add(1)))
}

/// The smallest difference of logarithms that n units of this spread find with 80 % power at 5 %.
pub fn smallest_effect(units: usize, deviation: f64) -> f64 {
    (Z_975 + Z_80) * deviation * (RANK_FACTOR / units as f64).sqrt()
}

/// Units needed to find this difference of logarithms with 80 % power at 5 %.
pub fn units_needed(effect: f64, deviation: f64) -> f64 {
    ((Z_975 + Z_80) * deviation / effect).powi(2) * RANK_FACTOR
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(low: f64, high: f64) -> Verdict {
        verdict(Interval { low, high }, Margin::plain(0.02))
    }

    #[test]
    fn noise_makes_differences_harder_to_claim_and_sameness_no_easier() {
        let margin = Margin::plain(0.02).raised(0.5);
        let of = |low, high| verdict(Interval { low, high }, margin);
        assert_eq!(of(0.1, 0.3), Verdict::SlowerUnclear);
        assert_eq!(of(-0.4, 0.4), Verdict::Inconclusive);
        assert_eq!(of(0.6, 0.9), Verdict::Slower);
        assert_eq!(of(-0.01, 0.01), Verdict::Same);
    }

    #[test]
    fn each_region_has_its_word() {
        assert_eq!(at(0.02, 0.5), Verdict::Slower);
        assert_eq!(at(-0.5, -0.02), Verdict::Faster);
        assert_eq!(at(-0.02, 0.02), Verdict::Same);
        assert_eq!(at(0.001, 0.019), Verdict::Same, "a difference that is known to be small is the same");
        assert_eq!(at(0.001, 0.021), Verdict::SlowerUnclear);
        assert_eq!(at(-0.021, -0.001), Verdict::FasterUnclear);
        assert_eq!(at(-0.021, 0.001), Verdict::Inconclusive);
        assert_eq!(at(0.0, 0.021), Verdict::Inconclusive, "zero itself is not excluded");
        assert_eq!(at(f64::NEG_INFINITY, f64::INFINITY), Verdict::Inconclusive);
    }

    #[test]
    fn a_twice_too_wide_interval_takes_four_times_the_rounds() {
        assert_eq!(rounds_to_tell(20, Interval { low: -0.04, high: 0.04 }, 0.02), Some(80));
        assert_eq!(rounds_to_tell(20, Interval { low: -0.001, high: 0.021 }, 0.02), Some(21));
        assert_eq!(rounds_to_tell(20, Interval::EVERYTHING, 0.02), None);
    }

    #[test]
    fn effect_and_units_are_inverse() {
        let units = units_needed(0.02, 0.028);
        assert!((smallest_effect(1, 0.028) / units.sqrt() - 0.02).abs() < 1e-12);
        assert!((units - 20.77).abs() < 0.01, "{units}");
    }
}
