//! Reading the value of a trial from its samples.

use tare_analysis::verdicts::summary::read_values;
use tare_data::batch::{Batch, EncodedHistogram, Phase, Sample};
use tare_data::metric::Reading;

use crate::sessions::{Outcome, make_metric, make_trial};

fn read(batches: Vec<Batch>, reading: Reading) -> Option<f64> {
    let mut trial = make_trial("case", "environment", 0, Outcome::Nothing);
    trial.batches = batches.into();
    read_values(&trial, &[make_metric("m", reading)])[0].as_ref().map(|read| read.value)
}

/// Reads the typical value and the total.
fn both(batches: Vec<Batch>, reading: Reading) -> (f64, f64) {
    let mut trial = make_trial("case", "environment", 0, Outcome::Nothing);
    trial.batches = batches.into();
    let read = read_values(&trial, &[make_metric("m", reading)]).remove(0).unwrap();
    (read.value, read.total.unwrap())
}

fn batches_of(times: Vec<u64>) -> Vec<Batch> {
    make_trial("", "", 0, Outcome::Times(times)).batches.to_vec()
}

fn timed(phase: Phase, operations: u64, bytes: u64, elapsed_ns: u64) -> Batch {
    let sample = Sample::Throughput { operations, bytes, elapsed_ns };
    Batch { series: "work".into(), phase, started_ns: 0, sample }
}

#[test]
fn a_trial_is_typically_its_median_batch_and_in_total_all_of_them() {
    let warm = |times: &[u64]| times.iter().map(|ns| timed(Phase::Warm, 10, 1_000, *ns)).collect::<Vec<_>>();
    let of = |times: &[u64]| both(warm(times), Reading::TimePerOperation);
    assert_eq!(of(&[1_000]), (100.0, 100.0));
    assert_eq!(of(&[1_000, 2_000]), (150.0, 150.0), "between the two");
    assert_eq!(of(&[9_000, 1_000, 2_000]), (150.0, 150.0), "the first warms up");
    assert_eq!(of(&[500, 1_000, 1_000, 1_000, 8_000]), (100.0, 275.0), "a stall is in the total alone");
    let rate = |reading| both(warm(&[9_000, 1_000, 1_000, 2_000]), reading);
    assert_eq!(rate(Reading::OperationsPerSecond), (1e7, 7.5e6));
    assert_eq!(rate(Reading::OperationsPerMinute), (6e8, 4.5e8));
    assert_eq!(rate(Reading::BytesPerSecond), (1e9, 7.5e8));
    assert_eq!(rate(Reading::BitsPerSecond), (8e9, 6e9));
    let sizes = vec![timed(Phase::Warm, 10, 0, 1_000), timed(Phase::Warm, 30, 0, 9_000)];
    assert_eq!(both(sizes, Reading::TimePerOperation), (200.0, 250.0), "totals over totals");
}

#[test]
fn stretches_are_read_as_the_batches_that_they_are() {
    let times = [9_000, 1_000, 1_000, 2_000, 8_000];
    let apart: Vec<Batch> = times.iter().map(|ns| timed(Phase::Warm, 10, 1_000, *ns)).collect();
    let sample =
        Sample::Stretches { operations: 10, bytes: 1_000, elapsed_ns: times.to_vec(), histogram: None };
    let together = vec![Batch { sample, ..apart[0].clone() }];
    for reading in [Reading::TimePerOperation, Reading::BytesPerSecond] {
        assert_eq!(both(together.clone(), reading), both(apart.clone(), reading));
    }
    let Sample::Latency { histogram, .. } = batches_of((1..=100).collect()).remove(0).sample else {
        panic!("times of operations")
    };
    let sample = Sample::Stretches {
        operations: 50,
        bytes: 0,
        elapsed_ns: vec![1_275, 3_775],
        histogram: Some(histogram),
    };
    let batches = vec![Batch { sample, ..apart[0].clone() }];
    assert_eq!(read(batches, Reading::Quantile(0.5)), Some(50.0));
}

