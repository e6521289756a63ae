//! Complete messages over a control connection, each within a time limit.

use std::io::{self, Read, Write};
use std::net::TcpStream;
use std::time::{Duration, Instant};

use super::codec::{MESSAGE_BYTES, Message};

/// A socket's buffer takes a message at once, unless the other end has stopped reading.
const LONGEST_WRITE: Duration = Duration::from_secs(10);

/// Reads one whole message; gives up after `patience`, however many bytes arrive meanwhile.
pub fn read_message(connection: &mut TcpStream, patience: Duration) -> io::Result<Message> {
    let end = Instant::now() + patience;
    let mut message = [0; MESSAGE_BYTES];
    let mut filled = 0;
    while filled < MESSAGE_BYTES {
        let left = end.checked_duration_since(Instant::now()).filter(|left| !left.is_zero());
        connection.set_read_timeout(Some(left.ok_or(io::ErrorKind::TimedOut)?))?;
        match connection.read(&mut message[filled..]) {
            Ok(0) => return Err(io::ErrorKind::UnexpectedEof.into()),
            Ok(more) => filled += more,
            Err(e) if e.kind() == io::ErrorKind::Interrupted => {}
            Err(e) if e.kind() == io::ErrorKind::WouldBlock => return Err(io::ErrorKind::TimedOut.into()),
            Err(e) => return Err(e),
        }
    }
    Ok(message)
}

/// Writes one whole message, which a socket's buffer holds.
pub fn write_message(connection: &mut TcpStream, message: &Message) -> io::Result<()> {
    connection.set_write_timeout(Some(LONGEST_WRITE))?;
    connection.write_all(message)
}
