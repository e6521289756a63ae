//! Bytes one way over one connection: the timed loops of both ends.
//!
//! The near end opens a batch with a header of eight bytes, little-endian: how many bytes it holds. Then they
//! flow, in writes of one size. After the batch the far end sends a number: how many bytes it has read, so that a
//! batch ends when all of it has arrived and not when it is in a buffer; or, where it was the sender, how many
//! segments it has sent again.

use rustix::fd::BorrowedFd;
use rustix::io::Errno;

use super::flow::Direction;
use super::sockets;
use crate::stopwatch::Stopwatch;
use crate::syscall::{recv, send};

/// Most bytes of one batch: a header that asks for more is not the near end's.
pub const LARGEST_BATCH: u64 = 1 << 40;

crate::timed! {
    /// Sends so many bytes in writes of the buffer's size.
    fn send_bytes(connection: BorrowedFd<'_>, bytes: u64, buffer: &[u8]) -> Result<(), Errno> {
        let mut left = bytes;
        while left > 0 {
            let piece = &buffer[..buffer.len().min(usize::try_from(left).unwrap_or(usize::MAX))];
            match send(connection, piece)? {
                0 => return Err(Errno::PIPE),
                sent => left -= sent as u64,
            }
        }
        Ok(())
    }
}

crate::timed! {
    /// Receives exactly so many bytes into a buffer, over and over.
    fn receive_bytes(connection: BorrowedFd<'_>, bytes: u64, buffer: &mut [u8]) -> Result<(), Errno> {
        let mut left = bytes;
        while left > 0 {
            let room = buffer.len().min(usize::try_from(left).unwrap_or(usize::MAX));
            match recv(connection, &mut buffer[..room])? {
                0 => return Err(Errno::PIPE),
                more => left -= more as u64,
            }
        }
        Ok(())
    }
}

/// Sends or receives exactly eight bytes as a number.
fn receive_number(connection: BorrowedFd<'_>) -> Result<u64, Errno> {
    let mut bytes = [0; 8];
    receive_bytes(connection, 8, &mut bytes)?;
    Ok(u64::from_le_bytes(bytes))
}

/// What a batch brought.
pub struct Arrived {
    pub bytes: u64,
    /// Segments that the sending end has sent again on this connection.
    pub sent_again: u64,
}

/// The near end: one batch, timed from its header until all of it has arrived.
pub fn request(
    direction: Direction,
    bytes: u64,
    connection: BorrowedFd<'_>,
    buffer: &mut [u8],
    stopwatch: &mut Stopwatch,
) -> Result<Arrived, Errno> {
    stopwatch.start();
    send_bytes(connection, 8, &bytes.to_le_bytes())?;
    Ok(match direction {
        Direction::Send => {
            send_bytes(connection, bytes, buffer)?;
            let arrived = receive_number(connection)?;
            stopwatch.stop();
            Arrived { bytes: arrived, sent_again: sockets::sent_again(connection)? }
        }
        Direction::Receive => {
            receive_bytes(connection, bytes, buffer)?;
            stopwatch.stop();
            Arrived { bytes, sent_again: receive_number(connection)? }
        }
    })
}

/// The far end, until the connection is closed; gives the process's exit code.
pub fn respond(direction: Direction, connection: BorrowedFd<'_>, buffer: &mut [u8]) -> i32 {
    loop {
        let bytes = match receive_number(connection) {
            Ok(bytes) if bytes <= LARGEST_BATCH => bytes,
            Ok(_) => return 6,
            // The near end closes between batches.
            Err(Errno::PIPE) => return 0,
            Err(_) => return 5,
        };
        let done = match direction {
            Direction::Send => receive_bytes(connection, bytes, buffer).map(|()| bytes),
            Direction::Receive => {
                send_bytes(connection, bytes, buffer).and_then(|()| sockets::sent_again(connection))
            }
        };
        let told = done.and_then(|number| send_bytes(connection, 8, &number.to_le_bytes()));
        if told.is_err() {
            return 7;
        }
    }
}
