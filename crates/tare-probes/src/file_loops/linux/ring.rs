//! io_uring: a queue of requests that a thread keeps full.

#![allow(unsafe_code, reason = "the kernel writes into buffers while they wait in a queue")]

use std::io;

use io_uring::{IoUring, opcode, types};
use rustix::fd::{AsRawFd, BorrowedFd};
use rustix::io::Errno;
use tare_data::failure::{Failure, FailureKind};

use crate::harness::buffer::Buffer;
use crate::harness::stopwatch::{Laps, now_ns};
use crate::harness::trial::broken_failure;

/// Times, and the bytes that were moved.
pub(crate) type Answered = Result<(Laps, u64), Failure>;

/// A ring with a buffer for each request outstanding.
pub(crate) struct Ring {
    ring: Box<IoUring>,
    buffers: Vec<Buffer>,
}

impl Ring {
    pub(crate) fn new(depth: u32) -> Result<Ring, Failure> {
        let ring = fresh(depth).map_err(|e| {
            let kind = match e.raw_os_error() {
                Some(libc::EPERM | libc::EACCES) => FailureKind::NotPermitted,
                Some(libc::ENOMEM) => FailureKind::Broken,
                _ => FailureKind::NotSupported,
            };
            Failure::new(kind, format!("io_uring: {e}"))
        })?;
        Ok(Ring { ring: Box::new(ring), buffers: Vec::new() })
    }

    pub(crate) fn with_buffers(self, buffers: Vec<Buffer>) -> Ring {
        Ring { buffers, ..self }
    }

    /// Keeps the ring full until every place is requested, and all answers are there.
    pub(crate) fn answer_all(&mut self, writes: bool, file: BorrowedFd<'_>, places: &[u64]) -> Answered {
        let Ring { ring, buffers } = self;
        let block = buffers.first().map_or(0, |buffer| buffer.len());
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
                let (start, length) = (buffers[slot].as_mut_ptr(), buffers[slot].len() as u32);
                let entry = if writes {
                    opcode::Write::new(file, start, length).offset(places[asked]).build()
                } else {
                    opcode::Read::new(file, start, length).offset(places[asked]).build()
                };
                started_ns[slot] = now_ns();
                // SAFETY: the buffer lives until its answer is there, and is used by no other request till then.
                if let Err(e) = unsafe { ring.submission().push(&entry.user_data(slot as u64)) } {
                    return Err(leak(buffers, broken_failure("a full ring", e)));
                }
                // Submitted singly, as fio and DiskSpd do: if several are submitted at once, the device sees none before the last is prepared.
                match ring.submit() {
                    Err(e) if e.kind() != io::ErrorKind::Interrupted => {
                        return Err(leak(buffers, broken_failure("io_uring", e)));
                    }
                    _ => asked += 1,
                }
            }
            // An interrupted wait leaves all as it was; the deadline of the trial bounds it.
            match ring.submit_and_wait(1) {
                Ok(_) => {}
                Err(e) if e.kind() == io::ErrorKind::Interrupted => continue,
                Err(e) => return Err(leak(buffers, broken_failure("io_uring", e))),
            }
            let now = now_ns();
            for answer in ring.completion() {
                let slot = answer.user_data() as usize;
                laps.add(started_ns[slot], now);
                free.push(slot);
                answered += 1;
                match answer.result() {
                    moved if moved >= 0 => bytes += moved as u64,
                    error => failed = Some(explain_refusal(Errno::from_raw_os_error(-error), block)),
                }
            }
        }
        failed.map_or(Ok((laps, bytes)), Err)
    }
}

/// Creates a ring that learns of completions when it waits for them, and not by an interrupt for each, as
/// fio's does. Kernels before 6.1 have only interrupts.
fn fresh(depth: u32) -> io::Result<IoUring> {
    let mut builder = IoUring::builder();
    builder.setup_coop_taskrun().setup_single_issuer().setup_defer_taskrun();
    match builder.build(depth) {
        Err(e) if e.raw_os_error() == Some(libc::EINVAL) => IoUring::new(depth),
        other => other,
    }
}

/// Gives up the buffers, which requests that were not answered may still fill.
fn leak(buffers: &mut Vec<Buffer>, failure: Failure) -> Failure {
    std::mem::forget(std::mem::take(buffers));
    failure
}

/// Explains a refusal past the cache: the file system does not take blocks of that size.
pub(crate) fn explain_refusal(e: Errno, block: usize) -> Failure {
    if e == Errno::INVAL {
        return Failure::new(FailureKind::NotSupported, format!("O_DIRECT in blocks of {block} B"));
    }
    broken_failure("a request", e)
}
