//! `file.queue`: many requests outstanding at once on one file, past the cache; what a disk can do.
//!
//! As DiskSpd, which CrystalDiskMark runs: O_DIRECT, blocks of one size in order or at random aligned places,
//! a queue kept full by each of some threads. `engine=uring` keeps the queue with io_uring, one for each
//! thread; `engine=threads` keeps it with as many threads as requests outstanding, each with a plain pread
//! or pwrite, for environments without io_uring. They are not the same measurement, so that one never stands
//! in for the other. The latency of a request is from its submission to its answer. io_uring(7).

#![allow(unsafe_code, reason = "the kernel writes into buffers while they wait in a queue")]

use std::io;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Barrier};
use std::thread::Scope;

use io_uring::{IoUring, opcode, types};
use rustix::fd::AsRawFd;
use tare_data::generator::Generator;

use crate::harness::files::whole_blocks;
use crate::harness::syscall::{pread, pwrite};
use crate::probe::prelude::*;

pub static PROBE: Probe = Probe {
    name: "file.queue",
    title: "queued file access",
    summary: "Reads or writes past the cache with a queue of outstanding requests: bytes per second, latency.",
    timed: "each request from submission to completion; the whole batch from the first to the last",
    not_timed: "creating the file; setting up the ring and its buffers",
    distorted_by: "a cache below this kernel (the host of a virtual machine); the device's own cache",
    parameters: &[
        Parameter::same("bs", "4KiB", "bytes per request"),
        Parameter::same("op", "read", "read or write"),
        Parameter::same("pattern", "random", "random or sequential"),
        Parameter::sized("depth", ["16", "32"], "requests outstanding per thread"),
        Parameter::same("threads", "1", "threads, each with its own queue"),
        Parameter::sized("size", ["32MiB", "1GiB"], "bytes of the file"),
        Parameter::same("engine", "uring", "uring or threads"),
    ],
    metrics: &[
        bytes_per_second("rate", "request"),
        per_second("iops", "request"),
        nanoseconds("mean", "request", Reading::Mean),
        quantile("p50", "request", 0.5),
        quantile("p99", "request", 0.99),
        nanoseconds("max", "request", Reading::Maximum),
    ],
    // io_uring is needed by one engine only: a trial without it fails with that reason.
    needs: &[Need::Place],
    revision: 3,
    label: |parameters| {
        let block = size_of(parameters, "bs");
        let text = |key| parameters.text(key).unwrap_or_default();
        let pattern = if text("pattern") == "random" { "rnd" } else { "seq" };
        format!("{pattern} {} {block} Q{}T{}", text("op"), text("depth"), text("threads"))
    },
    run: |trial| {
        let settings = QueueSettings::from_parameters(trial.parameters())?;
        let directory = trial.directory()?;
        files::room(directory, settings.size)?;
        let file = files::open(directory, "queue", OFlags::TRUNC)?;
        files::fill(file.as_fd(), &Buffer::random(POOL, trial.seed())?, POOL, settings.size)?;
        drop(file);
        let file = files::open(directory, "queue", OFlags::DIRECT)?;
        let mut generator = Generator::for_part(trial.seed(), "file.queue");
        let mut next = 0;
        std::thread::scope(|scope| {
            let workers = Workers::start(scope, &settings, file.as_fd());
            trial.repeat(|operations, report| {
                let requests = operations.saturating_mul(settings.requests_an_operation());
                let places: Vec<u64> =
                    (0..requests).map(|_| settings.place(&mut generator, &mut next)).collect();
                let (laps, bytes) = workers.answer_all(&places)?;
                prove("requests answered", laps.operations(), requests)?;
                prove("bytes moved", bytes, requests * settings.block as u64)?;
                report.latency("request", bytes, laps);
                Ok(())
            })
        })
    },
};

/// Incompressible data repeat only after this much.
const POOL: usize = 1 << 20;
const DEEPEST: u64 = 4_096;
/// Times that an operation fills the queue: one that is filled once is measured while it drains.
const FEWEST_FILLS: u64 = 4;
/// Draining is less than a sixtieth of this many fillings...
const MOST_FILLS: u64 = 32;
/// ...which an operation has where they are no more bytes than this: a slow share takes a second for them.
const FILLED_BYTES: u64 = 16 << 20;
const MOST_THREADS: u64 = 256;

#[derive(Clone, Copy, PartialEq)]
enum IoEngine {
    Uring,
    Threads,
}

struct QueueSettings {
    block: usize,
    size: u64,
    depth: usize,
    threads: usize,
    write: bool,
    random: bool,
    engine: IoEngine,
}

/// Requests of one operation; none where the parameters cannot be read.
pub(crate) fn requests_an_operation(parameters: &Parameters) -> Option<u64> {
    QueueSettings::from_parameters(parameters).ok().map(|settings| settings.requests_an_operation())
}

