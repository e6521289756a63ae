//! A probe: one thing that is measured, described in one place.

use tare_data::failure::Failure;
use tare_data::metric::{Metric, Reading};
use tare_data::names::Parameters;
use tare_data::unit::{Direction, Unit};

use crate::harness::trial::Trial;

/// One thing that is measured: what it is called, how it is described, what it does.
pub struct Probe {
    /// Family and name, e.g. `file.seq`.
    pub name: &'static str,
    /// What a row is headed with when no parameter needs saying.
    pub title: &'static str,
    /// One sentence: what it measures.
    pub summary: &'static str,
    /// What lies between the two clock reads.
    pub timed: &'static str,
    /// What is done outside them.
    pub not_timed: &'static str,
    /// What may distort the figure.
    pub distorted_by: &'static str,
    pub parameters: &'static [Parameter],
    /// The first is the headline.
    pub metrics: &'static [MetricDescription],
    pub needs: &'static [Need],
    /// Raised when what is measured changes; figures of different revisions are never compared.
    pub revision: u32,
    /// What the row of a case is headed with; short, since a table has 80 columns.
    pub label: fn(&Parameters) -> String,
    /// Runs one trial.
    pub run: fn(&mut Trial<'_>) -> Result<(), Failure>,
}

/// A parameter, with its value in the two sizes that every probe has.
pub struct Parameter {
    pub name: &'static str,
    /// Sized so that a round is short.
    pub quick: &'static str,
    /// The value of the tool that the probe stands in for.
    pub reference: &'static str,
    pub about: &'static str,
}

/// A metric, as a constant; see [`Metric`].
pub struct MetricDescription {
    pub name: &'static str,
    pub series: &'static str,
    pub reading: Reading,
    pub unit: Unit,
    pub direction: Direction,
}

impl MetricDescription {
    /// Elapsed nanoseconds over operations.
    pub const fn time(name: &'static str, series: &'static str) -> Self {
        Self::nanoseconds(name, series, Reading::TimePerOperation)
    }

    /// Operations over elapsed seconds.
    pub const fn per_second(name: &'static str, series: &'static str) -> Self {
        let (reading, unit) = (Reading::OperationsPerSecond, Unit::PerSecond);
        MetricDescription { name, series, reading, unit, direction: Direction::Higher }
    }

    /// Bytes over elapsed seconds.
    pub(crate) const fn bytes_per_second(name: &'static str, series: &'static str) -> Self {
        let (reading, unit) = (Reading::BytesPerSecond, Unit::BytesPerSecond);
        MetricDescription { name, series, reading, unit, direction: Direction::Higher }
    }

    /// Bits over elapsed seconds.
    pub const fn bits_per_second(name: &'static str, series: &'static str) -> Self {
        let (reading, unit) = (Reading::BitsPerSecond, Unit::BitsPerSecond);
        MetricDescription { name, series, reading, unit, direction: Direction::Higher }
    }

    /// A time read in some other way, e.g. from a histogram.
    pub const fn nanoseconds(name: &'static str, series: &'static str, reading: Reading) -> Self {
        let (unit, direction) = (Unit::Nanoseconds, Direction::Lower);
        MetricDescription { name, series, reading, unit, direction }
    }

    /// A time out of the histogram of a series.
    pub const fn quantile(name: &'static str, series: &'static str, quantile: f64) -> Self {
        Self::nanoseconds(name, series, Reading::Quantile(quantile))
    }

    /// Time of the first call of the process.
    pub const fn first(series: &'static str) -> Self {
        Self::nanoseconds("first", series, Reading::Cold)
    }

    /// A figure that is read, not timed, of which less is better.
    pub const fn gauge(name: &'static str, series: &'static str, unit: Unit) -> Self {
        MetricDescription { name, series, reading: Reading::Gauge, unit, direction: Direction::Lower }
    }
}

/// What a probe cannot do without.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Need {
    /// A folder to write in.
    Place,
    /// The other end of a network path.
    Peer,
    Root,
    IoUring,
}

/// Two sizes: short rounds, or the original tool's durations and amounts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Size {
    Quick,
    Reference,
}

impl Probe {
    /// The family: what stands before the first dot.
    pub fn family(&self) -> &'static str {
        self.name.split('.').next().unwrap_or(self.name)
    }

    pub fn needs(&self, need: Need) -> bool {
        self.needs.contains(&need)
    }

    /// Every parameter with its default for a size.
    pub fn defaults(&self, size: Size) -> Parameters {
        let value = |p: &Parameter| match size {
            Size::Quick => p.quick,
            Size::Reference => p.reference,
        };
        Parameters(self.parameters.iter().map(|p| (p.name.to_owned(), value(p).to_owned())).collect())
    }

    /// The metrics as they stand in a record.
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

    /// Hash (FNV-1a, hex) of all that defines a figure: probe, revision, parameters, how metrics are read.
    pub fn definition(&self, parameters: &Parameters) -> String {
        let text = format!("{} {} {:?} {:?}", self.name, self.revision, parameters.0, self.metrics());
        let hash = text.bytes().fold(0xcbf2_9ce4_8422_2325, |hash: u64, byte| {
            (hash ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3)
        });
        format!("{hash:016x}")
    }
}