#[test]
fn cold_and_other_series_are_kept_apart() {
    let mut other = timed(Phase::Warm, 1, 0, 999_999);
    other.series = "other".into();
    let batches = || vec![timed(Phase::Cold, 1, 0, 50_000), timed(Phase::Warm, 10, 0, 1_000), other.clone()];
    assert_eq!(read(batches(), Reading::TimePerOperation), Some(100.0));
    assert_eq!(read(batches(), Reading::Cold), Some(50_000.0));
    assert_eq!(read(vec![timed(Phase::Warm, 1, 0, 5)], Reading::Cold), None);
}

#[test]
fn histograms_of_batches_are_merged() {
    let mut batches = batches_of((1..=600).collect());
    batches.extend(batches_of((601..=1000).collect()));
    let of = |reading| read(batches.clone(), reading).unwrap();
    assert_eq!(of(Reading::Quantile(0.5)), 500.0);
    assert_eq!(of(Reading::Quantile(0.99)), 990.0);
    assert_eq!(of(Reading::Quantile(1.0)), 1000.0);
    assert_eq!((of(Reading::Minimum), of(Reading::Maximum)), (1.0, 1000.0));
    assert_eq!(of(Reading::Mean), 500.5);
    let deviation = ((1000.0f64.powi(2) - 1.0) / 12.0).sqrt();
    assert!((of(Reading::StandardDeviation) - deviation).abs() < 1e-9);
    assert_eq!(of(Reading::TimePerOperation), 550.5, "two batches, of 600 and of 400");
}

#[test]
fn large_times_are_right_to_a_part_in_a_thousand() {
    let times: Vec<u64> = (1..=1000).map(|i| i * 1_000_003).collect();
    let batches = batches_of(times);
    for (reading, expected) in
        [(Reading::Quantile(0.5), 500.0), (Reading::Mean, 500.5), (Reading::Maximum, 1000.0)]
    {
        let value = read(batches.clone(), reading).unwrap() / 1_000_003.0;
        assert!((value / expected - 1.0).abs() < 1e-3, "{reading:?}: {value}");
    }
}

#[test]
fn gauges_give_their_median() {
    let gauge = |value| Batch {
        series: "work".into(),
        phase: Phase::Warm,
        started_ns: 0,
        sample: Sample::Gauge { value },
    };
    assert_eq!(read(vec![gauge(3.0), gauge(f64::NAN), gauge(1.0), gauge(9.0)], Reading::Gauge), Some(3.0));
    assert_eq!(read(vec![gauge(f64::NAN)], Reading::Gauge), None);
}

#[test]
fn nothing_to_divide_by_is_no_figure() {
    for reading in [
        Reading::TimePerOperation,
        Reading::OperationsPerSecond,
        Reading::Quantile(0.5),
        Reading::Mean,
        Reading::Gauge,
        Reading::Cold,
    ] {
        assert_eq!(read(Vec::new(), reading), None, "{reading:?}");
        assert_eq!(read(vec![timed(Phase::Warm, 0, 0, 0)], reading), None, "{reading:?}");
    }
    let huge = vec![timed(Phase::Warm, u64::MAX, u64::MAX, u64::MAX); 3];
    assert_eq!(read(huge, Reading::TimePerOperation), Some(1.0));
}

#[test]
fn a_damaged_histogram_is_no_figure() {
    let mut batches = batches_of(vec![5; 10]);
    batches.push(Batch {
        series: "work".into(),
        phase: Phase::Warm,
        started_ns: 0,
        sample: Sample::Latency {
            operations: 1,
            bytes: 0,
            elapsed_ns: 5,
            histogram: EncodedHistogram("bm9uc2Vuc2U".into()),
        },
    });
    assert_eq!(read(batches, Reading::Quantile(0.5)), None);
}
