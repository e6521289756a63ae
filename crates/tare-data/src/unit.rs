//! Units a metric can have, and which direction is better.

use serde::{Deserialize, Serialize};

/// The unit of a metric's value. Prefixes are chosen when the value is shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Unit {
    /// Nanoseconds an operation.
    Nanoseconds,
    PerSecond,
    /// Operations a minute, as UnixBench counts its shell scripts.
    PerMinute,
    /// Bytes a second; shown in powers of ten (MB/s), as dd does.
    BytesPerSecond,
    /// Bits a second; shown in powers of ten (Gbit/s), as network tools do.
    BitsPerSecond,
    /// Bytes; shown in powers of two (KiB, MiB).
    Bytes,
    /// Millions of Whetstone instructions a second.
    Mwips,
    Percent,
    Count,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Direction {
    /// Less is better: times, memory.
    Lower,
    /// More is better: rates.
    Higher,
}

impl Direction {
    /// Computes the value that is this many times as costly: a time is multiplied, a rate divided.
    pub fn scale(self, value: f64, cost_ratio: f64) -> f64 {
        match self {
            Direction::Lower => value * cost_ratio,
            Direction::Higher => value / cost_ratio,
        }
    }
}
