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
    // Block by block and each synced, as sysbench makes them: or the first fsyncs would write out all that was made here.
    let block = Buffer::new_random(job.block, trial.seed())?;
    let make = |number: u64| {
        let file = files::create_file(folder, &format!("file.{number}"), OFlags::empty())?;
        files::fill_file(file.as_fd(), &block, job.block, job.file_bytes)?;
        fsync(file.as_fd()).map_err(|e| broken_failure("syncing a new file", e))?;
        Ok::<_, Failure>(file)
    };
    let files: Vec<OwnedFd> = (0..job.files).map(make).collect::<Result<_, _>>()?;
    let generator = Generator::for_part(trial.seed(), "file.random");
    let mut dealer = Dealer { job: &job, generator, reads: 0, writes: 0, dirty: false };
    let mut buffers = (0..job.threads)
        .map(|_| Buffer::new_random(job.block, trial.seed()))
        .collect::<Result<Vec<_>, _>>()?;
    trial.repeat(|periods, report| {
        // Events are drawn beforehand: the generator is not the file system's cost.
        let (lead, requests) = (job.lead_periods() * job.period, periods * job.period);
        let mut events = dealer.deal(lead);
        let first = events.len();
        events.extend(dealer.deal(requests));
        let done = play(&job, &files, &events, first, &mut buffers)?;
        prove_count("bytes moved", done.bytes, (lead + requests) * job.block as u64)?;
        let stopwatch = done.time_to_idle();
        report.add_transfer("request", requests, requests * job.block as u64, &stopwatch);
        done.report(report, &job, &stopwatch);
        Ok(())
    })?;
    // A short trial is a part of a run, and has no end: sysbench's would be most of it.
    if job.mode == Mode::Read || !trial.is_tools_run() {
        return Ok(());
    }
    trial.run_once(|report| {
        let once = (0..job.files).map(|file| Event { kind: EventKind::Fsync, file: file as usize, at: 0 });
        let each_thread = vec![once; job.threads].into_iter().flatten().collect::<Vec<_>>();
        let done = play(&job, &files, &each_thread, 0, &mut buffers)?;
        let stopwatch = done.time_to_end();
        done.report(report, &job, &stopwatch);
        Ok(())
    })
}

const MOST_FILES: u64 = 4_096;
const MOST_THREADS: u64 = 256;
/// Requests of a period where none of them is followed by fsyncs.
const USUAL_PERIOD: u64 = 100;
/// Bounds the memory of a period, whose events are drawn beforehand: 8 MB where it is five times as long.
const LONGEST_FSYNC_EVERY: u64 = 1 << 16;
/// Requests after which the mixture of reads and writes begins anew.
const MIXTURE: u64 = 5;

