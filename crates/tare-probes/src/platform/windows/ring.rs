//! The queue of Linux, which Windows does not have: requests are kept outstanding by threads.

use tare_data::failure::{Failure, FailureKind};

use super::{BorrowedFd, Errno};
use crate::harness::buffer::Buffer;
use crate::harness::stopwatch::Laps;
use crate::harness::trial::broken;

/// What was found: times, and the bytes that were moved.
pub(crate) type Answered = Result<(Laps, u64), Failure>;

/// There is none.
pub(crate) enum Ring {}

impl Ring {
    pub(crate) fn new(_depth: u32) -> Result<Ring, Failure> {
        let reason = "Windows has no io_uring: engine=threads is measured there";
        Err(Failure::new(FailureKind::NotSupported, reason))
    }

    pub(crate) fn with(self, _buffers: Vec<Buffer>) -> Ring {
        match self {}
    }

    pub(crate) fn answer_all(&mut self, _writes: bool, _file: BorrowedFd<'_>, _places: &[u64]) -> Answered {
        match *self {}
    }
}

/// What past the cache refuses, as what it is: blocks of that size are not for this file system.
pub(crate) fn refused(e: Errno, block: usize) -> Failure {
    if e == Errno::INVAL {
        let reason = format!("FILE_FLAG_NO_BUFFERING in blocks of {block} B");
        return Failure::new(FailureKind::NotSupported, reason);
    }
    broken("a request", e)
}
