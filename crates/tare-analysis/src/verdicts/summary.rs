//! From raw samples to one value a trial, and from trials to a series of values an environment.

use std::borrow::Cow;
use std::collections::HashSet;
use std::iter::Sum;

use tare_data::batch::{Batch, Phase, Sample, Timed};
use tare_data::failure::{Failure, FailureKind};
use tare_data::metric::{Metric, Reading};
use tare_data::names::USER;
use tare_data::session::{RepeatedRound, Trial};

use crate::findings::Level;
use crate::statistics::level::ALPHA;
use crate::statistics::operation_times::OperationTimes;
use crate::statistics::sign_test;
use crate::statistics::signed_ranks::{compute_median, sort_values};

/// Tells whether a reading is of single operations' times, so that the step of the clock bounds it.
pub(crate) fn reads_single_operations(reading: Reading) -> bool {
    match reading {
        Reading::Quantile(_)
        | Reading::Minimum
        | Reading::Maximum
        | Reading::Mean
        | Reading::StandardDeviation => true,
        Reading::Cold => true,
        Reading::TimePerOperation
        | Reading::OperationsPerSecond
        | Reading::OperationsPerMinute
        | Reading::BytesPerSecond
        | Reading::BitsPerSecond
        | Reading::Gauge => false,
    }
}

/// Totals of timed samples: operations, bytes, elapsed nanoseconds.
#[derive(Clone, Copy, Default)]
struct Totals {
    operations: u128,
    bytes: u128,
    elapsed_ns: u128,
}

impl Totals {
    fn of(timed: Timed) -> Self {
        Totals {
            operations: u128::from(timed.operations),
            bytes: u128::from(timed.bytes),
            elapsed_ns: u128::from(timed.elapsed_ns),
        }
    }

    /// Reads a value; not a number where there is nothing to divide by, none where it is not of totals.
    fn read(self, reading: Reading) -> Option<f64> {
        match reading {
            Reading::TimePerOperation => Some(self.time_per_operation()),
            Reading::OperationsPerSecond => Some(self.per_second(self.operations)),
            Reading::OperationsPerMinute => Some(60.0 * self.per_second(self.operations)),
            Reading::BytesPerSecond => Some(self.per_second(self.bytes)),
            Reading::BitsPerSecond => Some(8.0 * self.per_second(self.bytes)),
            _ => None,
        }
    }

    fn time_per_operation(self) -> f64 {
        self.elapsed_ns as f64 / self.operations as f64
    }

    fn per_second(self, amount: u128) -> f64 {
        amount as f64 * 1e9 / self.elapsed_ns as f64
    }
}

impl Sum for Totals {
    fn sum<I: Iterator<Item = Totals>>(all: I) -> Totals {
        all.fold(Totals::default(), |a, b| Totals {
            operations: a.operations + b.operations,
            bytes: a.bytes + b.bytes,
            elapsed_ns: a.elapsed_ns + b.elapsed_ns,
        })
    }
}

/// Number of batches from which on the first is left out: it warms up caches for the others.
const FEWEST_TO_DROP_FIRST: usize = 3;

/// The cost of a trial's batches: typically, all together, and each.
struct Cost {
    typical: f64,
    total: f64,
    each: Vec<f64>,
}

/// Computes the median over the timed batches of a series and the totals of them all, after the first where
/// there are three or more. For one batch both are its own value; for two, the typical one is between them.
/// Runs of a command all count: each is a new process, and users who want others before them say so.
fn cost(trial: &Trial, metric: &Metric) -> Option<Cost> {
    let mut all: Vec<Totals> = Vec::new();
    for batch in batches(trial, metric, Phase::Warm) {
        all.extend(batch.sample.iter_timed().map(Totals::of));
    }
    let warms_up = all.len() >= FEWEST_TO_DROP_FIRST && !trial.case.starts_with(USER);
    let kept = if warms_up { &all[1..] } else { &all };
    let each = kept.iter().filter_map(|batch| batch.read(metric.reading)).filter(|value| !value.is_nan());
    let total = kept.iter().copied().sum::<Totals>().read(metric.reading)?;
    let each: Vec<f64> = each.collect();
    let typical = if each.is_empty() { total } else { compute_median(&sort_values(&each)) };
    Some(Cost { typical, total, each })
}

/// A value of a trial, and how many operations were timed one by one for it.
#[derive(Clone, Debug, PartialEq)]
pub struct TrialValue {
    /// The typical value.
    pub value: f64,
    /// The value of all that was timed together, in the same unit; none where the typical one is not of batches.
    pub total: Option<f64>,
    /// The value of each batch in turn; empty where the typical one is not of batches.
    pub each: Vec<f64>,
    pub operations: u64,
}