impl QueueSettings {
    /// One operation is several fillings of all queues, so that the depth measured is the depth requested.
    fn requests_an_operation(&self) -> u64 {
        let one = self.depth as u64 * self.threads as u64;
        let fills = FILLED_BYTES / one.saturating_mul(self.block as u64);
        fills.clamp(FEWEST_FILLS, MOST_FILLS) * one
    }

    /// One for each queue; with plain calls a thread has one request outstanding, so that there are as many as the
    /// queues hold.
    fn workers(&self) -> usize {
        match self.engine {
            IoEngine::Uring => self.threads,
            IoEngine::Threads => self.threads * self.depth,
        }
    }

    fn from_parameters(parameters: &Parameters) -> Result<QueueSettings, Failure> {
        let (block, size) = whole_blocks(parameters, 512..=1 << 28, u64::MAX)?;
        Ok(QueueSettings {
            block: block as usize,
            size,
            depth: parameters.within("depth", 1..=DEEPEST)? as usize,
            threads: parameters.within("threads", 1..=MOST_THREADS)? as usize,
            write: parameters.one_of("op", &[("write", true), ("read", false)])?,
            random: parameters.one_of("pattern", &[("random", true), ("sequential", false)])?,
            engine: parameters
                .one_of("engine", &[("uring", IoEngine::Uring), ("threads", IoEngine::Threads)])?,
        })
    }

    fn place(&self, generator: &mut Generator, next: &mut u64) -> u64 {
        let blocks = self.size / self.block as u64;
        if self.random {
            return generator.below(blocks) * self.block as u64;
        }
        *next += 1;
        (*next - 1) % blocks * self.block as u64
    }
}

/// What a worker found: its times, and the bytes that it moved.
type Answered = Result<(Laps, u64), Failure>;

/// Threads with a queue each, kept from batch to batch: a kernel takes some hundredths of a second to take a ring
/// down. They end when this is dropped.
struct Workers {
    workers: Vec<(Sender<Vec<u64>>, Receiver<Answered>)>,
}

impl Workers {
    fn start<'s>(scope: &'s Scope<'s, '_>, settings: &'s QueueSettings, file: BorrowedFd<'s>) -> Workers {
        let together = Arc::new(Barrier::new(settings.workers()));
        let worker = |_| {
            let (asks, asked) = channel::<Vec<u64>>();
            let (answers, answered) = channel();
            let together = Arc::clone(&together);
            scope.spawn(move || {
                // A ring belongs to the thread that makes it.
                let mut queue = Queue::new(settings);
                for places in asked {
                    // Every worker comes to the barrier, also one that has failed: the others wait for it there.
                    together.wait();
                    let answer = match &mut queue {
                        Ok(queue) => queue.answer_all(settings, file, &places),
                        Err(failure) => Err(failure.clone()),
                    };
                    if answers.send(answer).is_err() {
                        return;
                    }
                }
            });
            (asks, answered)
        };
        Workers { workers: (0..settings.workers()).map(worker).collect() }
    }

    /// Shares the requests among the workers, and adds up their laps and bytes.
    fn answer_all(&self, places: &[u64]) -> Answered {
        let panicked = || broken("a thread", "it panicked");
        for (at, (asks, _)) in self.workers.iter().enumerate() {
            let share = places.iter().copied().skip(at).step_by(self.workers.len()).collect();
            asks.send(share).map_err(|_| panicked())?;
        }
        let (mut laps, mut bytes) = (Laps::new(), 0);
        for (_, answered) in &self.workers {
            let (its_laps, its_bytes) = answered.recv().map_err(|_| panicked())??;
            laps.merge(&its_laps);
            bytes += its_bytes;
        }
        Ok((laps, bytes))
    }
}

/// What a worker needs, made before the clock runs.
enum Queue {
    Ring(Box<IoUring>, Vec<Buffer>),
    Calls(Buffer),
}

impl Queue {
    fn new(settings: &QueueSettings) -> Result<Queue, Failure> {
        let buffer = || Buffer::random(settings.block, 9);
        if settings.engine == IoEngine::Threads {
            return buffer().map(Queue::Calls);
        }
        let ring = ring(settings.depth as u32).map_err(|e| {
            let kind = match e.raw_os_error() {
                Some(libc::EPERM | libc::EACCES) => FailureKind::NotPermitted,
                Some(libc::ENOMEM) => FailureKind::Broken,
                _ => FailureKind::NotSupported,
            };
            Failure::new(kind, format!("io_uring: {e}"))
        })?;
        let buffers = (0..settings.depth).map(|_| buffer()).collect::<Result<_, _>>()?;
        Ok(Queue::Ring(Box::new(ring), buffers))
    }

