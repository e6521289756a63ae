//! Tail curves: quantiles over all timed operations of a case in an environment, as far out as there are operations for.

use std::borrow::Cow;
use std::collections::BTreeMap;

use tare_data::batch::{Batch, Histogram, Phase};
use tare_data::session::{Session, Trial};

use crate::statistics::operation_times::OperationTimes;
use crate::statistics::tails::least_operations;
use crate::verdicts::summary::list_counted_trials;

/// Points at which a curve is read, from the first hundredth to the last hundred-thousandth.
const QUANTILES: [f64; 17] = [
    0.01, 0.05, 0.1, 0.25, 0.5, 0.75, 0.9, 0.95, 0.975, 0.99, 0.995, 0.9975, 0.999, 0.9995, 0.9999, 0.99995,
    0.99999,
];

/// The quantiles of one kind of operation in one environment, over every round that counted.
///
/// Operations of a trial are not independent rounds: a curve is shown, and never tested.
#[derive(Clone, Debug, PartialEq)]
pub struct TailCurve {
    /// `PlannedCase::id`.
    pub case: String,
    pub series: String,
    pub target: String,
    /// Timed operations.
    pub operations: u64,
    /// Quantile and time in nanoseconds, rising; only quantiles for which there are enough operations.
    pub points: Vec<(f64, u64)>,
    /// Longest time seen, in nanoseconds: an observation, not a quantile.
    pub longest_ns: u64,
}

/// Reads the curves of a session, in the order of its plan. Histograms that cannot be opened are left out.
pub fn tail_curves(session: &Session) -> Vec<TailCurve> {
    let case_places: BTreeMap<&str, usize> =
        session.plan.cases.iter().enumerate().map(|(i, case)| (case.id.as_str(), i)).collect();
    let target_places: BTreeMap<&str, usize> =
        session.plan.targets.iter().enumerate().map(|(i, target)| (target.name.as_str(), i)).collect();
    let mut grouped: BTreeMap<(usize, String, usize), Vec<&Trial>> = BTreeMap::new();
    for trial in list_counted_trials(&session.trials, &session.repeated, |_| true) {
        let places = (case_places.get(trial.case.as_str()), target_places.get(trial.target.as_str()));
        let (Some(case), Some(target)) = places else { continue };
        for batch in trial.batches.iter().filter(|batch| batch.phase == Phase::Warm) {
            if batch.sample.histogram().is_some() {
                let trials = grouped.entry((*case, batch.series.clone(), *target)).or_default();
                // The batches of a trial follow one another.
                if trials.last().is_none_or(|last| !std::ptr::eq(*last, trial)) {
                    trials.push(trial);
                }
            }
        }
    }
    // Only a single merged histogram is in memory at a time: each takes about 200 kB.
    let curve = |((case, series, target), trials): ((usize, String, usize), Vec<&Trial>)| {
        let batches = trials.iter().flat_map(|trial| trial.batches.iter_series(&series));
        let merged = merge(batches.filter(|batch| batch.phase == Phase::Warm));
        (!merged.0.is_empty()).then(|| TailCurve {
            case: session.plan.cases[case].id.clone(),
            target: session.plan.targets[target].name.clone(),
            operations: merged.0.len(),
            longest_ns: merged.0.max(),
            points: points(merged),
            series,
        })
    };
    grouped.into_iter().filter_map(curve).collect()
}

fn merge<'a>(batches: impl Iterator<Item = Cow<'a, Batch>>) -> Histogram {
    let mut merged = Histogram::new();
    let parts = batches.filter_map(|batch| batch.sample.histogram()?.decode().ok());
    for part in parts {
        // The bounds are the same by construction, and a sum that overflows saturates.
        let _ = merged.0.add(&part.0);
    }
    merged
}

fn points(histogram: Histogram) -> Vec<(f64, u64)> {
    let times: OperationTimes = [histogram].into_iter().collect();
    let is_known = |q: &f64| least_operations(*q).is_some_and(|least| least <= times.total());
    QUANTILES.into_iter().filter(is_known).filter_map(|q| Some((q, times.quantile(q)?))).collect()
}

#[cfg(test)]
mod tests {
    use tare_data::batch::{EncodedHistogram, Sample};

    use super::*;

    fn batch(histogram: EncodedHistogram) -> Cow<'static, Batch> {
        let sample = Sample::Latency { operations: 1, bytes: 0, elapsed_ns: 1, histogram };
        Cow::Owned(Batch { series: "call".into(), phase: Phase::Warm, started_ns: 0, sample })
    }

    #[test]
    fn a_curve_goes_as_far_as_its_operations_tell() {
        let mut histogram = Histogram::new();
        (1..=1000).for_each(|ns| histogram.record(ns));
        let damaged = EncodedHistogram("damaged".into());
        let merged = merge([histogram.encode(), damaged].map(batch).into_iter());
        assert_eq!(merged.0.len(), 1000);
        let points = points(merged);
        // 0.995 needs 736 operations, 0.9975 needs 1474.
        assert_eq!(points.last(), Some(&(0.995, 995)));
        assert_eq!(points.iter().find(|(q, _)| *q == 0.5), Some(&(0.5, 500)));
    }

    #[test]
    fn without_operations_there_is_no_point() {
        assert_eq!(points(merge(std::iter::empty())), []);
    }
}
