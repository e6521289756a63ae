//! Loop of `file.queue`: see its description.

use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Barrier};
use std::thread::Scope;

use tare_data::generator::Generator;

use crate::file_loops::ring::{Answered, Ring, explain_refusal};
use crate::harness::files::whole_blocks;
use crate::harness::syscall::{pread, pwrite};
use crate::probe::prelude::*;

pub(super) fn measure_file_queue(trial: &mut Trial<'_>) -> Result<(), Failure> {
    let settings = QueueSettings::from_parameters(trial.parameters())?;
    let folder = trial.folder()?;
    files::check_room(folder, settings.size)?;
    let file = files::create_file(folder, "queue", OFlags::empty())?;
    files::fill_file(file.as_fd(), &Buffer::new_random(POOL, trial.seed())?, POOL, settings.size)?;
    drop(file);
    let file = files::open_file(folder, "queue", OFlags::DIRECT)?;
    let mut generator = Generator::for_part(trial.seed(), "file.queue");
    let mut next = 0;
    std::thread::scope(|scope| {
        let workers = Workers::start(scope, &settings, file.as_fd());
        trial.repeat(|operations, report| {
            let requests = operations.saturating_mul(settings.requests_an_operation());
            let places: Vec<u64> = (0..requests).map(|_| settings.place(&mut generator, &mut next)).collect();
            let (laps, bytes) = workers.answer_all(&places)?;
            prove_count("requests answered", laps.operations(), requests)?;
            prove_count("bytes moved", bytes, requests * settings.block as u64)?;
            report.add_latency("request", bytes, laps);
            Ok(())
        })
    })
}

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

/// Counts the requests of one operation; none where the parameters cannot be read.
pub(crate) fn requests_an_operation(parameters: &Parameters) -> Option<u64> {
    QueueSettings::from_parameters(parameters).ok().map(|settings| settings.requests_an_operation())
}

impl QueueSettings {
    /// Counts the requests of an operation: several fillings of all queues, so that the depth measured is the
    /// depth requested.
    fn requests_an_operation(&self) -> u64 {
        let one = self.depth as u64 * self.threads as u64;
        let fills = FILLED_BYTES / one.saturating_mul(self.block as u64);
        fills.clamp(FEWEST_FILLS, MOST_FILLS) * one
    }

    /// Counts the workers: one for each queue. With plain calls a thread has one request outstanding, so that
    /// there are as many as the queues hold.
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
            depth: parameters.get_integer_within("depth", 1..=DEEPEST)? as usize,
            threads: parameters.get_integer_within("threads", 1..=MOST_THREADS)? as usize,
            write: parameters.one_of("op", &[("write", true), ("read", false)])?,
            random: parameters.one_of("pattern", &[("random", true), ("sequential", false)])?,
            engine: parameters
                .one_of("engine", &[("uring", IoEngine::Uring), ("threads", IoEngine::Threads)])?,
        })
    }

    fn place(&self, generator: &mut Generator, next: &mut u64) -> u64 {
        let blocks = self.size / self.block as u64;
        if self.random {
            return generator.draw_below(blocks) * self.block as u64;
        }
        *next += 1;
        (*next - 1) % blocks * self.block as u64
    }
}

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
        let panicked = || broken_failure("a thread", "it panicked");
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

/// Resources of a worker, made before the clock runs.
enum Queue {
    Ring(Ring),
    Calls(Buffer),
}

impl Queue {
    fn new(settings: &QueueSettings) -> Result<Queue, Failure> {
        let buffer = || Buffer::new_random(settings.block, 9);
        if settings.engine == IoEngine::Threads {
            return buffer().map(Queue::Calls);
        }
        let ring = Ring::new(settings.depth as u32)?;
        let buffers = (0..settings.depth).map(|_| buffer()).collect::<Result<_, _>>()?;
        Ok(Queue::Ring(ring.with_buffers(buffers)))
    }

    fn answer_all(&mut self, settings: &QueueSettings, file: BorrowedFd<'_>, places: &[u64]) -> Answered {
        match self {
            Queue::Ring(ring) => ring.answer_all(settings.write, file, places),
            Queue::Calls(buffer) => {
                let mut laps = Laps::new();
                let bytes = one_by_one(file, settings.write, buffer, places, &mut laps)
                    .map_err(|e| explain_refusal(e, settings.block))?;
                Ok((laps, bytes))
            }
        }
    }
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
    use super::super::tests::{make_trial_request, run_trial};
    use super::*;
    use crate::descriptions::file_queue::PROBE;

    #[test]
    fn both_engines_answer_every_request() {
        for engine in ["uring", "threads"] {
            for op in ["read", "write"] {
                for pattern in ["random", "sequential"] {
                    let small = [("engine", engine), ("op", op), ("pattern", pattern), ("size", "1MiB")];
                    match run_trial(&make_trial_request(
                        &PROBE,
                        &[&small[..], &[("threads", "2"), ("depth", "4")]].concat(),
                    )) {
                        Ok(batches) => assert_eq!(batches.len(), 3),
                        // A build folder in memory has no O_DIRECT; a container may forbid io_uring.
                        Err(missing) => assert_ne!(missing.kind, FailureKind::WrongWork, "{missing}"),
                    }
                }
            }
        }
    }
}
