//! Loop of `file.random`: see its description.

use std::sync::Barrier;
use std::sync::atomic::{AtomicUsize, Ordering};

use tare_data::generator::Generator;

use crate::harness::syscall::{fsync, pread, pwrite};
use crate::probe::prelude::*;

pub(super) fn measure_file_random(trial: &mut Trial<'_>) -> Result<(), Failure> {
    let job = RandomSettings::from_parameters(trial.parameters())?;
    let folder = trial.folder()?;
    files::check_room(folder, job.files * job.file_bytes)?;
    // Block by block, as sysbench makes them.
    let block = Buffer::new_random(job.block, trial.seed())?;
    let make = |number: u64| {
        let file = files::create_file(folder, &format!("file.{number}"), OFlags::empty())?;
        files::fill_file(file.as_fd(), &block, job.block, job.file_bytes).map(|()| file)
    };
    let files: Vec<OwnedFd> = (0..job.files).map(make).collect::<Result<_, _>>()?;
    let generator = Generator::for_part(trial.seed(), "file.random");
    let mut dealer = Dealer { job: &job, generator, reads: 0, writes: 0, dirty: false };
    let mut buffers = (0..job.threads)
        .map(|_| Buffer::new_random(job.block, trial.seed()))
        .collect::<Result<Vec<_>, _>>()?;
    trial.repeat(|operations, report| {
        // Events are drawn beforehand: the generator is not the file system's cost.
        let events = dealer.deal(operations);
        let (done, stopwatch) = play(&job, &files, &events, &mut buffers)?;
        prove_count("bytes moved", done.bytes, operations * job.block as u64)?;
        report.add_transfer("request", operations, done.bytes, &stopwatch);
        done.report(report, &job)
    })?;
    if job.mode == Mode::Read {
        return Ok(());
    }
    trial.run_once(|report| {
        let once = (0..job.files).map(|file| Event { kind: EventKind::Fsync, file: file as usize, at: 0 });
        let each_thread = vec![once; job.threads].into_iter().flatten().collect::<Vec<_>>();
        play(&job, &files, &each_thread, &mut buffers)?.0.report(report, &job)
    })
}

const MOST_FILES: u64 = 4_096;
const MOST_THREADS: u64 = 256;

#[derive(Clone, Copy, PartialEq)]
enum Mode {
    ReadWrite,
    Read,
    Write,
}

struct RandomSettings {
    mode: Mode,
    block: usize,
    files: u64,
    file_bytes: u64,
    fsync_every: u64,
    threads: usize,
}

impl RandomSettings {
    fn from_parameters(parameters: &Parameters) -> Result<RandomSettings, Failure> {
        let (block, files) = (
            parameters.get_integer_within("bs", 1..=1 << 28)?,
            parameters.get_integer_within("files", 1..=MOST_FILES)?,
        );
        let file_bytes = parameters.get_integer("total")? / files;
        if file_bytes < block || !file_bytes.is_multiple_of(block) {
            return Err(broken_failure("total", "a file does not hold whole blocks"));
        }
        let modes = [("rndrw", Mode::ReadWrite), ("rndrd", Mode::Read), ("rndwr", Mode::Write)];
        Ok(RandomSettings {
            mode: parameters.one_of("mode", &modes)?,
            block: block as usize,
            files,
            file_bytes,
            fsync_every: parameters.get_integer("fsync_every")?,
            threads: parameters.get_integer_within("threads", 1..=MOST_THREADS)? as usize,
        })
    }

    /// Draws a place over all files laid end to end, at a whole block.
    fn place(&self, generator: &mut Generator) -> u64 {
        let (total, block) = (self.files * self.file_bytes, self.block as u64);
        ((generator.draw_unit() * (total / block) as f64) as u64).min(total / block - 1) * block
    }
}

#[derive(Clone, Copy, PartialEq)]
enum EventKind {
    Read,
    Write,
    Fsync,
}

/// Block of a file at a place, or the fsync of a file.
#[derive(Clone, Copy)]
struct Event {
    kind: EventKind,
    file: usize,
    at: u64,
}

/// Deals the events of a trial; its counts go on from batch to batch.
struct Dealer<'j> {
    job: &'j RandomSettings,
    generator: Generator,
    reads: u64,
    writes: u64,
    /// True once something was written since all files were synced: with nothing to sync, sysbench does not.
    dirty: bool,
}

impl Dealer<'_> {
    /// Draws the events of `requests` requests, with the fsyncs that are due among them.
    fn deal(&mut self, requests: u64) -> Vec<Event> {
        let mut events = Vec::with_capacity(requests as usize);
        for _ in 0..requests {
            let place = self.job.place(&mut self.generator);
            let (file, at) = ((place / self.job.file_bytes) as usize, place % self.job.file_bytes);
            let kind = if self.reads_next() { EventKind::Read } else { EventKind::Write };
            match kind {
                EventKind::Read => self.reads += 1,
                _ => (self.writes, self.dirty) = (self.writes + 1, true),
            }
            events.push(Event { kind, file, at });
            let every = self.job.fsync_every;
            if self.dirty && every > 0 && (self.reads + self.writes).is_multiple_of(every) {
                let files = 0..self.job.files as usize;
                events.extend(files.map(|file| Event { kind: EventKind::Fsync, file, at: 0 }));
                self.dirty = false;
            }
        }
        events
    }

    /// Applies sysbench's rule for a ratio of three reads to two writes.
    fn reads_next(&self) -> bool {
        match self.job.mode {
            Mode::Read => true,
            Mode::Write => false,
            Mode::ReadWrite => ((self.reads + 1) as f64) / ((self.writes + 1) as f64) < 1.5,
        }
    }
}

