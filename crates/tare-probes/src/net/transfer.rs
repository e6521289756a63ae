//! Bytes in one direction over one connection: the timed loops of both ends.
//!
//! The near end opens a batch with a header of eight bytes, little-endian: how many bytes it holds. Then they
//! flow, in writes of one size. After the batch the far end sends a number: how many bytes it has read, so that a
//! batch ends when all of it has arrived and not when it is in a buffer; or, where it was the sender, how many
//! segments it has sent again.

use rustix::fd::BorrowedFd;
use rustix::io::Errno;
use rustix::net::{self, SendFlags, sockopt};

use super::flow::{Direction, LARGEST_BATCH};
use super::sockets;
use crate::harness::stopwatch::Stopwatch;
use crate::harness::syscall::{recv, send};

crate::timed! {
    /// Sends `bytes` bytes in writes of the buffer's size.
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

    /// Receives exactly `bytes` bytes into a buffer, over and over, and sleeps until a whole one is there while there are two to come.
    fn receive_bytes(connection: BorrowedFd<'_>, bytes: u64, buffer: &mut [u8]) -> Result<(), Errno> {
        let (mut left, mut wakes_at) = (bytes, 1);
        while left > 0 {
            // A call that has taken a part of its bytes sleeps until as many as at first are there again: they must be still to come.
            let enough = if left / 2 >= buffer.len() as u64 { buffer.len() } else { 1 };
            if enough != wakes_at {
                sockets::wake_at(&connection, enough);
                wakes_at = enough;
            }
            let room = buffer.len().min(usize::try_from(left).unwrap_or(usize::MAX));
            match recv(connection, &mut buffer[..room])? {
                0 => return Err(Errno::PIPE),
                more => left -= more as u64,
            }
        }
        Ok(())
    }
}

/// Sends what Nagle's algorithm holds back: the end of a batch would wait for a delayed acknowledgement (40 ms), while
/// within a batch small writes are put together as in any other program.
fn push(connection: BorrowedFd<'_>) -> Result<(), Errno> {
    sockopt::set_tcp_nodelay(connection, true)?;
    sockopt::set_tcp_nodelay(connection, false)
}

/// Receives exactly eight bytes as a number.
fn receive_number(connection: BorrowedFd<'_>) -> Result<u64, Errno> {
    let mut bytes = [0; 8];
    receive_bytes(connection, 8, &mut bytes)?;
    Ok(u64::from_le_bytes(bytes))
}

pub struct Arrived {
    pub bytes: u64,
    /// Segments that the sending end has sent again on this connection.
    pub sent_again: u64,
}

/// Runs the near end: one batch, timed from its header until all of it has arrived.
pub(crate) fn request_batch(
    direction: Direction,
    bytes: u64,
    connection: BorrowedFd<'_>,
    buffer: &mut [u8],
    stopwatch: &mut Stopwatch,
) -> Result<Arrived, Errno> {
    stopwatch.start();
    let header = bytes.to_le_bytes();
    Ok(match direction {
        Direction::Send => {
            // Goes out with the first of the bytes.
            if net::send(connection, &header, SendFlags::MORE | SendFlags::NOSIGNAL)? != header.len() {
                return Err(Errno::MSGSIZE);
            }
            send_bytes(connection, bytes, buffer)?;
            push(connection)?;
            let arrived = receive_number(connection)?;
            stopwatch.stop();
            Arrived { bytes: arrived, sent_again: sockets::sent_again(connection)? }
        }
        Direction::Receive => {
            send_bytes(connection, 8, &header)?;
            receive_bytes(connection, bytes, buffer)?;
            stopwatch.stop();
            Arrived { bytes, sent_again: receive_number(connection)? }
        }
    })
}

/// Runs the near end towards a peer without this protocol, such as netserver: one batch fills the connection.
///
/// Sending ends by closing, and the batch ends when the far end, which has read to the end, has closed too.
pub(crate) fn request_whole(
    direction: Direction,
    bytes: u64,
    connection: BorrowedFd<'_>,
    buffer: &mut [u8],
    stopwatch: &mut Stopwatch,
) -> Result<Arrived, Errno> {
    stopwatch.start();
    match direction {
        Direction::Send => {
            send_bytes(connection, bytes, buffer)?;
            rustix::net::shutdown(connection, rustix::net::Shutdown::Write)?;
            if recv(connection, &mut [0])? != 0 {
                return Err(Errno::PROTO);
            }
        }
        Direction::Receive => receive_bytes(connection, bytes, buffer)?,
    }
    stopwatch.stop();
    let sent_again = if direction == Direction::Send { sockets::sent_again(connection)? } else { 0 };
    Ok(Arrived { bytes, sent_again })
}

/// Runs the far end until the connection is closed. Returns the process's exit code.
pub(crate) fn answer_batches(direction: Direction, connection: BorrowedFd<'_>, buffer: &mut [u8]) -> i32 {
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
        let tell = |number: u64| send_bytes(connection, 8, &number.to_le_bytes());
        let told = done.and_then(tell).and_then(|()| push(connection));
        if told.is_err() {
            return 7;
        }
    }
}

#[cfg(test)]
mod tests {
    use std::io::Write;
    use std::net::{TcpListener, TcpStream};
    use std::sync::mpsc;
    use std::time::Duration;

    use rustix::fd::AsFd;

    use super::*;

    #[test]
    fn a_receiver_sleeps_for_no_more_than_is_still_to_come() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let mut sender = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
        let (receiver, _) = listener.accept().unwrap();
        // The first call takes a part of its bytes, and what is left is less than a buffer.
        sender.write_all(&[1; 100]).unwrap();
        let (done, received) = mpsc::channel();
        std::thread::spawn(move || done.send(receive_bytes(receiver.as_fd(), 300, &mut [0; 256])));
        std::thread::sleep(Duration::from_millis(20));
        sender.write_all(&[1; 200]).unwrap();
        assert_eq!(received.recv_timeout(sockets::SILENCE), Ok(Ok(())));
    }
}
