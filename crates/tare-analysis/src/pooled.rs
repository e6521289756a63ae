//! All trials of a case in an environment taken together, as one run of a tool that went on for as long as all of them.
//!
//! The views of tools that run once (sysbench, dd, netperf) show these; tare's own results never pool trials.

use std::collections::{BTreeMap, BTreeSet};

use tare_data::batch::{Histogram, Phase, Sample, Timed};
use tare_data::metric::Metric;
use tare_data::session::{PlannedCase, Session, Trial};

use crate::verdicts::summary::{counted, series, values};

/// Series that are pooled: a histogram of each is open, and a probe has a dozen.
const MOST_SERIES: usize = 64;

/// What one series counted, over all trials.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct PooledSeries {
    pub operations: u64,
    pub bytes: u64,
    /// Time of its batches together, in nanoseconds.
    pub elapsed_ns: u64,
    /// Times of its operations; empty where they were not timed one by one, or a histogram is damaged.
    pub histogram: Option<Histogram>,
}

/// What the trials of a case did in an environment, together. First calls, which are kept apart, are not in it.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Pooled {
    /// Trials that gave samples, and those that failed.
    pub trials: usize,
    pub failed: usize,
    /// Time in which anything was measured, in nanoseconds: series that ran side by side count once.
    pub total_ns: u64,
    pub series: BTreeMap<String, PooledSeries>,
}

/// Times of single operations, in nanoseconds.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Times {
    pub operations: u64,
    pub min_ns: f64,
    pub mean_ns: f64,
    pub max_ns: f64,
    pub deviation_ns: f64,
    pub p50_ns: f64,
    pub p90_ns: f64,
    pub p95_ns: f64,
    pub p99_ns: f64,
    pub sum_ns: f64,
}

impl Pooled {
    /// Pools trials that went well.
    pub fn of(trials: &[&Trial]) -> Pooled {
        let mut pooled = Pooled::default();
        for trial in trials {
            if trial.failure.is_some() {
                pooled.failed += 1;
                continue;
            }
            pooled.trials += 1;
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

    /// A series; an empty one where nothing was counted.
    pub fn series(&self, name: &str) -> PooledSeries {
        self.series.get(name).cloned().unwrap_or_default()
    }

    /// The times of several series as one; none where one of them that counted anything has none.
    pub fn times(&self, names: &[&str]) -> Option<Times> {
        let mut all = Histogram::new();
        for series in names.iter().filter_map(|name| self.series.get(*name)) {
            match &series.histogram {
                Some(histogram) => all.0.add(&histogram.0).ok()?,
                None if series.operations > 0 => return None,
                None => {}
            }
        }
        times(&all)
    }

    /// An amount over the time of all of it, a second.
    pub fn per_second(&self, amount: u64) -> f64 {
        amount as f64 * 1e9 / self.total_ns as f64
    }
}

impl PooledSeries {
    /// Adds a sample and gives its time; none for one that is read, not timed.
    fn add(&mut self, sample: &Sample) -> Option<u64> {
        let (first, mut all_ns) = (self.operations == 0, None);
        for Timed { operations, bytes, elapsed_ns } in sample.timed() {
            self.operations = self.operations.saturating_add(operations);
            self.bytes = self.bytes.saturating_add(bytes);
            self.elapsed_ns = self.elapsed_ns.saturating_add(elapsed_ns);
            all_ns = Some(elapsed_ns.saturating_add(all_ns.unwrap_or(0)));
        }
        let all_ns = all_ns?;
        let more = sample.histogram().and_then(|histogram| histogram.decode().ok());
        // One sample without times leaves the series without: a part must not pass for the whole.
        self.histogram = match (self.histogram.take(), more) {
            (None, more) if first => more,
            (Some(mut known), Some(more)) => known.0.add(&more.0).ok().map(|()| known),
            _ => None,
        };
        Some(all_ns)
    }
}

fn times(Histogram(histogram): &Histogram) -> Option<Times> {
    let operations = histogram.len();
    if operations == 0 {
        return None;
    }
    let middle = |ns: u64| histogram.median_equivalent(ns) as f64;
    let quantile = |q: f64| middle(histogram.value_at_quantile(q));
    let mean_ns = histogram.mean();
    Some(Times {
        operations,
        min_ns: middle(histogram.min()),
        mean_ns,
        max_ns: middle(histogram.max()),
        deviation_ns: histogram.stdev(),
        p50_ns: quantile(0.5),
        p90_ns: quantile(0.9),
        p95_ns: quantile(0.95),
        p99_ns: quantile(0.99),
        sum_ns: mean_ns * operations as f64,
    })
}

/// The trial whose value is the middle one, and the range of all.
#[derive(Clone, Copy, Debug)]
pub struct Middle<'s> {
    pub trial: &'s Trial,
    /// Its value.
    pub value: f64,
    pub least: f64,
    pub most: f64,
    pub trials: usize,
}

/// The trial of the middle value of a metric: one that really ran, the lower of two.
pub fn middle<'s>(trials: &[&'s Trial], metric: &Metric) -> Option<Middle<'s>> {
    let value = |trial: &&'s Trial| {
        let value = values(trial, std::slice::from_ref(metric)).pop().flatten()?.value;
        trial.failure.is_none().then_some((value, *trial))
    };
    let mut known: Vec<(f64, &Trial)> = trials.iter().filter_map(value).collect();
    known.sort_by(|a, b| a.0.total_cmp(&b.0));
    let (least, most) = (known.first()?.0, known.last()?.0);
    let (value, trial) = known[(known.len() - 1) / 2];
    Some(Middle { trial, value, least, most, trials: known.len() })
}

/// The trials of a case in an environment.
#[derive(Clone, Debug)]
pub struct Runs<'s> {
    pub case: &'s PlannedCase,
    pub target: &'s str,
    /// In order of rounds; some may have failed.
    pub trials: Vec<&'s Trial>,
}

impl Runs<'_> {
    /// Why there is nothing to show, when there is nothing.
    pub fn absence(&self) -> String {
        let known = || series(&self.trials, &self.case.metrics).into_iter().find_map(|series| series.failure);
        let failure = self.case.missing.get(self.target).cloned().or_else(known);
        failure.map_or("no trial was run".into(), |failure| failure.to_string())
    }
}

/// The trials that count, of the cases of some probes: case by case in the order of the plan, environment by environment.
pub fn runs<'s>(session: &'s Session, probes: &[&str]) -> Vec<Runs<'s>> {
    let cases = || session.plan.cases.iter().filter(|planned| probes.contains(&planned.case.probe.as_str()));
    let names: BTreeSet<&str> = cases().map(|planned| planned.id.as_str()).collect();
    let all = counted(&session.trials, &session.repeated, |trial| names.contains(trial.case.as_str()));
    let mut runs = Vec::new();
    for case in cases() {
        for target in &session.plan.targets {
            let ours = |trial: &&&Trial| trial.case == case.id && trial.target == target.name;
            let trials = all.iter().filter(ours).copied().collect();
            runs.push(Runs { case, target: &target.name, trials });
        }
    }
    runs
}
