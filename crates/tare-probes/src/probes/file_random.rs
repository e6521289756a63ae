//! `file.random`: reads, writes and syncs at random places over many files, as sysbench's fileio does.
//!
//! The definition is sysbench's, to the letter: 128 files; each request is one pread or pwrite of a block at
//! floor(U * total / block) * block over all files laid end to end, with replacement. `rndrw` reads when
//! (reads + 1) / (writes + 1) < 1.5 and else writes, which gives three reads to two writes. After every 100
//! requests every file is fsynced, each an event of its own; at the end of the trial once more.

use rustix::fd::{AsFd, OwnedFd};
use rustix::fs::OFlags;
use rustix::io::Errno;
use tare_data::failure::Failure;
use tare_data::generator::Generator;
use tare_data::names::Parameters;

use crate::buffer::Buffer;
use crate::files;
use crate::probe::{MetricDescription, Need, Parameter, Probe};
use crate::stopwatch::{Laps, Stopwatch, now_ns};
use crate::syscall::{fsync, pread, pwrite};
use crate::trial::{Report, broken, prove};

pub static PROBE: Probe = Probe {
    name: "file.random",
    title: "random file access",
    summary: "16 KiB reads and writes at random over many files, with fsync of all after every 100.",
    timed: "each request and each fsync, one clock read before and after; `request` is all of it together",
    not_timed: "making the files",
    distorted_by: "whether the files fit the cache (the quick size does); write caches that lie",
    parameters: &[
        Parameter { name: "mode", quick: "rndrw", reference: "rndrw", about: "rndrw, rndrd or rndwr" },
        Parameter { name: "bs", quick: "16KiB", reference: "16KiB", about: "bytes a request" },
        Parameter { name: "files", quick: "16", reference: "128", about: "number of files" },
        Parameter { name: "total", quick: "32MiB", reference: "2GiB", about: "bytes of all files" },
        Parameter {
            name: "fsync_every",
            quick: "100",
            reference: "100",
            about: "requests after which every file is fsynced; 0: never",
        },
    ],
    metrics: &[
        MetricDescription::time("time", "request"),
        MetricDescription::bytes_per_second("rate", "request"),
        MetricDescription::per_second("reads", "read"),
        MetricDescription::per_second("writes", "write"),
        MetricDescription::per_second("fsyncs", "fsync"),
        MetricDescription::quantile("read_p50", "read", 0.5),
        MetricDescription::quantile("read_p95", "read", 0.95),
        MetricDescription::quantile("write_p50", "write", 0.5),
        MetricDescription::quantile("write_p95", "write", 0.95),
        MetricDescription::quantile("fsync_p50", "fsync", 0.5),
        MetricDescription::quantile("fsync_p95", "fsync", 0.95),
    ],
    needs: &[Need::Place],
    revision: 1,
    label: |parameters| {
        let block = parameters.integer("bs").map(files::size_words).unwrap_or_default();
        format!("random {}, {block}", parameters.text("mode").unwrap_or_default())
    },
    run: |trial| {
        let job = Job::of(trial.parameters())?;
        let directory = trial.directory()?;
        files::room(directory, job.files * job.file_bytes)?;
        let pool = Buffer::random(1 << 20, trial.seed())?;
        let make = |number: u64| {
            let file = files::open(directory, &format!("file.{number}"), OFlags::TRUNC)?;
            files::fill(file.as_fd(), &pool, job.file_bytes).map(|()| file)
        };
        let files: Vec<OwnedFd> = (0..job.files).map(make).collect::<Result<_, _>>()?;
        let mut generator = Generator::for_part(trial.seed(), "file.random");
        let mut buffer = Buffer::random(job.block, trial.seed())?;
        let mut state = State::default();
        trial.repeat(|operations, report| {
            let mut laps = KindLaps::new();
            // Places are drawn beforehand: the generator is not the file system's cost.
            let places: Vec<u64> = (0..operations).map(|_| job.place(&mut generator)).collect();
            let (before, mut stopwatch) = (state, Stopwatch::default());
            stopwatch.start();
            requests(&job, &files, &places, &mut buffer, &mut state, &mut laps)
                .map_err(|e| broken("a request", e))?;
            stopwatch.stop();
            let moved = state.bytes - before.bytes;
            prove("bytes moved", moved, operations * job.block as u64)?;
            report.moved("request", operations, moved, &stopwatch);
            laps.report(report, job.block as u64);
            Ok(())
        })?;
        trial.once(|report| {
            let mut laps = KindLaps::new();
            sync_all(&files, &mut laps).map_err(|e| broken("fsync", e))?;
            laps.report(report, 0);
            Ok(())
        })
    },
};

const MOST_FILES: u64 = 4_096;

#[derive(Clone, Copy, PartialEq)]
enum Mode {
    ReadWrite,
    Read,
    Write,
}

struct Job {
    mode: Mode,
    block: usize,
    files: u64,
    file_bytes: u64,
    fsync_every: u64,
}

