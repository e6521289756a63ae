//! Loop of `file.copy`: see its description.

use crate::harness::files::whole_blocks;
use crate::harness::syscall::{pread, read, rewind, write};
use crate::probe::prelude::*;

pub(super) fn run(trial: &mut Trial<'_>) -> Result<(), Failure> {
    let (block, size) = whole_blocks(trial.parameters(), 1..=LARGEST, LARGEST)?;
    let directory = trial.directory()?;
    files::room(directory, 2 * size)?;
    let from = files::open(directory, "from", OFlags::TRUNC)?;
    let to = files::open(directory, "to", OFlags::TRUNC)?;
    let content = Buffer::random(size as usize, trial.seed())?;
    files::fill(from.as_fd(), &content, block as usize, size)?;
    files::fill(to.as_fd(), &Buffer::zeroed(size as usize)?, block as usize, size)?;
    // Windows goes on where a file was filled last.
    for file in [&from, &to] {
        rewind(file.as_fd()).map_err(|e| broken("rewinding", e))?;
    }
    let checked = files::open(directory, "to", OFlags::empty())?;
    let mut buffer = Buffer::zeroed(block as usize)?;
    let mut place = 0;
    trial.repeat(|operations, report| {
        let (stopwatch, bytes) = copy(operations, from.as_fd(), to.as_fd(), &mut buffer, size, &mut place)
            .map_err(|e| broken("copying", e))?;
        prove("bytes copied", bytes, operations * block)?;
        // The last block copied lies right before the place, and must be in the other file.
        let last = (place - block) as usize;
        let mut copied = vec![0; block as usize];
        pread(checked.as_fd(), &mut copied, last as u64).map_err(|e| broken("reading back", e))?;
        let right = copied == content[last..last + block as usize];
        prove("last blocks that arrived", u64::from(right), 1)?;
        report.moved("block", operations, bytes, &stopwatch);
        Ok(())
    })
}

/// Both files, and their content, are held in memory at the start.
const LARGEST: u64 = 1 << 28;

crate::timed! {
    /// Copies `operations` blocks, from where the last call stopped.
    fn copy(
        operations: u64,
        from: BorrowedFd<'_>,
        to: BorrowedFd<'_>,
        buffer: &mut [u8],
        size: u64,
        place: &mut u64,
    ) -> Result<(Stopwatch, u64), Errno> {
        let (mut bytes, mut stopwatch) = (0, Stopwatch::started());
        for _ in 0..operations {
            if *place == size {
                rewind(from)?;
                rewind(to)?;
                *place = 0;
            }
            let read = read(from, buffer)?;
            let written = write(to, &buffer[..read])?;
            *place += written as u64;
            bytes += written as u64;
        }
        stopwatch.stop();
        Ok((stopwatch, bytes))
    }
}
