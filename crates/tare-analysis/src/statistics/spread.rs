//! The spread of a level's rounds, for readers that want a mean and a deviation beside the median.

use crate::findings::Level;

/// How the values of a level lie. tare itself judges by none of these.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Spread {
    pub mean: f64,
    /// Sample standard deviation (n - 1); none of a single round.
    pub deviation: Option<f64>,
    pub least: f64,
    pub most: f64,
}

/// The spread of a level; none where it has no values, or one that is not a number.
pub fn spread(level: &Level) -> Option<Spread> {
    let values = &level.values;
    if values.is_empty() || !values.iter().all(|value| value.is_finite()) {
        return None;
    }
    let count = values.len() as f64;
    let mean = values.iter().sum::<f64>() / count;
    let squares: f64 = values.iter().map(|value| (value - mean).powi(2)).sum();
    Some(Spread {
        mean,
        deviation: (values.len() > 1).then(|| (squares / (count - 1.0)).sqrt()),
        least: values.iter().copied().fold(f64::INFINITY, f64::min),
        most: values.iter().copied().fold(f64::NEG_INFINITY, f64::max),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(values: &[f64]) -> Option<Spread> {
        spread(&Level { median: 0.0, low: 0.0, high: 0.0, rounds: 0, values: values.to_vec() })
    }

    #[test]
    fn a_known_sample_has_its_known_spread() {
        // Mean 5, sum of squares 32, over 7.
        let spread = of(&[2.0, 4.0, 4.0, 4.0, 5.0, 5.0, 7.0, 9.0]).unwrap();
        assert_eq!((spread.mean, spread.least, spread.most), (5.0, 2.0, 9.0));
        assert!((spread.deviation.unwrap() - (32.0f64 / 7.0).sqrt()).abs() < 1e-12);
    }

    #[test]
    fn one_round_has_no_deviation_and_none_no_spread() {
        assert_eq!(of(&[3.0]).unwrap().deviation, None);
        assert_eq!(of(&[]), None);
        assert_eq!(of(&[1.0, f64::NAN]), None);
    }
}
