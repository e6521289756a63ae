//! A distribution in one line of text: a histogram of rounds between the least and the greatest.

const BARS: [char; 8] = ['▁', '▂', '▃', '▄', '▅', '▆', '▇', '█'];
/// Character for a step in which no round fell.
const NOTHING: char = '·';

/// Draws how many of the finite values lie in each of `bins` equal steps from their least to their greatest, as bars.
///
/// Empty without a finite value; one full bar where all values are equal.
pub fn draw_distribution(values: &[f64], bins: usize) -> String {
    let finite = || values.iter().copied().filter(|v| v.is_finite());
    let least = finite().fold(f64::INFINITY, f64::min);
    let most = finite().fold(f64::NEG_INFINITY, f64::max);
    if least > most || bins == 0 {
        return String::new();
    }
    // The difference of the extremes of f64 is finite only if both are halved.
    let span = most / 2.0 - least / 2.0;
    if span <= 0.0 {
        return BARS[BARS.len() - 1].to_string();
    }
    let mut counts = vec![0usize; bins];
    for value in finite() {
        let share = (value / 2.0 - least / 2.0) / span;
        counts[((share * bins as f64) as usize).min(bins - 1)] += 1;
    }
    let fullest = counts.iter().copied().max().unwrap_or(1).max(1);
    counts.iter().map(|count| bar(*count, fullest)).collect()
}

fn bar(count: usize, fullest: usize) -> char {
    if count == 0 { NOTHING } else { BARS[(count * BARS.len()).div_ceil(fullest).clamp(1, BARS.len()) - 1] }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn bars_stand_where_the_values_are() {
        assert_eq!(draw_distribution(&[1.0, 1.0, 1.0, 1.0, 2.0], 4), "█··▂");
        assert_eq!(draw_distribution(&[5.0, 5.0], 4), "█");
        assert_eq!(draw_distribution(&[], 4), "");
        assert_eq!(draw_distribution(&[f64::NAN, f64::INFINITY], 4), "");
    }

    proptest! {
        #[test]
        fn any_values_make_at_most_one_bar_a_bin(values in prop::collection::vec(any::<f64>(), 0..60)) {
            prop_assert!(draw_distribution(&values, 8).chars().count() <= 8);
        }
    }
}