/// Counts the requests of an operation, which is a period; none where the parameters cannot be read.
pub(crate) fn requests_an_operation(parameters: &Parameters) -> Option<u64> {
    RandomSettings::from_parameters(parameters).ok().map(|job| job.period)
}

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
    /// Requests of an operation, after which everything begins anew: the mixture of reads and writes, and the requests between two
    /// fsyncs of all files. A batch of a part of one has too many fsyncs, or none.
    period: u64,
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
        let mode = parameters.one_of("mode", &modes)?;
        let fsync_every = parameters.get_integer_within("fsync_every", 0..=LONGEST_FSYNC_EVERY)?;
        let period = match (mode, fsync_every) {
            (_, 0) | (Mode::Read, _) => USUAL_PERIOD,
            (Mode::ReadWrite, every) if !every.is_multiple_of(MIXTURE) => MIXTURE * every,
            (Mode::ReadWrite | Mode::Write, every) => every,
        };
        Ok(RandomSettings {
            mode,
            block: block as usize,
            files,
            file_bytes,
            fsync_every,
            period,
            threads: parameters.get_integer_within("threads", 1..=MOST_THREADS)? as usize,
        })
    }

    /// Counts the periods before each batch that are not timed. Where threads share the events, its first one is taken while others
    /// are still at the events before, and its end is when the next one would be: no thread waits for others at either.
    fn lead_periods(&self) -> u64 {
        u64::from(self.threads > 1)
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

/// Times by kind of the events that count, and bytes moved by all.
struct Done {
    read: Laps,
    write: Laps,
    fsync: Laps,
    bytes: u64,
    /// When the first event that counts was taken.
    started_ns: u64,
    /// When a thread first found nothing left to do, and when the last one did.
    idle_ns: u64,
    ended_ns: u64,
}

impl Done {
    fn nothing() -> Self {
        let [read, write, fsync] = [Laps::new(), Laps::new(), Laps::new()];
        Done { read, write, fsync, bytes: 0, started_ns: u64::MAX, idle_ns: u64::MAX, ended_ns: 0 }
    }

    fn merge(&mut self, other: &Done) {
        self.read.merge(&other.read);
        self.write.merge(&other.write);
        self.fsync.merge(&other.fsync);
        self.bytes += other.bytes;
        self.started_ns = self.started_ns.min(other.started_ns);
        self.idle_ns = self.idle_ns.min(other.idle_ns);
        self.ended_ns = self.ended_ns.max(other.ended_ns);
    }

    /// Times from the first event to the moment when the one after the last would have been taken, which is a whole number of
    /// periods of a run that goes on.
    fn time_to_idle(&self) -> Stopwatch {
        Stopwatch::from_elapsed(self.idle_ns.saturating_sub(self.started_ns))
    }

    /// Times from the first event to the end of the last one.
    fn time_to_end(&self) -> Stopwatch {
        Stopwatch::from_elapsed(self.ended_ns.saturating_sub(self.started_ns))
    }

    /// Reports the laps of each kind over the time of all, as sysbench counts. Kinds that did not occur in this batch are not
    /// reported: nothing is not zero.
    fn report(self, report: &mut Report, job: &RandomSettings, stopwatch: &Stopwatch) {
        for (series, laps) in [("read", self.read), ("write", self.write), ("fsync", self.fsync)] {
            let bytes = if series == "fsync" { 0 } else { laps.operations() * job.block as u64 };
            if laps.operations() > 0 {
                report.add_latency_within(series, bytes, laps, stopwatch);
            }
        }
    }
}

/// Plays the events through, of which those from `first` on count; every thread takes the next one as soon as it is free.
fn play(
    job: &RandomSettings,
    files: &[OwnedFd],
    events: &[Event],
    first: usize,
    buffers: &mut [Buffer],
) -> Result<Done, Failure> {
    let (next, together) = (AtomicUsize::new(0), Barrier::new(job.threads));
    let (next, together) = (&next, &together);
    let work = move |buffer: &mut Buffer| {
        let mut done = Done::nothing();
        together.wait();
        take(files, (events, first), next, buffer, &mut done).map_err(|e| broken_failure("a request", e))?;
        Ok::<_, Failure>(done)
    };
    let all = match buffers {
        [only] => work(only)?,
        several => std::thread::scope(|scope| -> Result<Done, Failure> {
            let running: Vec<_> =
                several.iter_mut().map(|buffer| scope.spawn(move || work(buffer))).collect();
            let mut all = Done::nothing();
            for worker in running {
                all.merge(&worker.join().map_err(|_| broken_failure("a thread", "it panicked"))??);
            }
            Ok(all)
        })?,
    };
    let count = all.read.operations() + all.write.operations() + all.fsync.operations();
    prove_count("events", count, (events.len() - first) as u64)?;
    Ok(all)
}

crate::timed! {
    fn take(
        files: &[OwnedFd],
        (events, first): (&[Event], usize),
        next: &AtomicUsize,
        buffer: &mut [u8],
        done: &mut Done,
    ) -> Result<(), Errno> {
        loop {
            let at = next.fetch_add(1, Ordering::Relaxed);
            let started_ns = now_ns();
            let Some(event) = events.get(at) else {
                (done.idle_ns, done.ended_ns) = (started_ns, started_ns);
                return Ok(());
            };
            if at == first {
                done.started_ns = started_ns;
            }
            let file = files[event.file].as_fd();
            let laps = match event.kind {
                EventKind::Read => {
                    done.bytes += pread(file, buffer, event.at)? as u64;
                    &mut done.read
                }
                EventKind::Write => {
                    done.bytes += pwrite(file, buffer, event.at)? as u64;
                    &mut done.write
                }
                EventKind::Fsync => {
                    fsync(file)?;
                    &mut done.fsync
                }
            };
            let ended_ns = now_ns();
            if at >= first {
                laps.add(started_ns, ended_ns);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::{make_trial_request, run_trial};
    use super::*;
    use crate::descriptions::file_random::PROBE;
    use tare_data::batch::{Batch, Phase, Timed};
    use tare_data::request::Amount;

    /// Lists the warm batches of a series.
    fn list_warm(batches: &[Batch], series: &str) -> Vec<Timed> {
        let of = batches.iter().filter(|batch| batch.series == series && batch.phase == Phase::Warm);
        of.flat_map(|batch| batch.sample.iter_timed().collect::<Vec<_>>()).collect()
    }

    fn count(batches: &[Batch], series: &str) -> u64 {
        list_warm(batches, series).iter().map(|timed| timed.operations).sum()
    }

    fn run(parameters: &[(&str, &str)], amount: Amount) -> Vec<Batch> {
        let small = [&[("files", "4"), ("total", "1MiB")], parameters].concat();
        let mut request = make_trial_request(&PROBE, &small);
        request.amount = amount;
        run_trial(&request).unwrap()
    }

    #[test]
    fn the_shortest_batch_has_the_mixture_of_a_long_run() {
        for (threads, every, requests, fsyncs) in
            [("1", "100", 100, 4), ("3", "100", 100, 4), ("1", "2", 10, 4 * 4), ("2", "7", 35, 5 * 4)]
        {
            let parameters = [("threads", threads), ("fsync_every", every)];
            let batches = run(&parameters, Amount::Operations { batch: 1, batches: 3 });
            let all = list_warm(&batches, "request");
            let of_kinds = [("read", requests * 3 / 5), ("write", requests * 2 / 5), ("fsync", fsyncs)];
            assert_eq!(all.len(), 3);
            for (series, operations) in of_kinds {
                let of_series = list_warm(&batches, series);
                assert_eq!(of_series.len(), 3, "{threads} {every} {series}");
                for (timed, all) in of_series.iter().zip(&all) {
                    assert_eq!(
                        (timed.operations, all.operations),
                        (operations, requests),
                        "{every} {series}"
                    );
                    // Reads a second are of the whole time, and not of the time in reads.
                    assert_eq!(timed.elapsed_ns, all.elapsed_ns, "{series}");
                }
            }
        }
    }

    #[test]
    fn three_reads_go_to_two_writes_and_every_file_is_synced_after_100() {
        for threads in ["1", "3"] {
            let batches = run(&[("threads", threads)], Amount::Operations { batch: 5, batches: 2 });
            assert_eq!((count(&batches, "read"), count(&batches, "write")), (600, 400));
            assert_eq!(count(&batches, "fsync"), 10 * 4);
        }
    }

    #[test]
    fn only_a_run_of_a_tools_length_ends_with_fsyncs_of_each_thread() {
        let batches = run(&[("threads", "3")], Amount::Duration { batch: 1, seconds: 0.0 });
        assert_eq!((count(&batches, "request"), count(&batches, "fsync")), (0, 3 * 4));
    }

    #[test]
    fn what_only_reads_syncs_nothing() {
        let amount = Amount::Operations { batch: 2, batches: 1 };
        let batches = run(&[("mode", "rndrd")], amount);
        assert_eq!(["request", "write", "fsync"].map(|series| count(&batches, series)), [200, 0, 0]);
    }

    #[test]
    fn a_batch_ends_when_its_next_event_would_be_taken() {
        let thread = |started_ns, idle_ns| Done { started_ns, idle_ns, ended_ns: idle_ns, ..Done::nothing() };
        let mut all = thread(u64::MAX, 900);
        all.merge(&thread(100, 1_200));
        assert_eq!((all.time_to_idle().elapsed_ns(), all.time_to_end().elapsed_ns()), (800, 1_100));
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