    fn answer_all(&mut self, settings: &QueueSettings, file: BorrowedFd<'_>, places: &[u64]) -> Answered {
        match self {
            Queue::Ring(ring, buffers) => through_ring(settings, file, ring, buffers, places),
            Queue::Calls(buffer) => {
                let mut laps = Laps::new();
                let bytes = one_by_one(file, settings.write, buffer, places, &mut laps)
                    .map_err(|e| refused(e, settings.block))?;
                Ok((laps, bytes))
            }
        }
    }
}

/// A ring that learns of answers when it waits for them, and not by an interrupt for each; as fio's is. Kernels before
/// 6.1 know only the other kind.
fn ring(depth: u32) -> io::Result<IoUring> {
    let mut builder = IoUring::builder();
    builder.setup_coop_taskrun().setup_single_issuer().setup_defer_taskrun();
    match builder.build(depth) {
        Err(e) if e.raw_os_error() == Some(libc::EINVAL) => IoUring::new(depth),
        other => other,
    }
}

/// Keeps the ring full until every place is requested, and all answers are there.
fn through_ring(
    settings: &QueueSettings,
    file: BorrowedFd<'_>,
    ring: &mut IoUring,
    buffers: &mut Vec<Buffer>,
    places: &[u64],
) -> Answered {
    let file = types::Fd(file.as_raw_fd());
    let mut laps = Laps::new();
    let mut started_ns = vec![0u64; buffers.len()];
    let mut free: Vec<usize> = (0..buffers.len()).collect();
    let (mut asked, mut answered, mut bytes) = (0, 0, 0);
    let mut failed = None;
    while answered < places.len() && (failed.is_none() || free.len() < buffers.len()) {
        while failed.is_none()
            && asked < places.len()
            && let Some(slot) = free.pop()
        {
            let (start, length) = (buffers[slot].as_mut_ptr(), settings.block as u32);
            let entry = if settings.write {
                opcode::Write::new(file, start, length).offset(places[asked]).build()
            } else {
                opcode::Read::new(file, start, length).offset(places[asked]).build()
            };
            started_ns[slot] = now_ns();
            // SAFETY: the buffer lives until its answer is there, and is used by no other request till then.
            if let Err(e) = unsafe { ring.submission().push(&entry.user_data(slot as u64)) } {
                return Err(leak(buffers, broken("a full ring", e)));
            }
            // One by one, as fio and DiskSpd do: of several at once the device sees none before the last is prepared.
            match ring.submit() {
                Err(e) if e.kind() != io::ErrorKind::Interrupted => {
                    return Err(leak(buffers, broken("io_uring", e)));
                }
                _ => asked += 1,
            }
        }
        // An interrupted wait leaves all as it was; the deadline of the trial bounds it.
        match ring.submit_and_wait(1) {
            Ok(_) => {}
            Err(e) if e.kind() == io::ErrorKind::Interrupted => continue,
            Err(e) => return Err(leak(buffers, broken("io_uring", e))),
        }
        let now = now_ns();
        for answer in ring.completion() {
            let slot = answer.user_data() as usize;
            laps.add(started_ns[slot], now);
            free.push(slot);
            answered += 1;
            match answer.result() {
                moved if moved >= 0 => bytes += moved as u64,
                error => failed = Some(refused(Errno::from_raw_os_error(-error), settings.block)),
            }
        }
    }
    failed.map_or(Ok((laps, bytes)), Err)
}

/// Gives up the buffers, which requests that were not answered may still fill.
fn leak(buffers: &mut Vec<Buffer>, failure: Failure) -> Failure {
    std::mem::forget(std::mem::take(buffers));
    failure
}

fn refused(e: Errno, block: usize) -> Failure {
    if e == Errno::INVAL {
        return Failure::new(FailureKind::NotSupported, format!("O_DIRECT in blocks of {block} B"));
    }
    broken("a request", e)
}

crate::timed! {
    fn one_by_one(
        file: BorrowedFd<'_>,
        writes: bool,
        buffer: &mut [u8],
        places: &[u64],
        laps: &mut Laps,
    ) -> Result<u64, Errno> {
        let mut bytes = 0;
        for &place in places {
            let started_ns = now_ns();
            bytes += if writes { pwrite(file, buffer, place)? } else { pread(file, buffer, place)? } as u64;
            laps.add(started_ns, now_ns());
        }
        Ok(bytes)
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::{request, run};
    use super::*;

    #[test]
    fn both_engines_answer_every_request() {
        for engine in ["uring", "threads"] {
            for op in ["read", "write"] {
                for pattern in ["random", "sequential"] {
                    let small = [("engine", engine), ("op", op), ("pattern", pattern), ("size", "1MiB")];
                    match run(&request(&PROBE, &[&small[..], &[("threads", "2"), ("depth", "4")]].concat())) {
                        Ok(batches) => assert_eq!(batches.len(), 3),
                        // A build folder in memory has no O_DIRECT; a container may forbid io_uring.
                        Err(missing) => assert_ne!(missing.kind, FailureKind::WrongWork, "{missing}"),
                    }
                }
            }
        }
    }
}