impl Job {
    fn of(parameters: &Parameters) -> Result<Job, Failure> {
        let (block, files) = (parameters.integer("bs")?, parameters.integer("files")?);
        let total = parameters.integer("total")?;
        let mode = match parameters.text("mode")? {
            "rndrw" => Mode::ReadWrite,
            "rndrd" => Mode::Read,
            "rndwr" => Mode::Write,
            other => return Err(broken("mode", format!("{other} is none of rndrw, rndrd, rndwr"))),
        };
        if !(1..=MOST_FILES).contains(&files) || !(1..=1 << 28).contains(&block) {
            return Err(broken("parameters", "files or bs is out of bounds"));
        }
        let file_bytes = total / files;
        if file_bytes < block || !file_bytes.is_multiple_of(block) {
            return Err(broken("total", "a file does not hold whole blocks"));
        }
        let fsync_every = parameters.integer("fsync_every")?;
        Ok(Job { mode, block: block as usize, files, file_bytes, fsync_every })
    }

    /// A place over all files laid end to end, at a whole block.
    fn place(&self, generator: &mut Generator) -> u64 {
        let (total, block) = (self.files * self.file_bytes, self.block as u64);
        ((generator.unit() * (total / block) as f64) as u64).min(total / block - 1) * block
    }
}

/// Counts over the whole trial: they decide what the next request is.
#[derive(Clone, Copy, Default)]
struct State {
    reads: u64,
    writes: u64,
    bytes: u64,
}

impl State {
    /// sysbench's rule for a ratio of three reads to two writes.
    #[inline(always)]
    fn reads_next(&self, mode: Mode) -> bool {
        match mode {
            Mode::Read => true,
            Mode::Write => false,
            Mode::ReadWrite => ((self.reads + 1) as f64) / ((self.writes + 1) as f64) < 1.5,
        }
    }
}

struct KindLaps {
    read: Laps,
    write: Laps,
    fsync: Laps,
}

impl KindLaps {
    fn new() -> Self {
        KindLaps { read: Laps::new(), write: Laps::new(), fsync: Laps::new() }
    }

    /// Kinds that did not occur in this batch are not reported: nothing is not zero.
    fn report(self, report: &mut Report, block: u64) {
        for (series, laps) in [("read", self.read), ("write", self.write), ("fsync", self.fsync)] {
            let bytes = if series == "fsync" { 0 } else { laps.operations() * block };
            if laps.operations() > 0 {
                report.latency(series, bytes, laps);
            }
        }
    }
}

crate::timed! {
    fn requests(
        job: &Job,
        files: &[OwnedFd],
        places: &[u64],
        buffer: &mut [u8],
        state: &mut State,
        laps: &mut KindLaps,
    ) -> Result<(), Errno> {
        for &place in places {
            let file = files[(place / job.file_bytes) as usize].as_fd();
            let at = place % job.file_bytes;
            if state.reads_next(job.mode) {
                let started_ns = now_ns();
                let read = pread(file, buffer, at)?;
                laps.read.add(started_ns, now_ns());
                state.bytes += read as u64;
                state.reads += 1;
            } else {
                let started_ns = now_ns();
                let written = pwrite(file, buffer, at)?;
                laps.write.add(started_ns, now_ns());
                state.bytes += written as u64;
                state.writes += 1;
            }
            if job.fsync_every > 0 && (state.reads + state.writes).is_multiple_of(job.fsync_every) {
                sync_each(files, &mut laps.fsync)?;
            }
        }
        Ok(())
    }
}

#[inline(always)]
fn sync_each(files: &[OwnedFd], laps: &mut Laps) -> Result<(), Errno> {
    for file in files {
        let started_ns = now_ns();
        fsync(file.as_fd())?;
        laps.add(started_ns, now_ns());
    }
    Ok(())
}

crate::timed! {
    fn sync_all(files: &[OwnedFd], laps: &mut KindLaps) -> Result<(), Errno> {
        sync_each(files, &mut laps.fsync)
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::{request, run};
    use super::*;
    use tare_data::batch::{Batch, Phase, Sample};
    use tare_data::request::Amount;

    fn count(batches: &[Batch], series: &str) -> u64 {
        let operations = |batch: &&Batch| batch.series == series && batch.phase == Phase::Warm;
        batches
            .iter()
            .filter(operations)
            .map(|batch| match &batch.sample {
                Sample::Latency { operations, .. } => *operations,
                _ => 0,
            })
            .sum()
    }

    #[test]
    fn three_reads_go_to_two_writes_and_every_file_is_synced_after_100() {
        let mut small = request(&PROBE, &[("files", "4"), ("total", "1MiB")]);
        small.amount = Amount::Operations { batch: 500, batches: 2 };
        let batches = run(&small).unwrap();
        // The cold request is the first of 1,001, and a read.
        assert_eq!((count(&batches, "read"), count(&batches, "write")), (600, 400));
        assert_eq!(count(&batches, "fsync"), 10 * 4 + 4);
    }

    #[test]
    fn places_are_whole_blocks_over_all_files() {
        let job = Job::of(&request(&PROBE, &[("files", "4"), ("total", "1MiB")]).case.parameters).unwrap();
        let mut generator = Generator::new(1);
        let places: Vec<u64> = (0..10_000).map(|_| job.place(&mut generator)).collect();
        let seen: std::collections::BTreeSet<u64> = places.iter().copied().collect();
        assert_eq!(seen.len(), 64, "each of the 64 blocks comes");
        assert_eq!(seen.last(), Some(&(63 * 16_384)));
    }
}
