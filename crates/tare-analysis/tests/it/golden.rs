//! Figures that other programs print for the same numbers.

use tare_analysis::statistics::sign_test;
use tare_analysis::statistics::signed_ranks::{
    Null, compute_hodges_lehmann_interval, hodges_lehmann, p_value, sort_values,
};
use tare_data::generator::Generator;

fn is_near(value: f64, expected: f64) -> bool {
    (value - expected).abs() <= 1e-9 * expected.abs().max(1e-3)
}

/// Hamilton depression scale factor of nine patients, before and after (Hollander and Wolfe 1973, page 29): the
/// example of R's `wilcox.test`, which prints V = 40, p = 0.03906 two-sided, centre 0.46, interval 0.010 to 0.786.
#[test]
#[allow(clippy::approx_constant, reason = "3.14 is a patient's score")]
fn the_example_of_wilcox_test_is_reproduced() {
    let before = [1.83, 0.50, 1.62, 2.48, 1.68, 1.88, 1.55, 3.06, 1.30];
    let after = [0.878, 0.647, 0.598, 2.05, 1.06, 1.29, 1.06, 3.14, 1.29];
    let d: Vec<f64> = before.iter().zip(after).map(|(before, after)| before - after).collect();
    let (d, null) = (sort_values(&d), Null::new(9));
    assert!(is_near(p_value(&d, &null), 0.0390625));
    assert!(is_near(hodges_lehmann(&d), 0.46));
    let interval = compute_hodges_lehmann_interval(&d, &null, 0.05);
    assert!(is_near(interval.low, 0.010) && is_near(interval.high, 0.786), "{interval:?}");
}

/// scipy 1.17.1: `wilcoxon(d, method='exact')`, the median of all Walsh averages, and `binomtest` of the signs.
#[test]
fn scipy_gives_the_same_p() {
    let cases: [(&[f64], f64, f64, f64); 2] = [
        (
            &[
                0.029, 0.0427, 0.0279, -0.0134, 0.0333, -0.0123, 0.0259, 0.0824, 0.0011, -0.0042, 0.0518,
                0.042,
            ],
            0.016_113_281_25,
            0.026_675,
            0.145_996_093_75,
        ),
        (
            &[
                -0.0001, 0.0211, 0.0269, -0.0297, 0.0131, -0.0179, -0.0085, 0.0731, -0.0116, 0.0197, 0.0641,
                0.0154, 0.0425, 0.0315, 0.0356, -0.0214, 0.0324, 0.0758,
            ],
            0.018_234_252_929_687_5,
            0.0211,
            0.237_884_521_484_375,
        ),
    ];
    for (d, signed_rank, centre, signs) in cases {
        let (d, null) = (sort_values(d), Null::new(d.len()));
        assert!(is_near(p_value(&d, &null), signed_rank), "{}", p_value(&d, &null));
        assert!(is_near(hodges_lehmann(&d), centre), "{}", hodges_lehmann(&d));
        assert!(is_near(sign_test::p_value(&d), signs), "{}", sign_test::p_value(&d));
    }
}

/// pragmastat's centre is the Hodges-Lehmann estimate. Its bounds end one Walsh average further in, because it takes
/// the first rank that reaches the level where tare takes the last that does not exceed it.
#[test]
fn pragmastat_agrees() {
    let mut generator = Generator::new(31);
    for n in [7, 12, 18, 40, 60] {
        let d: Vec<f64> = (0..n).map(|_| generator.draw_unit().powi(3) - 0.2).collect();
        let (d, null) = (sort_values(&d), Null::new(n));
        let centre = pragmastat::estimators::raw::center(&d, true).unwrap();
        assert!((hodges_lehmann(&d) - centre).abs() < 1e-12, "{n}");
        let theirs = pragmastat::estimators::raw::center_bounds(&d, 0.05, true).unwrap();
        let ours = compute_hodges_lehmann_interval(&d, &null, 0.05);
        assert!(ours.low <= theirs.lower && theirs.upper <= ours.high, "{n}: {ours:?}, {theirs:?}");
        let c = null.find_rank(0.05);
        let averages = sort_values(
            &(0..n)
                .flat_map(|i| (i..n).map(move |j| (i, j)))
                .map(|(i, j)| 0.5 * (d[i] + d[j]))
                .collect::<Vec<_>>(),
        );
        assert_eq!(ours.low, averages[c as usize - 1]);
        assert!((theirs.lower - averages[c as usize]).abs() < 1e-12, "{n}");
    }
}
