//! Serial correlation: whether values that follow each other are alike, and how many of them are as good as one.

use tare_data::generator::Generator;

use crate::statistics::signed_ranks::{compute_median, sort_values};

/// Fewest values that are looked at: below, next to nothing shows.
const FEWEST: usize = 12;

/// Lags that the test takes, the first with the most weight.
const LAGS: usize = 3;

/// Drawings of signs, and how many of them may be as alike as the signs that were: 10 % with these. A missed
/// likeness promises too much, a false one costs some width: a level above 5 % is the better bargain.
const DRAWN: usize = 99;
const MOST_AS_ALIKE: usize = 9;

/// Number of them that leaves no doubt: 3 %.
const BEYOND_DOUBT: usize = 2;

/// Values further from the median than this many deviations count as that far: a single stall must not hide the rest.
const FARTHEST: f64 = 3.0;

/// A block is this many times as long as values are alike: then little hangs over from block to block.
pub(crate) const BLOCK_TIMES: f64 = 4.0;

/// Chooses how many values in a row make a block that is independent of the next: 1 where no likeness shows.
/// Where it may be chance, at least `fewest` blocks are left.
///
/// The test compares the sum of products of neighbours with those of the same distances under random signs: a
/// cause that makes rounds loud for a while, as a neighbour of the machine does, makes none of them alike.
/// Blocks are a multiple of the integrated autocorrelation time, which is the sum of autocorrelations by
/// pairs as long as these are positive (Geyer 1992).
pub fn block_length(values: &[f64], fewest: usize) -> usize {
    if values.len() < FEWEST {
        return 1;
    }
    let distances = distances(values);
    let as_alike = signs_as_alike(&distances);
    if as_alike > MOST_AS_ALIKE {
        return 1;
    }
    let longest = if as_alike <= BEYOND_DOUBT { values.len() } else { values.len() / fewest };
    ((BLOCK_TIMES * autocorrelation_time(&distances)).ceil() as usize).min(longest).max(1)
}

/// Chooses as [`block_length`] does, where the likeness is beyond doubt; else 1.
pub fn block_length_beyond_doubt(values: &[f64]) -> usize {
    block_length(values, usize::MAX)
}

/// Limits the distances from the median, then centres them.
fn distances(values: &[f64]) -> Vec<f64> {
    let centre = compute_median(&sort_values(values));
    let from_centre: Vec<f64> = values.iter().map(|value| value - centre).collect();
    let sizes: Vec<f64> = from_centre.iter().map(|d| d.abs()).collect();
    let deviation = 1.4826 * compute_median(&sort_values(&sizes));
    // If more than half of the values are equal, none is too far.
    let farthest = if deviation > 0.0 { FARTHEST * deviation } else { f64::INFINITY };
    let limited: Vec<f64> = from_centre.iter().map(|d| d.clamp(-farthest, farthest)).collect();
    let mean = limited.iter().sum::<f64>() / limited.len() as f64;
    limited.into_iter().map(|d| d - mean).collect()
}

/// Counts the drawings of signs that are as alike, until they are too many.
fn signs_as_alike(distances: &[f64]) -> usize {
    let seen = likeness(distances);
    let mut generator = Generator::for_part(0, "serial");
    let mut drawn = distances.to_vec();
    let mut as_alike = 0;
    for _ in 0..DRAWN {
        drawn
            .iter_mut()
            .for_each(|distance| *distance *= if generator.draw_below(2) == 0 { 1.0 } else { -1.0 });
        as_alike += usize::from(likeness(&drawn) >= seen);
        if as_alike > MOST_AS_ALIKE {
            break;
        }
    }
    as_alike
}

fn likeness(distances: &[f64]) -> f64 {
    let weight = |lag: usize| 1.0 - (lag - 1) as f64 / LAGS as f64;
    (1..=LAGS).map(|lag| weight(lag) * products(distances, lag)).sum()
}

fn products(distances: &[f64], lag: usize) -> f64 {
    distances.iter().zip(&distances[lag..]).map(|(a, b)| a * b).sum()
}

/// Estimates how many values are worth one independent value.
fn autocorrelation_time(distances: &[f64]) -> f64 {
    let variance = products(distances, 0);
    let pair = |lag: usize| (products(distances, lag) + products(distances, lag + 1)) / variance;
    let pairs = (1..distances.len() / 2 - 1).step_by(2).map(pair);
    1.0 + 2.0 * pairs.take_while(|pair| *pair > 0.0).sum::<f64>()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn autoregressive(phi: f64, length: usize, seed: u64) -> Vec<f64> {
        let mut generator = Generator::new(seed);
        let mut normal = || (0..12).map(|_| generator.draw_unit()).sum::<f64>() - 6.0;
        let mut value = normal();
        let next = |_| {
            value = phi * value + (1.0 - phi * phi).sqrt() * normal();
            value
        };
        (0..length).map(next).collect()
    }

    #[test]
    fn independent_values_are_alike_at_the_level_of_the_test() {
        for length in [16, 40, 200] {
            let alike =
                (0..400).filter(|seed| block_length(&autoregressive(0.0, length, *seed), 8) > 1).count();
            assert!((10..=60).contains(&alike), "{length}: {alike} of 400");
        }
    }

    #[test]
    fn what_follows_itself_is_found_with_the_time_it_takes() {
        for (phi, least) in [(0.5, 90), (0.8, 98)] {
            let lengths: Vec<usize> =
                (0..100).map(|seed| block_length(&autoregressive(phi, 90, seed), 8)).collect();
            let found = lengths.iter().filter(|length| **length > 1).count();
            assert!(found >= least, "{phi}: {found}");
        }
        // (1 + phi) / (1 - phi) values are worth one.
        for (phi, time) in [(0.5, 3.0), (0.8, 9.0)] {
            let length = block_length(&autoregressive(phi, 20_000, 1), 8) as f64;
            assert!((length / BLOCK_TIMES / time - 1.0).abs() < 0.2, "{phi}: {length}");
        }
    }

    #[test]
    fn few_values_equal_values_and_turns_are_not_alike() {
        assert_eq!(block_length(&[1.0, 1.0, 1.0, 1.0, 1.0, 0.0, 0.0, 0.0, 0.0, 0.0], 8), 1);
        assert_eq!(block_length(&[0.5; 60], 8), 1);
        let turns: Vec<f64> = (0..60).map(|at| f64::from(at % 2)).collect();
        assert_eq!(block_length(&turns, 8), 1);
        let state: Vec<f64> = (0..60).map(|at| f64::from(u8::from((20..30).contains(&at)))).collect();
        assert!(block_length(&state, 8) >= 10, "a state of ten rounds where all others are equal");
    }
}
