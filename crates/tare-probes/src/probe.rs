//! A probe: the description of one kind of measurement.

use tare_data::metric::{Metric, Reading};
use tare_data::names::Parameters;
use tare_data::session::declared::{Alternation, Batching, Declared, Promise, Times};
use tare_data::unit::{Direction, Unit};

/// A kind of measurement and its description. The code that measures is in `probes/` and differs by system,
/// but every build knows all descriptions.
pub struct Probe {
    /// Family and name, e.g. `file.seq`.
    pub name: &'static str,
    /// Heading of a row if no parameter has to be mentioned.
    pub title: &'static str,
    /// Summary, in one sentence.
    pub summary: &'static str,
    /// Work between the two clock reads.
    pub timed: &'static str,
    /// Work outside the two clock reads.
    pub not_timed: &'static str,
    /// Influences that may distort the figure.
    pub distorted_by: &'static str,
    pub parameters: &'static [Parameter],
    /// The first is the headline.
    pub metrics: &'static [MetricDescription],
    pub family: Family,
    pub alternates: fn(&Parameters) -> Alternates,
    /// Revision, raised when the measurement changes. Figures of different revisions are never compared.
    pub revision: u32,
    /// Heading of a case's row, kept short because a table has 80 columns.
    pub label: fn(&Parameters) -> String,
}

/// A parameter, with its value in the two sizes that every probe has.
pub struct Parameter {
    pub name: &'static str,
    /// Value that keeps a round short.
    pub short: &'static str,
    /// Value that the original tool uses.
    pub reference: &'static str,
    pub about: &'static str,
}

impl Parameter {
    /// Builds a parameter from its values in both sizes: `[short, reference]`.
    pub(crate) const fn from_values(
        name: &'static str,
        values: [&'static str; 2],
        about: &'static str,
    ) -> Parameter {
        let [short, reference] = values;
        Parameter { name, short, reference, about }
    }

    /// Builds a parameter with the same value in both sizes.
    pub const fn from_one_value(name: &'static str, value: &'static str, about: &'static str) -> Parameter {
        Parameter::from_values(name, [value, value], about)
    }
}

/// A metric, as a constant; see [`Metric`].
pub struct MetricDescription {
    pub name: &'static str,
    pub series: &'static str,
    pub reading: Reading,
    pub unit: Unit,
    pub direction: Direction,
}

pub const fn time_metric(name: &'static str, series: &'static str) -> MetricDescription {
    nanoseconds_metric(name, series, Reading::TimePerOperation)
}

/// Builds the description of a time that is not the usual one, e.g. from a histogram.
pub(crate) const fn nanoseconds_metric(
    name: &'static str,
    series: &'static str,
    reading: Reading,
) -> MetricDescription {
    MetricDescription { name, series, reading, unit: Unit::Nanoseconds, direction: Direction::Lower }
}

/// Builds the description of a quantile of a series' histogram.
pub(crate) const fn quantile_metric(
    name: &'static str,
    series: &'static str,
    quantile: f64,
) -> MetricDescription {
    nanoseconds_metric(name, series, Reading::Quantile(quantile))
}

/// Builds the description of the first call's time in a process.
pub const fn first_call_metric(series: &'static str) -> MetricDescription {
    nanoseconds_metric("first", series, Reading::Cold)
}

/// Builds the description of a figure that is read, not timed, where less is better.
pub const fn gauge_metric(name: &'static str, series: &'static str, unit: Unit) -> MetricDescription {
    MetricDescription { name, series, reading: Reading::Gauge, unit, direction: Direction::Lower }
}

/// Builds the description of a rate over elapsed time, where more is better.
pub(crate) const fn rate_metric(
    name: &'static str,
    series: &'static str,
    reading: Reading,
    unit: Unit,
) -> MetricDescription {
    MetricDescription { name, series, reading, unit, direction: Direction::Higher }
}

pub(crate) const fn per_second(name: &'static str, series: &'static str) -> MetricDescription {
    rate_metric(name, series, Reading::OperationsPerSecond, Unit::PerSecond)
}

pub(crate) const fn bytes_per_second(name: &'static str, series: &'static str) -> MetricDescription {
    rate_metric(name, series, Reading::BytesPerSecond, Unit::BytesPerSecond)
}

/// The part of a system that a probe works, with all that has to be known to use and to judge its figures.
///
/// A probe of files says for its parameters which promises about the disk it rests on, or that none of its bytes need to
/// get that far:
///
/// ```
/// use tare_data::session::declared::Promise;
/// use tare_probes::probe::{Family, Storage};
///
/// let family = Family::Files { rests_on: |_| Storage::Disk(Promise::Sync, &[]), apart: false };
/// ```
///
/// Without that it does not compile:
///
/// ```compile_fail
/// use tare_data::session::declared::Promise;
/// use tare_probes::probe::{Family, Storage};
///
/// let family = Family::Files { apart: false };
/// ```
///
/// Nor does one of the disk that names no promise:
///
/// ```compile_fail
/// use tare_data::session::declared::Promise;
/// use tare_probes::probe::{Family, Storage};
///
/// let family = Family::Files { rests_on: |_| Storage::Disk(&[]), apart: false };
/// ```
pub enum Family {
    /// Instructions alone.
    Processor,
    /// A kernel: calls, processes, timers.
    Kernel,
    /// A kernel that starts a program, which is written into the environment's own files.
    Program,
    /// Fresh memory, of which a kernel prepares hundreds of pages at a time.
    Memory,
    /// Processes or threads that are kept alive, to see the memory that they take.
    Held,
    /// Two processes that take turns.
    Pair {
        /// Has new ones in each batch, so that where they run is drawn for each.
        placed: bool,
    },
    /// Files in a place.
    Files {
        rests_on: fn(&Parameters) -> Storage,
        /// Keeps its folder away from those of other trials, since it makes many files.
        apart: bool,
    },
    /// A peer at the other end of a network path.
    Network {
        /// See [`Family::Pair`].
        placed: bool,
    },
    /// A command that the user chooses, in a folder.
    Command,
}

/// The way in which a case can alternate with the same one elsewhere: two processes that take turns, so that whatever the
/// machine does meanwhile hits both.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Alternates {
    /// Batch by batch, both on one processor.
    OneProcessor,
    /// Batch by batch, wherever the scheduler places them.
    Anywhere,
    /// Not at all, for this reason: it would be another quantity.
    Alone(&'static str),
}

/// The depth that the bytes of a probe of files must reach.
pub enum Storage {
    /// The page cache. The probe never waits for a disk, so no promise about one can mislead it.
    PageCache,
    /// The disk, by one promise and any others.
    Disk(Promise, &'static [Promise]),
}

/// Two sizes: short rounds, or the original tool's durations and amounts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Size {
    Short,
    Reference,
}

impl Probe {
    /// Tells whether a trial needs a folder to write in.
    pub fn needs_place(&self) -> bool {
        matches!(self.family, Family::Files { .. } | Family::Command)
    }

