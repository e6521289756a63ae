//! Blocks of a trial's files: whole ones, room for them, and files filled with them.

use std::ops::RangeInclusive;

use tare_data::failure::Failure;
use tare_data::names::Parameters;

use crate::harness::syscall;
use crate::harness::trial::broken_failure;
use crate::platform::BorrowedFd;
use crate::probe::size_words;

/// Space that is left free beyond what a trial writes, for the file system's own records.
pub(crate) const SPARE: u64 = 1 << 20;

pub(crate) fn no_room(bytes: u64, free: u64) -> Failure {
    let what = format!("writing {} with {} free", size_words(bytes), size_words(free));
    broken_failure(&what, "No space left on device")
}

/// Reads the parameters `bs` and `size`: the bytes of a block, and of a file of whole blocks.
pub(crate) fn whole_blocks(
    parameters: &Parameters,
    block: RangeInclusive<u64>,
    largest: u64,
) -> Result<(u64, u64), Failure> {
    let block = parameters.get_integer_within("bs", block)?;
    let size = parameters.get_integer_within("size", block..=largest)?;
    if size.is_multiple_of(block) {
        Ok((block, size))
    } else {
        Err(broken_failure("size", "it is not a multiple of bs"))
    }
}

/// Writes `pool` again and again until the file has `size` bytes, and has it written out.
///
/// In pieces of `piece` bytes, and the choice counts: a kernel caches a file in the pieces in which it was written, and
/// a later write of 4 KiB into a piece of 1 MiB takes several times as long as one into a piece of its own size.
pub(crate) fn fill_file(file: BorrowedFd<'_>, pool: &[u8], piece: usize, size: u64) -> Result<(), Failure> {
    fill_cache(file, pool, piece, size)?;
    syscall::fdatasync(file).map(drop).map_err(|e| broken_failure("fdatasync", e))
}

/// Fills a file that is then only read from the cache, without waiting for writes to the disk.
pub(crate) fn fill_cache(file: BorrowedFd<'_>, pool: &[u8], piece: usize, size: u64) -> Result<(), Failure> {
    let mut done = 0;
    while done < size {
        let from = (done % pool.len() as u64) as usize;
        let left = (size - done).try_into().unwrap_or(usize::MAX);
        let until = pool.len().min(from.saturating_add(piece.min(left)));
        let written = syscall::pwrite(file, &pool[from..until], done);
        done += written.map_err(|e| broken_failure("writing a file to read", e))? as u64;
    }
    Ok(())
}
