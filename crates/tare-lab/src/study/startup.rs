//! `env.start`: what it costs to have an environment at all. Measured by the host, not by an agent inside.
//!
//! The environment is left, and entered afresh. Both stretches begin before the provider prepares anything and end when
//! the host has the frame: that of the agent's first frame, and that of the first sample of a trial that does nothing.
//! Memory is the proportional set size of the processes that carry the start's mark or descend from it, disk what
//! the start's folder takes, both once that trial is over.

use std::ops::RangeInclusive;
use std::time::Instant;

use tare_data::batch::{Batch, Phase, Sample};
use tare_data::names::{BadParameter, Case};
use tare_data::request::{Amount, TrialRequest};
use tare_data::unit::Unit;
use tare_probes::Probe;
use tare_probes::probe::{Alternates, Family, Parameter, gauge_metric, time_metric};

/// The parameter that has a case be several starts.
pub const AT_ONCE: &str = "at_once";
const AT_ONCE_BOUNDS: RangeInclusive<u64> = 1..=200;

pub static PROBE: Probe = Probe {
    name: "env.start",
    title: "start of environment",
    summary: "A new start of an environment, alone or many at once: time to its first sample, and resources used when idle.",
    timed: "by the host's clock, from before anything is prepared until the first sample has arrived; of several at once, until that of the last",
    not_timed: "leaving the environment before; measuring its memory and disk afterwards",
    distorted_by: "page cache of images and binaries, which is warm after the first start; what a daemon keeps ready",
    parameters: &[Parameter::from_one_value(
        AT_ONCE,
        "1",
        "starts at once, launched one after the other without waiting (1 to 200); memory and disk are those of each",
    )],
    metrics: &[
        time_metric("sample", "sample"),
        gauge_metric("each", "each", Unit::Nanoseconds),
        gauge_metric("hello", "hello", Unit::Nanoseconds),
        gauge_metric("memory", "memory", Unit::Bytes),
        gauge_metric("disk", "disk", Unit::Bytes),
    ],
    family: Family::Kernel,
    alternates: |_| Alternates::Alone("each trial is a start"),
    revision: 2,
    label: |parameters| match parameters.get_text(AT_ONCE) {
        Ok("1") | Err(_) => "start of environment".into(),
        Ok(count) => format!("{count} starts at once"),
    },
};

pub fn is_start(case: &Case) -> bool {
    case.probe == PROBE.name
}

pub fn at_once(case: &Case) -> Result<usize, BadParameter> {
    case.parameters.get_integer_within(AT_ONCE, AT_ONCE_BOUNDS).map(|count| count as usize)
}

/// Builds the trial whose first sample ends a start: it does nothing.
pub fn first_trial(request: &TrialRequest) -> TrialRequest {
    let case = Case { probe: "null".into(), parameters: Default::default(), place: None, peer: None };
    let amount = Amount::Operations { batch: 1, batches: 1 };
    TrialRequest { case, amount, directory: None, peer: None, ..request.clone() }
}

/// The moments of a start, by the host's clock.
#[derive(Clone, Copy, Debug)]
pub struct Moments {
    pub began: Instant,
    pub hello: Instant,
    pub sample: Instant,
}

/// Resources of a start once it is idle; None where they cannot be read.
#[derive(Clone, Copy, Debug)]
pub struct Taken {
    pub memory_bytes: Option<u64>,
    pub disk_bytes: Option<u64>,
}

/// Converts a start to batches. Unread resources are absent.
pub fn make_batches(moments: Moments, taken: Taken) -> Vec<Batch> {
    let elapsed_ns = nanoseconds(moments.began, moments.sample);
    let mut all = vec![
        sample(elapsed_ns),
        gauge_of("each", elapsed_ns as f64),
        gauge_of("hello", nanoseconds(moments.began, moments.hello) as f64),
    ];
    all.extend(taken.memory_bytes.map(|bytes| gauge_of("memory", bytes as f64)));
    all.extend(taken.disk_bytes.map(|bytes| gauge_of("disk", bytes as f64)));
    all
}

