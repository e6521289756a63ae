//! Loop of `file.sync`: see its description.

use crate::harness::syscall::{fdatasync, pread, pwrite};
use crate::probe::prelude::*;

const BLOCK: usize = 4096;
/// Blocks of the file: 1 MiB.
const BLOCKS: u64 = 256;

pub(super) fn measure_file_sync(trial: &mut Trial<'_>) -> Result<(), Failure> {
    let size = BLOCKS * BLOCK as u64;
    let folder = trial.folder()?;
    files::check_room(folder, size)?;
    let file = files::create_file(folder, "log", OFlags::empty())?;
    files::fill_file(file.as_fd(), &Buffer::new_zeroed(BLOCK)?, BLOCK, size)?;
    let mut data = Buffer::new_random(BLOCK, trial.seed())?;
    let (mut next, mut disks) = (0u64, trial.watch_disks());
    trial.repeat(|operations, report| {
        let first = next;
        let mut laps = Commits { both: Laps::new(), write: Laps::new(), sync: Laps::new() };
        disks
            .count(|| commit(operations, file.as_fd(), &mut data, &mut next, &mut laps))
            .map_err(|e| broken_failure("writing 4 KiB and fdatasync", e))?;
        let last = last_number(file.as_fd(), next - 1)?;
        prove_count("commits counted in the file's last block", last + 1 - first, operations)?;
        report.add_latency("commit", operations * BLOCK as u64, laps.both);
        report.add_latency("write", 0, laps.write);
        report.add_latency("sync", 0, laps.sync);
        disks.end_batch(operations);
        Ok(())
    })?;
    trial.send_disks(disks);
    Ok(())
}

struct Commits {
    both: Laps,
    write: Laps,
    sync: Laps,
}

fn place(number: u64) -> u64 {
    number % BLOCKS * BLOCK as u64
}

/// Reads the number that the block of a commit holds.
fn last_number(file: BorrowedFd<'_>, number: u64) -> Result<u64, tare_data::failure::Failure> {
    let mut bytes = [0; 8];
    let read = pread(file, &mut bytes, place(number)).map_err(|e| broken_failure("reading back", e))?;
    prove_count("bytes read back", read as u64, 8)?;
    Ok(u64::from_le_bytes(bytes))
}

crate::timed! {
    fn commit(
        operations: u64,
        file: BorrowedFd<'_>,
        data: &mut [u8],
        next: &mut u64,
        laps: &mut Commits,
    ) -> Result<(), Errno> {
        for _ in 0..operations {
            data[..8].copy_from_slice(&next.to_le_bytes());
            let started_ns = now_ns();
            let written = pwrite(file, data, place(*next))?;
            let written_ns = now_ns();
            fdatasync(file)?;
            let ended_ns = now_ns();
            if written != BLOCK {
                return Err(Errno::NOSPC);
            }
            laps.write.add(started_ns, written_ns);
            laps.sync.add(written_ns, ended_ns);
            laps.both.add(started_ns, ended_ns);
            *next += 1;
        }
        Ok(())
    }
}
