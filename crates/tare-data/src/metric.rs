//! A metric: how one figure of a probe is read from the raw samples of a trial.

use serde::{Deserialize, Serialize};

use crate::unit::{Direction, Unit};

/// Figure of a probe. The first metric of a probe is its headline.
///
/// A metric is stored in the plan of a record, so that a record can be read without the probe that made it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Metric {
    /// Name within the probe, e.g. `p99`.
    pub name: String,
    /// Which series of samples it is read from, e.g. `read` or `sync`.
    pub series: String,
    pub reading: Reading,
    pub unit: Unit,
    pub direction: Direction,
}

/// Rule by which the value of a trial is read from the warm samples of one series.
///
/// Of timed batches the typical value is the median, the first left out where there are three or more; next
/// to it is the value of all of them together.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Reading {
    /// Elapsed nanoseconds over operations.
    TimePerOperation,
    OperationsPerSecond,
    OperationsPerMinute,
    BytesPerSecond,
    BitsPerSecond,
    /// A quantile of the histogram, in 0..=1.
    Quantile(f64),
    /// Smallest time in the histogram.
    Minimum,
    /// Largest time in the histogram: an observation, never compared as if it were a parameter.
    Maximum,
    Mean,
    StandardDeviation,
    /// Median of the gauge samples.
    Gauge,
    /// Time of the first call, which is kept apart from the warm ones.
    Cold,
}
