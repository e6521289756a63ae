//! Samples that a probe reports of a batch, and the batches that wait to be sent.

use tare_data::batch::{Batch, ENDED, Histogram, Phase, RunEnd, Sample};

use crate::harness::stopwatch::{Laps, Stopwatch};

/// Samples of one batch, reported by the probe after the clock has stopped.
#[derive(Default)]
pub struct Report {
    samples: Vec<(&'static str, Taken)>,
}

/// Measurements of a probe, joined over a row of batches.
enum Taken {
    Timed { operations: u64, bytes: u64, elapsed_ns: Vec<u64>, times: Option<Box<Histogram>> },
    Gauge(f64),
}

impl Report {
    /// Adds operations that were timed together.
    pub(crate) fn add_throughput(&mut self, series: &'static str, operations: u64, stopwatch: &Stopwatch) {
        self.add_transfer(series, operations, 0, stopwatch);
    }

    /// Adds operations that were timed together and moved bytes.
    pub(crate) fn add_transfer(
        &mut self,
        series: &'static str,
        operations: u64,
        bytes: u64,
        stopwatch: &Stopwatch,
    ) {
        let elapsed_ns = vec![stopwatch.elapsed_ns()];
        self.samples.push((series, Taken::Timed { operations, bytes, elapsed_ns, times: None }));
    }

    /// Adds operations that were timed one by one; `bytes` moved in all, or 0 where bytes are not counted.
    pub(crate) fn add_latency(&mut self, series: &'static str, bytes: u64, laps: Laps) {
        let stopwatch = Stopwatch::from_elapsed(laps.elapsed_ns());
        self.add_latency_within(series, bytes, laps, &stopwatch);
    }

    /// Adds operations that were timed one by one, over the time of a stretch in which there were others, too.
    pub(crate) fn add_latency_within(
        &mut self,
        series: &'static str,
        bytes: u64,
        laps: Laps,
        stopwatch: &Stopwatch,
    ) {
        let (operations, elapsed_ns) = (laps.operations(), vec![stopwatch.elapsed_ns()]);
        let times = Some(Box::new(laps.into_histogram()));
        self.samples.push((series, Taken::Timed { operations, bytes, elapsed_ns, times }));
    }

    /// Adds a figure that is read, not timed.
    pub(crate) fn add_gauge(&mut self, series: &'static str, value: f64) {
        self.samples.push((series, Taken::Gauge(value)));
    }

    pub(super) fn has_series(&self, name: &str) -> bool {
        self.samples.iter().any(|(series, _)| *series == name)
    }

    /// Adds the end of a run of a command.
    pub(crate) fn add_end(&mut self, end: RunEnd) {
        self.add_gauge(ENDED, end.to_gauge());
    }

    #[cfg(test)]
    pub(super) fn list_gauges(&self) -> Vec<(&'static str, f64)> {
        let gauge = |(series, taken): &(_, Taken)| match taken {
            Taken::Gauge(value) => Some((*series, *value)),
            Taken::Timed { .. } => None,
        };
        self.samples.iter().filter_map(gauge).collect()
    }

    fn keep_ends(&mut self) {
        self.samples.retain(|(series, _)| *series == ENDED);
    }

    /// Compares two batches: they are alike with as many operations and bytes in each series.
    fn is_like(&self, other: &Report) -> bool {
        let kind = |taken: &Taken| match taken {
            Taken::Timed { operations, bytes, times, .. } => Some((*operations, *bytes, times.is_some())),
            Taken::Gauge(_) => None,
        };
        let alike = |((series, taken), (other_series, other)): (&(_, Taken), &(_, Taken))| {
            series == other_series && kind(taken).is_some_and(|kind_of| Some(kind_of) == kind(other))
        };
        self.samples.len() == other.samples.len() && self.samples.iter().zip(&other.samples).all(alike)
    }

    fn append(&mut self, other: Report) {
        for ((_, known), (_, more)) in self.samples.iter_mut().zip(other.samples) {
            if let (
                Taken::Timed { elapsed_ns, times, .. },
                Taken::Timed { elapsed_ns: more_ns, times: more_times, .. },
            ) = (known, more)
            {
                elapsed_ns.extend(more_ns);
                if let (Some(times), Some(more)) = (times, more_times) {
                    times.0.add(&more.0).expect("histograms of times have the same bounds");
                }
            }
        }
    }
}

impl Taken {
    fn sample(self) -> Sample {
        match self {
            Taken::Gauge(value) => Sample::Gauge { value },
            Taken::Timed { operations, bytes, elapsed_ns, times } => {
                let histogram = times.map(|times| times.encode());
                match (&elapsed_ns[..], histogram) {
                    (&[elapsed_ns], None) => Sample::Throughput { operations, bytes, elapsed_ns },
                    (&[elapsed_ns], Some(histogram)) => {
                        Sample::Latency { operations, bytes, elapsed_ns, histogram }
                    }
                    (_, histogram) => Sample::Stretches { operations, bytes, elapsed_ns, histogram },
                }
            }
        }
    }
}

/// Batches that wait to be sent. Those that follow each other and did the same are a row.
#[derive(Default)]
pub(super) struct Waiting {
    rows: Vec<(Phase, u64, Report)>,
    since_ns: u64,
}

impl Waiting {
    /// Returns when the oldest of them began.
    pub(super) fn since_ns(&self) -> u64 {
        self.since_ns
    }

    pub(super) fn add(&mut self, phase: Phase, started_ns: u64, report: Report) {
        if self.rows.is_empty() {
            self.since_ns = started_ns;
        }
        match self.rows.last_mut() {
            Some((known, _, row)) if *known == phase && report.is_like(row) => row.append(report),
            _ => self.rows.push((phase, started_ns, report)),
        }
    }

    /// Adds the ends of runs alone: nothing else of a batch that failed, or of one that warms up, is a figure.
    pub(super) fn add_ends(&mut self, phase: Phase, started_ns: u64, mut report: Report) {
        report.keep_ends();
        if !report.samples.is_empty() {
            self.add(phase, started_ns, report);
        }
    }

    /// Keeps the ends of runs alone.
    pub(super) fn keep_ends(&mut self) {
        self.rows.iter_mut().for_each(|(.., row)| row.keep_ends());
        self.rows.retain(|(.., row)| !row.samples.is_empty());
    }

    pub(super) fn take(&mut self) -> impl Iterator<Item = Batch> + '_ {
        self.rows.drain(..).flat_map(|(phase, started_ns, report)| {
            report.samples.into_iter().map(move |(series, taken)| Batch {
                series: series.to_owned(),
                phase,
                started_ns,
                sample: taken.sample(),
            })
        })
    }
}
