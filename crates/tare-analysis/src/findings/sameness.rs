//! When two sides count as the same, as all numbers that decide it. Their reasons are in `docs/method`.

/// The largest difference that still counts as the same, where a study sets no other: slower by this share.
pub const DEFAULT_MARGIN: f64 = 0.02;

/// That margin as a logarithm: ln 1.02.
pub const MARGIN: f64 = 0.019_802_627_296_179_71;

/// The mean cost may differ by this many times the margin where the typical cost is the same. Ordinary noise has a few
/// large values, which make a mean less sharply known than a centre.
pub(crate) const TOTAL_MARGINS: f64 = 2.5;

/// The highest slowdown that is given as a bound where the margin is small: beyond it "at most" says too little.
pub(crate) const LARGEST_BOUND: f64 = 1.10;

/// Fewest rounds that show the same: of fewer, stalls in one round of ten could all be missing by chance (0.9^29 < 5 %).
pub(crate) const FEWEST_FOR_SAME: usize = 29;

/// The size from which on a slowdown is more than a state of a machine makes, which comes and goes.
pub(crate) const FAR: f64 = 1.5;

/// Rounds, and seconds over which they are spread, either pair of which shows that a direction within [`FAR`] lasts longer than a state:
/// one of ten rounds has gone by then, and one of some seconds. Rounds of long commands are few, and take a minute.
pub(crate) const LASTING: [(u32, f64); 2] = [(60, 5.0), (12, 60.0)];

/// Batches a side in which a bound holds for the mean as well: one in a thousand that takes a hundred times as long is met there with
/// 97 % (0.999^3600), and moves the mean by a tenth, beyond which "at most" says too little.
pub(crate) const FEWEST_FOR_BOUND: u64 = 3_600;

/// Fewest starts, or blocks of rounds that are alike, that a verdict needs where rounds share them: the fewest whose signs can reject
/// at a last look, which spends 0.9 % or a little less however many rounds there are (2 in 2^8 is 0.8 %).
pub const FEWEST_STARTS: usize = 8;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_forms_of_the_margin_are_one() {
        assert!((MARGIN - libm::log1p(DEFAULT_MARGIN)).abs() < 1e-15);
    }
}