    /// Tells whether a trial writes into the environment's own files, whatever its case names.
    pub fn writes_program(&self) -> bool {
        matches!(self.family, Family::Program)
    }

    /// Tells whether a trial needs a peer.
    pub fn needs_peer(&self) -> bool {
        matches!(self.family, Family::Network { .. })
    }

    /// Tells whether a trial needs a folder far away from those of other trials.
    pub(crate) fn is_apart(&self) -> bool {
        matches!(self.family, Family::Files { apart: true, .. })
    }

    /// Declares a case of the probe.
    pub fn declare_case(&self, parameters: &Parameters) -> Declared {
        let rests_on = match self.family {
            Family::Held => vec![Promise::MemoryCounters],
            Family::Files { rests_on, .. } => match rests_on(parameters) {
                Storage::PageCache => Vec::new(),
                Storage::Disk(first, others) => [&[first], others].concat(),
            },
            Family::Processor
            | Family::Kernel
            | Family::Program
            | Family::Memory
            | Family::Pair { .. }
            | Family::Network { .. }
            | Family::Command => Vec::new(),
        };
        let times = match self.family {
            Family::Processor => Times::Processor,
            _ => Times::System,
        };
        // If both are pinned, the scheduler has nothing to place.
        let is_pinned = parameters.get_text(PIN.name).is_ok_and(|pin| pin != PIN.short);
        let batching = match self.family {
            Family::Pair { placed: true } | Family::Network { placed: true } if !is_pinned => {
                Batching::Placed
            }
            Family::Memory => Batching::Long,
            Family::Command => Batching::Runs,
            _ => Batching::Short,
        };
        let alternation = match (self.alternates)(parameters) {
            Alternates::OneProcessor => Alternation::OneProcessor,
            Alternates::Anywhere => Alternation::Anywhere,
            Alternates::Alone(_) => Alternation::Alone,
        };
        Declared { rests_on, times, batching, alternation }
    }