/// Times by kind, and bytes moved.
struct Done {
    read: Laps,
    write: Laps,
    fsync: Laps,
    bytes: u64,
}

impl Done {
    fn nothing() -> Self {
        Done { read: Laps::new(), write: Laps::new(), fsync: Laps::new(), bytes: 0 }
    }

    fn merge(&mut self, other: &Done) {
        self.read.merge(&other.read);
        self.write.merge(&other.write);
        self.fsync.merge(&other.fsync);
        self.bytes += other.bytes;
    }

    /// Reports the laps of each kind. Kinds that did not occur in this batch are not reported: nothing is not zero.
    fn report(self, report: &mut Report, job: &RandomSettings) -> Result<(), Failure> {
        for (series, laps) in [("read", self.read), ("write", self.write), ("fsync", self.fsync)] {
            let bytes = if series == "fsync" { 0 } else { laps.operations() * job.block as u64 };
            if laps.operations() > 0 {
                report.add_latency(series, bytes, laps);
            }
        }
        Ok(())
    }
}

/// Plays the events through; every thread takes the next one as soon as it is free.
fn play(
    job: &RandomSettings,
    files: &[OwnedFd],
    events: &[Event],
    buffers: &mut [Buffer],
) -> Result<(Done, Stopwatch), Failure> {
    let (next, together) = (AtomicUsize::new(0), Barrier::new(job.threads));
    let (next, together) = (&next, &together);
    let work = move |buffer: &mut Buffer| {
        let mut done = Done::nothing();
        together.wait();
        let started_ns = now_ns();
        take(files, events, next, buffer, &mut done).map_err(|e| broken_failure("a request", e))?;
        Ok::<_, Failure>((done, started_ns, now_ns()))
    };
    let (mut all, mut first_ns, mut last_ns) = (Done::nothing(), u64::MAX, 0);
    let mut add = |(done, started_ns, ended_ns): (Done, u64, u64)| {
        all.merge(&done);
        (first_ns, last_ns) = (first_ns.min(started_ns), last_ns.max(ended_ns));
    };
    match buffers {
        [only] => add(work(only)?),
        several => std::thread::scope(|scope| -> Result<(), Failure> {
            let running: Vec<_> =
                several.iter_mut().map(|buffer| scope.spawn(move || work(buffer))).collect();
            for worker in running {
                add(worker.join().map_err(|_| broken_failure("a thread", "it panicked"))??);
            }
            Ok(())
        })?,
    }
    let count = all.read.operations() + all.write.operations() + all.fsync.operations();
    prove_count("events", count, events.len() as u64)?;
    Ok((all, Stopwatch::from_elapsed(last_ns.saturating_sub(first_ns))))
}

crate::timed! {
    fn take(
        files: &[OwnedFd],
        events: &[Event],
        next: &AtomicUsize,
        buffer: &mut [u8],
        done: &mut Done,
    ) -> Result<(), Errno> {
        while let Some(event) = events.get(next.fetch_add(1, Ordering::Relaxed)) {
            let file = files[event.file].as_fd();
            let started_ns = now_ns();
            match event.kind {
                EventKind::Read => {
                    let read = pread(file, buffer, event.at)?;
                    done.read.add(started_ns, now_ns());
                    done.bytes += read as u64;
                }
                EventKind::Write => {
                    let written = pwrite(file, buffer, event.at)?;
                    done.write.add(started_ns, now_ns());
                    done.bytes += written as u64;
                }
                EventKind::Fsync => {
                    fsync(file)?;
                    done.fsync.add(started_ns, now_ns());
                }
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::{make_trial_request, run_trial};
    use super::*;
    use crate::descriptions::file_random::PROBE;
    use tare_data::batch::{Batch, Phase};
    use tare_data::request::Amount;

    fn count(batches: &[Batch], series: &str) -> u64 {
        let operations = |batch: &&Batch| batch.series == series && batch.phase == Phase::Warm;
        batches
            .iter()
            .filter(operations)
            .flat_map(|batch| batch.sample.iter_timed().map(|timed| timed.operations))
            .sum()
    }

    #[test]
    fn three_reads_go_to_two_writes_and_every_file_is_synced_after_100() {
        for threads in [1, 3] {
            let number = threads.to_string();
            let mut small =
                make_trial_request(&PROBE, &[("files", "4"), ("total", "1MiB"), ("threads", &number)]);
            small.amount = Amount::Operations { batch: 500, batches: 2 };
            let batches = run_trial(&small).unwrap();
            // The cold request is the first of 1,001, and a read.
            assert_eq!((count(&batches, "read"), count(&batches, "write")), (600, 400));
            assert_eq!(count(&batches, "fsync"), 10 * 4 + threads * 4);
        }
    }

    #[test]
    fn what_only_reads_syncs_nothing() {
        let mut small = make_trial_request(&PROBE, &[("files", "4"), ("total", "1MiB"), ("mode", "rndrd")]);
        small.amount = Amount::Operations { batch: 200, batches: 1 };
        let batches = run_trial(&small).unwrap();
        assert_eq!((count(&batches, "write"), count(&batches, "fsync")), (0, 0));
    }

    #[test]
    fn places_are_whole_blocks_over_all_files() {
        let job = RandomSettings::from_parameters(
            &make_trial_request(&PROBE, &[("files", "4"), ("total", "1MiB")]).case.parameters,
        )
        .unwrap();
        let mut generator = Generator::new(1);
        let places: Vec<u64> = (0..10_000).map(|_| job.place(&mut generator)).collect();
        let seen: std::collections::BTreeSet<u64> = places.iter().copied().collect();
        assert_eq!(seen.len(), 64, "each of the 64 blocks comes");
        assert_eq!(seen.last(), Some(&(63 * 16_384)));
    }
}
