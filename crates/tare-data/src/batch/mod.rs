//! A batch: the timed operations of a trial that travel together.

mod batches;
mod run_end;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD_NO_PAD;
use hdrhistogram::serialization::{Deserializer, Serializer, V2Serializer};
use serde::{Deserialize, Serialize};

pub use self::batches::{Batches, Shelf};
pub use self::run_end::{ENDED, RunEnd};

/// Shortest time that a histogram distinguishes from zero.
pub(crate) const HISTOGRAM_LOWEST_NS: u64 = 1;
/// Longest time that a histogram holds; the deadline of a trial is shorter in every study that is shipped.
pub(crate) const HISTOGRAM_HIGHEST_NS: u64 = 60_000_000_000;
/// Significant digits of a histogram: a quantile is right to one part in a thousand.
pub(crate) const HISTOGRAM_DIGITS: u8 = 3;
/// Longest encoded histogram that is read: a full one with these bounds encodes in less.
const HISTOGRAM_MOST_ENCODED: usize = 512 * 1024;

/// Series of the batches in which a calibration reports how long its operations took, with all that goes
/// with them. A probe that does a fixed amount of work sends none.
pub const CALIBRATION: &str = "calibration";

/// Series in which a probe reports how many processes or threads it holds now: 0 before the first, then all. It
/// goes on only after a while, so that the host can read its own memory use both times.
pub const HELD: &str = "held";
/// Series that the host then adds: bytes that this machine has given up for each of them. No agent sends it.
pub const OUTSIDE: &str = "outside";

/// Series of the gauges in which a network trial counts requests that were not simply answered, one of each a trial:
/// never answered, answered after they were given up, answers that came twice, and out of order.
pub const ASTRAY: [&str; 4] = ["lost", "late", "duplicated", "reordered"];

/// Measurement of a batch.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Sample {
    /// Operations timed together, without a clock read between them.
    Throughput {
        operations: u64,
        /// Bytes moved; 0 where the series does not count bytes.
        #[serde(default, skip_serializing_if = "is_zero")]
        bytes: u64,
        /// By the agent's clock.
        elapsed_ns: u64,
    },
    /// Operations timed one by one.
    Latency {
        operations: u64,
        #[serde(default, skip_serializing_if = "is_zero")]
        bytes: u64,
        /// From the first start to the last end, by the agent's clock.
        elapsed_ns: u64,
        histogram: EncodedHistogram,
    },
    /// Several batches, one after the other, that did the same.
    Stretches {
        /// Operations of each.
        operations: u64,
        /// Bytes of each.
        #[serde(default, skip_serializing_if = "is_zero")]
        bytes: u64,
        /// Time of each in turn.
        elapsed_ns: Vec<u64>,
        /// Times of all operations together, where they were timed one by one.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        histogram: Option<EncodedHistogram>,
    },
    /// A figure that is read, not timed, e.g. bytes of memory a process.
    Gauge { value: f64 },
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde passes a reference")]
fn is_zero(bytes: &u64) -> bool {
    *bytes == 0
}

/// Work between two reads of the clock.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Timed {
    pub operations: u64,
    pub bytes: u64,
    pub elapsed_ns: u64,
}

impl Sample {
    /// Iterates over timed stretches in their order; a figure that is read has none.
    pub fn iter_timed(&self) -> impl Iterator<Item = Timed> + '_ {
        let (operations, bytes, elapsed_ns) = match self {
            Sample::Throughput { operations, bytes, elapsed_ns }
            | Sample::Latency { operations, bytes, elapsed_ns, .. } => {
                (*operations, *bytes, std::slice::from_ref(elapsed_ns))
            }
            Sample::Stretches { operations, bytes, elapsed_ns, .. } => {
                (*operations, *bytes, elapsed_ns.as_slice())
            }
            Sample::Gauge { .. } => (0, 0, &[][..]),
        };
        elapsed_ns.iter().map(move |&elapsed_ns| Timed { operations, bytes, elapsed_ns })
    }

    /// Returns the times of its operations, where they were timed one by one.
    pub fn histogram(&self) -> Option<&EncodedHistogram> {
        match self {
            Sample::Latency { histogram, .. } => Some(histogram),
            Sample::Stretches { histogram, .. } => histogram.as_ref(),
            Sample::Throughput { .. } | Sample::Gauge { .. } => None,
        }
    }
}

/// Phase of a trial: first calls or the steady state.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Phase {
    /// The first call of the process, kept apart: it includes page faults, cold caches and lazy set-up.
    Cold,
    /// Every later one.
    Warm,
}

/// Timed figure of a trial, as the agent sends it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Batch {
    /// Which of the probe's series it belongs to.
    pub series: String,
    pub phase: Phase,
    /// When it began, by the agent's monotonic clock.
    pub started_ns: u64,
    pub sample: Sample,
}

impl Batch {
    /// Estimates its bytes in memory.
    pub fn held_bytes(&self) -> usize {
        let histogram = self.sample.histogram().map_or(0, |histogram| histogram.0.len());
        let stretches = match &self.sample {
            Sample::Stretches { elapsed_ns, .. } => size_of_val(elapsed_ns.as_slice()),
            Sample::Throughput { .. } | Sample::Latency { .. } | Sample::Gauge { .. } => 0,
        };
        size_of::<Batch>() + self.series.len() + histogram + stretches
    }
}

