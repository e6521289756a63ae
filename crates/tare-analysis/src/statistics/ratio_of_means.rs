//! The ratio of two mean costs, paired, with an interval that rare large values do not break.

use tare_data::generator::Generator;

use crate::statistics::signed_ranks::{Interval, sort_values};

/// Samples drawn again, and how many of them lie beyond either end of a 95 % interval.
const DRAWN: usize = 399;
const BEYOND: usize = 10;

/// Standard errors that the interval reaches on either side at least: drawn again, heavy tails look shorter than they are.
const FEWEST_ERRORS: f64 = 2.05;

/// Fewest pairs from which an interval is computed.
const FEWEST: usize = 6;

/// More pairs than these are first added up with their neighbours: it saves time and changes little.
const MOST: usize = 80;

/// ln of the ratio of the means, its standard error and its 95 % interval.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct RatioOfMeans {
    pub estimate: f64,
    pub error: f64,
    pub interval: Interval,
}

/// Estimates the mean of the second costs over that of the first, from pairs of them; none without pairs.
///
/// The interval is a bootstrap-t (Efron 1979; Hall 1988): the distance of samples drawn again from the pairs
/// to these, in their own standard errors. It is as lopsided as the costs are: where some are stalls, samples
/// with few of them look precise and are off, so that the upper end moves out. An end that no drawn sample
/// determines is infinite.
pub fn ratio_of_means(pairs: &[[f64; 2]]) -> Option<RatioOfMeans> {
    if pairs.is_empty() {
        return None;
    }
    let pairs = added_up(pairs);
    let (estimate, error) = moments(&pairs);
    let mut interval = Interval::EVERYTHING;
    if pairs.len() >= FEWEST {
        let mut generator = Generator::for_part(0, "ratio of means");
        let mut drawn = vec![[0.0; 2]; pairs.len()];
        let mut off = || {
            drawn
                .iter_mut()
                .for_each(|pair| *pair = pairs[generator.draw_below(pairs.len() as u64) as usize]);
            let (of_drawn, error) = moments(&drawn);
            let off = of_drawn - estimate;
            if off == 0.0 { 0.0 } else { off / error }
        };
        let off = sort_values(&(0..DRAWN).map(|_| off()).collect::<Vec<_>>());
        interval = Interval {
            low: estimate - off[DRAWN - BEYOND].max(FEWEST_ERRORS) * error,
            high: estimate - off[BEYOND - 1].min(-FEWEST_ERRORS) * error,
        };
    }
    Some(RatioOfMeans { estimate, error, interval })
}

/// Bounds the interval from within, without drawing again; none without pairs.
pub(crate) fn least_interval(pairs: &[[f64; 2]]) -> Option<Interval> {
    let (estimate, error) = moments(&Some(pairs).filter(|pairs| !pairs.is_empty()).map(added_up)?);
    Some(Interval { low: estimate - FEWEST_ERRORS * error, high: estimate + FEWEST_ERRORS * error })
}

/// Adds up neighbouring pairs until there are few enough.
fn added_up(pairs: &[[f64; 2]]) -> Vec<[f64; 2]> {
    let add = |sum: [f64; 2], pair: &[f64; 2]| [sum[0] + pair[0], sum[1] + pair[1]];
    let groups = pairs.len().min(MOST);
    let of_group = |at: usize| &pairs[at * pairs.len() / groups..(at + 1) * pairs.len() / groups];
    (0..groups).map(|at| of_group(at).iter().fold([0.0; 2], add)).collect()
}

/// Computes ln of the ratio of the means and its standard error, by linearization.
fn moments(pairs: &[[f64; 2]]) -> (f64, f64) {
    let n = pairs.len() as f64;
    let [first, second] = pairs.iter().fold([0.0; 2], |sum, pair| [sum[0] + pair[0], sum[1] + pair[1]]);
    let squares: f64 = pairs.iter().map(|pair| (pair[1] / second - pair[0] / first).powi(2)).sum();
    // The shares of all pairs sum to one on both sides, so that their differences have mean zero.
    (libm::log(second / first), (squares * n / (n - 1.0).max(1.0)).sqrt())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_constant_ratio_is_known_exactly() {
        let pairs: Vec<[f64; 2]> = (1..=200).map(|i| [f64::from(i), 2.0 * f64::from(i)]).collect();
        let ratio = ratio_of_means(&pairs).unwrap();
        assert!(
            (ratio.estimate - libm::log(2.0)).abs() < 1e-12
                && ratio.interval.high - ratio.interval.low < 1e-9
        );
        assert_eq!(ratio_of_means(&pairs[..5]).unwrap().interval, Interval::EVERYTHING);
        assert_eq!(ratio_of_means(&[]), None);
    }

    #[test]
    fn one_stall_leaves_the_upper_end_far_out() {
        let pair = |round: u32| [1.0, if round == 3 { 4.0 } else { 1.0 + 1e-3 * f64::from(round % 5) }];
        let ratio = ratio_of_means(&(0..30).map(pair).collect::<Vec<_>>()).unwrap();
        assert!(ratio.interval.low <= 0.01 && ratio.interval.high > libm::log(1.4), "{ratio:?}");
    }
}