/// Converts several starts at once to batches, the first of which began at `began`: the last one's sample,
/// and of the others the median of their times, the mean of their memory and disk.
pub fn batches_at_once(began: Instant, moments: &[Moments], taken: &[Taken]) -> Vec<Batch> {
    let last = moments.iter().map(|moments| nanoseconds(began, moments.sample)).max().unwrap_or(0);
    let middle = |of: fn(&Moments) -> u64| {
        let mut all: Vec<u64> = moments.iter().map(of).collect();
        all.sort_unstable();
        all[all.len() / 2] as f64
    };
    let mean = |of: fn(&Taken) -> Option<u64>| {
        let known: Option<Vec<u64>> = taken.iter().map(of).collect();
        known.map(|known| known.iter().sum::<u64>() as f64 / known.len() as f64)
    };
    let mut all = vec![sample(last)];
    if !moments.is_empty() {
        all.push(gauge_of("each", middle(|moments| nanoseconds(moments.began, moments.sample))));
        all.push(gauge_of("hello", middle(|moments| nanoseconds(moments.began, moments.hello))));
    }
    all.extend(mean(|taken| taken.memory_bytes).map(|bytes| gauge_of("memory", bytes)));
    all.extend(mean(|taken| taken.disk_bytes).map(|bytes| gauge_of("disk", bytes)));
    all
}

fn nanoseconds(began: Instant, until: Instant) -> u64 {
    u64::try_from(until.saturating_duration_since(began).as_nanos()).unwrap_or(u64::MAX)
}

fn sample(elapsed_ns: u64) -> Batch {
    batch("sample", Sample::Throughput { operations: 1, bytes: 0, elapsed_ns })
}

fn gauge_of(series: &str, value: f64) -> Batch {
    batch(series, Sample::Gauge { value })
}

fn batch(series: &str, sample: Sample) -> Batch {
    Batch { series: series.into(), phase: Phase::Warm, started_ns: 0, sample }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    #[test]
    fn what_was_not_measured_is_absent() {
        let began = Instant::now();
        let moments = Moments {
            began,
            hello: began + Duration::from_millis(2),
            sample: began + Duration::from_millis(5),
        };
        let all = make_batches(moments, Taken { memory_bytes: None, disk_bytes: Some(7) });
        let series: Vec<&str> = all.iter().map(|batch| batch.series.as_str()).collect();
        assert_eq!(series, ["sample", "each", "hello", "disk"]);
        assert_eq!(all[2].sample, Sample::Gauge { value: 2e6 });
    }

    #[test]
    fn several_at_once_are_the_last_one_and_what_each_takes() {
        let began = Instant::now();
        let ms = |ms| began + Duration::from_millis(ms);
        let moments = [(0, 2, 5), (1, 8, 11), (2, 20, 30)].map(|(began, hello, sample)| Moments {
            began: ms(began),
            hello: ms(hello),
            sample: ms(sample),
        });
        let taken = [10, 20, 60].map(|memory| Taken { memory_bytes: Some(memory), disk_bytes: None });
        let all = batches_at_once(began, &moments, &taken);
        let of = |series: &str| all.iter().find(|batch| batch.series == series).map(|batch| &batch.sample);
        let elapsed_ns = 30_000_000;
        assert_eq!(of("sample"), Some(&Sample::Throughput { operations: 1, bytes: 0, elapsed_ns }));
        assert_eq!(of("each"), Some(&Sample::Gauge { value: 1e7 }));
        assert_eq!(of("hello"), Some(&Sample::Gauge { value: 7e6 }));
        assert_eq!(of("memory"), Some(&Sample::Gauge { value: 30.0 }));
        assert_eq!(of("disk"), None);
    }
}