/// Reads the values of these metrics in a trial; none where its samples do not give it, or none that is a
/// number.
pub fn read_values(trial: &Trial, metrics: &[Metric]) -> Vec<Option<TrialValue>> {
    // Metrics of one series share its times: p50, p90, p99 and mean are read from one pass.
    let mut read: Vec<(&str, OperationTimes)> = Vec::new();
    let mut values = Vec::with_capacity(metrics.len());
    for metric in metrics {
        let mut each = Vec::new();
        let (value, total, operations) = match metric.reading {
            Reading::Quantile(_)
            | Reading::Minimum
            | Reading::Maximum
            | Reading::Mean
            | Reading::StandardDeviation => {
                let known = read.iter().position(|(series, _)| *series == metric.series);
                let at = known.unwrap_or(read.len());
                if known.is_none() {
                    read.push((&metric.series, times(trial, metric)));
                }
                (read[at].1.read_metric(metric.reading), None, read[at].1.total())
            }
            Reading::Gauge => (gauge(batches(trial, metric, Phase::Warm)), None, 0),
            Reading::Cold => (cold(trial, metric), None, 0),
            Reading::TimePerOperation
            | Reading::OperationsPerSecond
            | Reading::OperationsPerMinute
            | Reading::BytesPerSecond
            | Reading::BitsPerSecond => {
                let mut cost = cost(trial, metric);
                each = cost.as_mut().map(|cost| std::mem::take(&mut cost.each)).unwrap_or_default();
                (cost.as_ref().map(|cost| cost.typical), cost.map(|cost| cost.total), 0)
            }
        };
        let finite = value.filter(|value| value.is_finite());
        values.push(finite.map(|value| TrialValue { value, total, each, operations }));
    }
    values
}

fn batches<'a>(trial: &'a Trial, metric: &'a Metric, phase: Phase) -> impl Iterator<Item = Cow<'a, Batch>> {
    trial.batches.iter_series(&metric.series).filter(move |batch| batch.phase == phase)
}

/// Reads the time of the first call, or its gauge.
fn cold(trial: &Trial, metric: &Metric) -> Option<f64> {
    let first = batches(trial, metric, Phase::Cold);
    match first.map(|batch| batch.sample.iter_timed().map(Totals::of).sum()).sum() {
        Totals { operations: 0, .. } => gauge(batches(trial, metric, Phase::Cold)),
        cold => Some(cold.time_per_operation()),
    }
}

/// Collects the warm times of a metric's series; empty when a histogram is damaged, so that no part of it
/// passes for the whole.
fn times(trial: &Trial, metric: &Metric) -> OperationTimes {
    read_times(&[trial], metric)
}

/// Joins the warm times of a metric over trials; those that failed have none.
pub(crate) fn read_times(trials: &[&Trial], metric: &Metric) -> OperationTimes {
    let counted = trials.iter().copied().filter(|trial| trial.failure.is_none());
    let warm = counted.flat_map(|trial| batches(trial, metric, Phase::Warm));
    let histograms = warm.filter_map(|batch| Some(batch.sample.histogram()?.decode()));
    histograms.collect::<Result<_, _>>().unwrap_or_default()
}

/// Computes the median of the gauges among these batches.
fn gauge<'a>(batches: impl Iterator<Item = Cow<'a, Batch>>) -> Option<f64> {
    let values: Vec<f64> = batches
        .filter_map(|batch| match batch.sample {
            Sample::Gauge { value } if value.is_finite() => Some(value),
            _ => None,
        })
        .collect();
    (!values.is_empty()).then(|| compute_median(&sort_values(&values)))
}

/// The value of one round.
#[derive(Clone, Debug, PartialEq)]
pub struct RoundValue {
    pub round: u32,
    pub start: u32,
    /// When its trial began, in the host's clock.
    pub started_ns: u64,
    pub value: f64,
    /// [`TrialValue::total`].
    pub total: Option<f64>,
    /// [`TrialValue::each`], of a trial that took turns with its partner's; empty for one that ran alone.
    pub each: Vec<f64>,
    /// Batches for which another program took the processor.
    pub interrupted: u64,
}

/// A metric of a case in an environment, over the rounds that counted.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Series {
    /// In order of rounds.
    pub values: Vec<RoundValue>,
    /// Rounds that were run: one more than the last one's number, failed or not.
    pub reached: u32,
    /// Trials that counted, and how many of them gave no value.
    pub trials: u32,
    pub failed: u32,
    /// The failure that came most often.
    pub failure: Option<Failure>,
    /// Fewest operations that a trial with a value timed one by one.
    pub least_operations: u64,
}

impl Series {
    pub(crate) fn plain_values(&self) -> Vec<f64> {
        self.values.iter().map(|v| v.value).collect()
    }
}

/// Reads every metric of a case from the trials of an environment that counted, one a round, in order of rounds.
pub(crate) fn read_series(trials: &[&Trial], metrics: &[Metric]) -> Vec<Series> {
    read_series_against(trials, metrics, None)
}