    /// Lists all parameters with their defaults for a size.
    pub fn default_parameters(&self, size: Size) -> Parameters {
        let value = |p: &Parameter| match size {
            Size::Short => p.short,
            Size::Reference => p.reference,
        };
        Parameters(self.parameters.iter().map(|p| (p.name.to_owned(), value(p).to_owned())).collect())
    }

    /// Converts the metrics to the form that a record stores.
    pub fn metrics(&self) -> Vec<Metric> {
        self.metrics
            .iter()
            .map(|m| Metric {
                name: m.name.to_owned(),
                series: m.series.to_owned(),
                reading: m.reading,
                unit: m.unit,
                direction: m.direction,
            })
            .collect()
    }

    /// Computes a hash (FNV-1a, hex) of everything that defines a figure: probe, revision, parameters and
    /// readings of metrics.
    pub fn definition_hash(&self, parameters: &Parameters) -> String {
        let text = format!("{} {} {:?} {:?}", self.name, self.revision, parameters.0, self.metrics());
        let hash = text.bytes().fold(0xcbf2_9ce4_8422_2325, |hash: u64, byte| {
            (hash ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3)
        });
        format!("{hash:016x}")
    }
}

/// Parameter that places the two processes of a probe that switches between them.
pub(crate) const PIN: Parameter = Parameter::from_one_value(
    "pin",
    "none",
    "none: wherever the scheduler places them; same: both on one processor; cross: one on each of two",
);

/// Labels a case of two processes: `unpinned`, or `pinned` with the number of processors.
pub(crate) fn placement_label(parameters: &Parameters, pinned: &str, unpinned: &str) -> String {
    match parameters.get_text(PIN.name) {
        Ok("same") => format!("{pinned}, 1 CPU"),
        Ok("cross") => format!("{pinned}, 2 CPU"),
        _ => unpinned.into(),
    }
}

/// Formats a size parameter for the label of a case.
pub(crate) fn size_of(parameters: &Parameters, key: &str) -> String {
    parameters.get_integer(key).map(size_words).unwrap_or_default()
}

/// Formats a size briefly for a row heading, in powers of 1024: `4K`, `32M`.
pub(crate) fn size_words(bytes: u64) -> String {
    match bytes {
        b if b >= 1 << 30 && b % (1 << 30) == 0 => format!("{}G", b >> 30),
        b if b >= 1 << 20 && b % (1 << 20) == 0 => format!("{}M", b >> 20),
        b if b >= 10 << 20 => format!("{}M", b >> 20),
        b if b >= 1 << 10 && b % (1 << 10) == 0 => format!("{}K", b >> 10),
        b if b >= 10 << 10 => format!("{}K", b >> 10),
        b => format!("{b}B"),
    }
}

/// Imports that nearly every description of a probe needs.
pub(crate) mod describing {
    pub(crate) use tare_data::metric::Reading;
    pub(crate) use tare_data::unit::Unit;

    pub(crate) use tare_data::session::declared::Promise;

    pub(crate) use super::{
        Alternates, Family, MetricDescription, PIN, Parameter, Probe, Storage, bytes_per_second,
        first_call_metric,
    };
    pub(crate) use super::{
        gauge_metric, nanoseconds_metric, per_second, placement_label, quantile_metric, rate_metric, size_of,
        time_metric,
    };
}

/// Imports that nearly every loop of a probe needs.
pub(crate) mod prelude {
    pub(crate) use tare_data::failure::{Failure, FailureKind};
    pub(crate) use tare_data::names::Parameters;

    pub(crate) use crate::harness::buffer::Buffer;
    pub(crate) use crate::harness::files;
    #[cfg(unix)]
    pub(crate) use crate::harness::handover::Placement;
    pub(crate) use crate::harness::stopwatch::{Laps, Stopwatch, now_ns};
    pub(crate) use crate::harness::trial::{Report, Trial, broken_failure, prove_count};
    pub(crate) use crate::platform::{AsFd, BorrowedFd, Errno, OFlags, OwnedFd};
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_are_short() {
        let words = [512, 4096, 1 << 20, 1 << 30, 32 << 20, 1_500].map(size_words);
        assert_eq!(words, ["512B", "4K", "1M", "1G", "32M", "1500B"]);
    }
}
