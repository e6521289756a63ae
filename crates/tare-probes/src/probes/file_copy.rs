//! Loop of `file.copy`: see its description.

use crate::harness::files::whole_blocks;
use crate::harness::syscall::{pread, read, rewind_file, write};
use crate::probe::prelude::*;

pub(super) fn measure_file_copy(trial: &mut Trial<'_>) -> Result<(), Failure> {
    let (block, size) = whole_blocks(trial.parameters(), 1..=LARGEST, LARGEST)?;
    let folder = trial.folder()?;
    files::check_room(folder, 2 * size)?;
    let from = files::create_file(folder, "from", OFlags::empty())?;
    let to = files::create_file(folder, "to", OFlags::empty())?;
    let content = Buffer::new_random(size as usize, trial.seed())?;
    files::fill_file(from.as_fd(), &content, block as usize, size)?;
    files::fill_file(to.as_fd(), &Buffer::new_zeroed(size as usize)?, block as usize, size)?;
    // Windows goes on where a file was filled last.
    for file in [&from, &to] {
        rewind_file(file.as_fd()).map_err(|e| broken_failure("rewinding", e))?;
    }
    let checked = files::open_file(folder, "to", OFlags::empty())?;
    let mut buffer = Buffer::new_zeroed(block as usize)?;
    let mut place = 0;
    trial.repeat(|operations, report| {
        let (stopwatch, bytes) = copy(operations, from.as_fd(), to.as_fd(), &mut buffer, size, &mut place)
            .map_err(|e| broken_failure("copying", e))?;
        prove_count("bytes copied", bytes, operations * block)?;
        // The last block copied lies right before the place, and must be in the other file.
        let last = (place - block) as usize;
        let mut copied = vec![0; block as usize];
        pread(checked.as_fd(), &mut copied, last as u64).map_err(|e| broken_failure("reading back", e))?;
        let right = copied == content[last..last + block as usize];
        prove_count("last blocks that arrived", u64::from(right), 1)?;
        report.add_transfer("block", operations, bytes, &stopwatch);
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
        let (mut bytes, mut stopwatch) = (0, Stopwatch::start_new());
        for _ in 0..operations {
            if *place == size {
                rewind_file(from)?;
                rewind_file(to)?;
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
