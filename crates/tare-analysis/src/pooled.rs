//! All trials of a case in an environment taken together, as one run of a tool that went on for as long as all of them.
//!
//! Tables of articles that used a tool that runs once (sysbench, dd, netperf) show these; tare's own results never pool trials.

use std::collections::{BTreeMap, BTreeSet};

use tare_data::batch::{Histogram, Phase, Sample, Timed};
use tare_data::metric::{Metric, Reading};
use tare_data::session::{PlannedCase, Session, Trial};

use crate::statistics::operation_times::OperationTimes;
use crate::verdicts::summary::{list_counted_trials, read_series, read_values};

/// Series that are pooled: a histogram of each is open, and a probe has a dozen.
const MOST_SERIES: usize = 64;

/// Counts of one series, over all trials.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct PooledSeries {
    pub operations: u64,
    pub bytes: u64,
    /// Times of its operations; empty where they were not timed one by one, or a histogram is damaged.
    pub histogram: Option<Histogram>,
}

/// Work of all trials of a case in an environment together. First calls, which are kept apart, are not in it.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Pooled {
    /// Time in which anything was measured, in nanoseconds: series that ran side by side count once.
    pub total_ns: u64,
    pub series: BTreeMap<String, PooledSeries>,
}

/// Times of single operations, in nanoseconds.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Times {
    pub min_ns: f64,
    pub mean_ns: f64,
    pub max_ns: f64,
    pub p95_ns: f64,
}

impl Pooled {
    /// Pools trials that went well.
    pub fn from_trials(trials: &[&Trial]) -> Pooled {
        let mut pooled = Pooled::default();
        for trial in trials.iter().filter(|trial| trial.failure.is_none()) {
            let mut longest: BTreeMap<u64, u64> = BTreeMap::new();
            for batch in trial.batches.iter().filter(|batch| batch.phase == Phase::Warm) {
                if pooled.series.len() >= MOST_SERIES && !pooled.series.contains_key(&batch.series) {
                    continue;
                }
                let series = pooled.series.entry(batch.series.clone()).or_default();
                if let Some(elapsed_ns) = series.add(&batch.sample) {
                    let known = longest.entry(batch.started_ns).or_default();
                    *known = elapsed_ns.max(*known);
                }
            }
            pooled.total_ns = longest.values().fold(pooled.total_ns, |sum, ns| sum.saturating_add(*ns));
        }
        pooled
    }

    /// Looks a series up; an empty one where nothing was counted.
    pub fn find_series(&self, name: &str) -> PooledSeries {
        self.series.get(name).cloned().unwrap_or_default()
    }

    /// Merges the times of several series; none where one of them counted operations without timing them.
    pub(crate) fn merge_times(&self, names: &[&str]) -> Option<Times> {
        let mut all = Histogram::new();
        for series in names.iter().filter_map(|name| self.series.get(*name)) {
            match &series.histogram {
                Some(histogram) => all.0.add(&histogram.0).ok()?,
                None if series.operations > 0 => return None,
                None => {}
            }
        }
        times(all)
    }

    /// Divides an amount by the time of all trials, in seconds.
    pub fn per_second(&self, amount: u64) -> f64 {
        amount as f64 * 1e9 / self.total_ns as f64
    }
}

impl PooledSeries {
    /// Adds a sample and gives its time; none for one that is read, not timed.
    fn add(&mut self, sample: &Sample) -> Option<u64> {
        let (first, mut all_ns) = (self.operations == 0, None);
        for Timed { operations, bytes, elapsed_ns } in sample.iter_timed() {
            self.operations = self.operations.saturating_add(operations);
            self.bytes = self.bytes.saturating_add(bytes);
            all_ns = Some(elapsed_ns.saturating_add(all_ns.unwrap_or(0)));
        }
        let all_ns = all_ns?;
        let more = sample.histogram().and_then(|histogram| histogram.decode().ok());
        // A sample without times leaves the series without any: a part must not pass for the whole.
        self.histogram = match (self.histogram.take(), more) {
            (None, more) if first => more,
            (Some(mut known), Some(more)) => known.0.add(&more.0).ok().map(|()| known),
            _ => None,
        };
        Some(all_ns)
    }
}

fn times(histogram: Histogram) -> Option<Times> {
    let all: OperationTimes = [histogram].into_iter().collect();
    Some(Times {
        min_ns: all.read_metric(Reading::Minimum)?,
        mean_ns: all.read_metric(Reading::Mean)?,
        max_ns: all.read_metric(Reading::Maximum)?,
        p95_ns: all.read_metric(Reading::Quantile(0.95))?,
    })
}

/// The value of the trial in the middle, and the range of all.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Middle {
    pub value: f64,
    pub least: f64,
    pub most: f64,
}

/// Finds the middle value of a metric over trials that went well: one that was measured, the lower of two.
pub(crate) fn find_middle(trials: &[&Trial], metric: &Metric) -> Option<Middle> {
    let value = |trial: &&Trial| {
        read_values(trial, std::slice::from_ref(metric)).pop().flatten().map(|found| found.value)
    };
    let mut known: Vec<f64> =
        trials.iter().filter(|trial| trial.failure.is_none()).filter_map(value).collect();
    known.sort_unstable_by(f64::total_cmp);
    Some(Middle {
        value: *known.get(known.len().checked_sub(1)? / 2)?,
        least: *known.first()?,
        most: *known.last()?,
    })
}

/// The trials of a case in an environment.
#[derive(Clone, Debug)]
pub(crate) struct Runs<'s> {
    pub case: &'s PlannedCase,
    pub target: &'s str,
    /// In order of rounds; some may have failed.
    pub trials: Vec<&'s Trial>,
}

impl Runs<'_> {
    /// Explains why there is nothing to show, when there is nothing.
    pub(crate) fn explain_absence(&self) -> String {
        let known =
            || read_series(&self.trials, &self.case.metrics).into_iter().find_map(|series| series.failure);
        let failure = self.case.missing.get(self.target).cloned().or_else(known);
        failure.map_or("no trial was run".into(), |failure| failure.to_string())
    }
}

/// Collects the trials that count, of the cases of some probes: case by case in the order of the plan,
/// environment by environment.
pub(crate) fn collect_runs<'s>(session: &'s Session, probes: &[&str]) -> Vec<Runs<'s>> {
    let cases = || session.plan.cases.iter().filter(|planned| probes.contains(&planned.case.probe.as_str()));
    let names: BTreeSet<&str> = cases().map(|planned| planned.id.as_str()).collect();
    let all =
        list_counted_trials(&session.trials, &session.repeated, |trial| names.contains(trial.case.as_str()));
    let mut runs = Vec::new();
    for case in cases() {
        for target in session.plan.targets.iter() {
            let ours = |trial: &&&Trial| trial.case == case.id && trial.target == target.name;
            let trials = all.iter().filter(ours).copied().collect();
            runs.push(Runs { case, target: &target.name, trials });
        }
    }
    runs
}
