//! The spread of values: mean, deviation and range.

/// Mean, deviation and range of values.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Spread {
    pub mean: f64,
    /// Sample standard deviation (n - 1); none of a single round.
    pub deviation: Option<f64>,
    pub least: f64,
    pub most: f64,
}

/// Computes the spread of values; none where there are none, or one is not a number.
pub fn compute_spread(values: &[f64]) -> Option<Spread> {
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

    #[test]
    fn a_known_sample_has_its_known_spread() {
        // Mean 5, sum of squares 32, over 7.
        let found = compute_spread(&[2.0, 4.0, 4.0, 4.0, 5.0, 5.0, 7.0, 9.0]).unwrap();
        assert_eq!((found.mean, found.least, found.most), (5.0, 2.0, 9.0));
        assert!((found.deviation.unwrap() - (32.0f64 / 7.0).sqrt()).abs() < 1e-12);
    }

    #[test]
    fn one_round_has_no_deviation_and_none_no_spread() {
        assert_eq!(compute_spread(&[3.0]).unwrap().deviation, None);
        assert_eq!(compute_spread(&[]), None);
        assert_eq!(compute_spread(&[1.0, f64::NAN]), None);
    }
}
