//! Loop of `ipc.pipe`: see its description.

use crate::harness::syscall::{read, write};
use crate::probe::prelude::*;

/// UnixBench's size.
const BYTES: usize = 512;

pub(super) fn measure_ipc_pipe(trial: &mut Trial<'_>) -> Result<(), Failure> {
    let (reader, writer) = crate::platform::pipe().map_err(|e| broken_failure("pipe", e))?;
    let mut buffer = Buffer::new_random(BYTES, trial.seed())?;
    let sent = buffer.to_vec();
    trial.repeat(|operations, report| {
        let (stopwatch, bytes) = pairs(operations, reader.as_fd(), writer.as_fd(), &mut buffer)
            .map_err(|e| broken_failure("writing and reading the pipe", e))?;
        prove_count("bytes through the pipe", bytes, 2 * operations * BYTES as u64)?;
        prove_count("bytes that arrived as sent", matching(&buffer, &sent), BYTES as u64)?;
        report.add_transfer("pair", operations, operations * BYTES as u64, &stopwatch);
        Ok(())
    })
}

crate::timed! {
    /// Makes `operations` writes and reads, and returns the time, and the bytes that both counted.
    fn pairs(
        operations: u64,
        reader: BorrowedFd<'_>,
        writer: BorrowedFd<'_>,
        buffer: &mut [u8],
    ) -> Result<(Stopwatch, u64), Errno> {
        let (mut bytes, mut stopwatch) = (0, Stopwatch::start_new());
        for _ in 0..operations {
            bytes += write(writer, buffer)? as u64;
            bytes += read(reader, buffer)? as u64;
        }
        stopwatch.stop();
        Ok((stopwatch, bytes))
    }
}

fn matching(one: &[u8], other: &[u8]) -> u64 {
    one.iter().zip(other).filter(|(a, b)| a == b).count() as u64
}