/// Reads series as [`read_series`] does, with the batches of trials that took turns with this environment's.
pub(crate) fn read_series_against(
    trials: &[&Trial],
    metrics: &[Metric],
    partner: Option<&str>,
) -> Vec<Series> {
    let mut all = vec![Series { least_operations: u64::MAX, ..Series::default() }; metrics.len()];
    let mut failures: Vec<(&Failure, usize)> = Vec::new();
    for trial in trials {
        let read = match trial.failure {
            Some(_) => vec![None; metrics.len()],
            None => read_values(trial, metrics),
        };
        for (at, ((series, metric), value)) in all.iter_mut().zip(metrics).zip(read).enumerate() {
            series.trials += 1;
            series.reached = series.reached.max(trial.round.saturating_add(1));
            match value {
                Some(TrialValue { value, total, each, operations }) => {
                    let took_turns = partner.is_some() && trial.partner.as_deref() == partner;
                    let each = if took_turns { each } else { Vec::new() };
                    series.values.push(RoundValue {
                        round: trial.round,
                        start: trial.start,
                        started_ns: trial.started_ns,
                        value,
                        total,
                        each,
                        interrupted: trial.inside.batches_interrupted.unwrap_or(0),
                    });
                    if let Reading::Quantile(_) = metric.reading {
                        series.least_operations = series.least_operations.min(operations);
                    }
                }
                // A further gauge is read where an environment has it to show; a headline and timed batches must be there.
                None if at > 0
                    && metric.reading == Reading::Gauge
                    && trial.failure.is_none()
                    && trial.batches.iter_series(&metric.series).next().is_none() => {}
                None => series.failed += 1,
            }
        }
        if let Some(failure) = &trial.failure {
            match failures.iter_mut().find(|(known, _)| *known == failure) {
                Some((_, count)) => *count += 1,
                None => failures.push((failure, 1)),
            }
        }
    }
    // The earliest among equals: later failures often follow from it.
    let most = failures.iter().rev().max_by_key(|(_, count)| *count).map(|(failure, _)| (*failure).clone());
    for (series, metric) in all.iter_mut().zip(metrics) {
        series.failure = most.clone().or_else(|| {
            let is_shown = series.failed > 0 || !series.values.is_empty();
            match metric.reading {
                Reading::Gauge if !is_shown && series.trials > 0 => {
                    let reason = format!("no trial there shows it: {}", metric.name);
                    Some(Failure::new(FailureKind::NotSupported, reason))
                }
                _ => (series.failed > 0).then(|| {
                    Failure::new(FailureKind::WrongWork, format!("its samples give no {}", metric.name))
                }),
            }
        });
    }
    all
}

/// Collects case, round and attempt of the attempts that were run again.
pub(crate) fn collect_disturbed(repeated: &[RepeatedRound]) -> HashSet<(&str, u32, u32)> {
    repeated.iter().map(|r| (r.case.as_str(), r.round, r.attempt)).collect()
}

/// Keeps the trials that count, one for each case, environment, round and partner: repeated attempts do not; of several that do,
/// the last. Sorts them by case, environment, round.
pub(crate) fn keep_counted<'a>(trials: &mut Vec<&'a Trial>, disturbed: &HashSet<(&str, u32, u32)>) {
    let name = |t: &&'a Trial| (t.case.as_str(), t.target.as_str(), t.round, t.partner.as_deref());
    trials.retain(|t| !disturbed.contains(&(t.case.as_str(), t.round, t.attempt)));
    // Stable: trials of the same attempt stay in the order in which they ran.
    trials.sort_by(|a, b| (name(a), a.attempt).cmp(&(name(b), b.attempt)));
    trials.reverse();
    trials.dedup_by_key(|t| name(t));
    trials.reverse();
}

/// Returns the trials that are wanted and count: see `keep_counted`.
pub fn list_counted_trials<'a>(
    trials: &'a [Trial],
    repeated: &[RepeatedRound],
    wanted: impl Fn(&Trial) -> bool,
) -> Vec<&'a Trial> {
    let mut counted: Vec<&Trial> = trials.iter().filter(|trial| wanted(trial)).collect();
    keep_counted(&mut counted, &collect_disturbed(repeated));
    counted
}

/// Computes the typical value of a series; none when it has none.
pub(crate) fn compute_level(series: &Series) -> Option<Level> {
    compute_level_of(series.plain_values())
}

/// Computes the typical one of a value a round.
pub(crate) fn compute_level_of(values: Vec<f64>) -> Option<Level> {
    let sorted = sort_values(&values);
    let (first, last) = (*sorted.first()?, *sorted.last()?);
    let interval = sign_test::compute_median_interval(&sorted, ALPHA);
    Some(Level {
        median: compute_median(&sorted),
        low: interval.low.max(first),
        high: interval.high.min(last),
        rounds: values.len() as u32,
        values,
    })
}