/// An HdrHistogram of nanoseconds with the bounds above, as a probe fills it and the analysis reads it.
#[derive(Clone, Debug, PartialEq)]
pub struct Histogram(pub hdrhistogram::Histogram<u64>);

impl Histogram {
    /// Allocates an empty histogram. It never grows: recording into it does not allocate.
    pub fn new() -> Self {
        Histogram(
            hdrhistogram::Histogram::new_with_bounds(
                HISTOGRAM_LOWEST_NS,
                HISTOGRAM_HIGHEST_NS,
                HISTOGRAM_DIGITS,
            )
            .expect("constant bounds are valid"),
        )
    }

    /// Adds one time. Times beyond the bounds are counted at the bound, never dropped.
    #[inline]
    pub fn record(&mut self, elapsed_ns: u64) {
        self.0.saturating_record(elapsed_ns.max(HISTOGRAM_LOWEST_NS));
    }

    /// Encodes the histogram for the wire and the record.
    pub fn encode(&self) -> EncodedHistogram {
        let mut bytes = Vec::new();
        V2Serializer::new().serialize(&self.0, &mut bytes).expect("writing into a vector does not fail");
        EncodedHistogram(STANDARD_NO_PAD.encode(bytes))
    }
}

impl Default for Histogram {
    fn default() -> Self {
        Self::new()
    }
}

/// A histogram as base64 of its V2 encoding: about a kilobyte, where the open one takes 200.
///
/// A session holds thousands, so they stay in this form and are opened one at a time.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct EncodedHistogram(pub String);

impl EncodedHistogram {
    /// Decodes the histogram. The error names the fault if it is damaged or not tare's.
    pub fn decode(&self) -> Result<Histogram, String> {
        if self.0.len() > HISTOGRAM_MOST_ENCODED {
            return Err("histogram is too long".into());
        }
        let bytes = STANDARD_NO_PAD.decode(&self.0).map_err(|e| e.to_string())?;
        // The encoding names its own bounds; a hostile one could ask for gigabytes. Ours are constant.
        checked_header(&bytes)?;
        // With its bounds checked it is one of ours, and needs no copying into one.
        Deserializer::new().deserialize(&mut bytes.as_slice()).map(Histogram).map_err(|e| format!("{e:?}"))
    }
}

/// First word of a V2 encoding that is not compressed; a compressed one would carry a second header, unchecked.
const COOKIE: u32 = 0x1c84_9313;

/// Bytes of a V2 header.
const HEADER_LENGTH: usize = 40;

/// Refuses a V2 encoding whose header does not state exactly our bounds, or another length than it has: as much as
/// it states is allocated before it is read.
///
/// Header, big-endian: cookie u32, payload length u32, normalising offset u32, digits u32, lowest u64, highest u64, ratio f64.
fn checked_header(bytes: &[u8]) -> Result<(), String> {
    let word =
        |at: usize| bytes.get(at..at + 4).map(|b| u32::from_be_bytes(b.try_into().expect("four bytes")));
    let long =
        |at: usize| bytes.get(at..at + 8).map(|b| u64::from_be_bytes(b.try_into().expect("eight bytes")));
    let ours = word(0) == Some(COOKIE)
        && word(12) == Some(u32::from(HISTOGRAM_DIGITS))
        && long(16) == Some(HISTOGRAM_LOWEST_NS)
        && long(24) == Some(HISTOGRAM_HIGHEST_NS);
    let whole = word(4).is_some_and(|length| bytes.len().checked_sub(HEADER_LENGTH) == Some(length as usize));
    if ours && !whole {
        return Err("histogram is not as long as it states".into());
    }
    if ours { Ok(()) } else { Err("histogram has other bounds than 1 ns to 60 s at 3 digits".into()) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_histogram_survives_the_journey() {
        let mut histogram = Histogram::new();
        for ns in [0, 17, 1_000, 1_000_000, u64::MAX] {
            histogram.record(ns);
        }
        let back = histogram.encode().decode().unwrap();
        assert_eq!(back, histogram);
        assert_eq!(back.0.len(), 5);
    }

    #[test]
    fn a_histogram_that_asks_for_other_bounds_is_refused() {
        let mut bytes = Vec::new();
        let wide = hdrhistogram::Histogram::<u64>::new_with_bounds(1, u64::MAX / 2, 5).unwrap();
        V2Serializer::new().serialize(&wide, &mut bytes).unwrap();
        assert!(EncodedHistogram(STANDARD_NO_PAD.encode(bytes)).decode().is_err());
    }

    #[test]
    fn a_histogram_that_says_it_is_longer_is_refused_before_room_is_made() {
        let EncodedHistogram(text) = Histogram::new().encode();
        let mut bytes = STANDARD_NO_PAD.decode(text).unwrap();
        bytes[4..8].copy_from_slice(&u32::MAX.to_be_bytes());
        let refused = EncodedHistogram(STANDARD_NO_PAD.encode(bytes)).decode();
        assert_eq!(refused, Err("histogram is not as long as it states".into()));
    }

    #[test]
    fn every_cut_of_an_encoded_histogram_is_refused_without_panic() {
        let mut histogram = Histogram::new();
        (1..2_000).for_each(|ns| histogram.record(ns * 37));
        let EncodedHistogram(text) = histogram.encode();
        for end in 0..text.len() - 1 {
            assert!(EncodedHistogram(text[..end].to_owned()).decode() != Ok(histogram.clone()));
        }
    }
}
