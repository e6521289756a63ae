//! Control connections that have not sent a whole message yet: they take no process and nobody's turn, their number is
//! bounded, and the oldest makes room.

#![allow(unsafe_code, reason = "a socket option that rustix does not have")]

use std::collections::VecDeque;
use std::net::{IpAddr, TcpStream};
use std::os::fd::AsFd;
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags};
use rustix::io::Errno;

use super::codec::MESSAGE_BYTES;
use crate::harness::readiness::wait_ready;

/// Most connections that have sent nothing whole; one more, and the oldest is closed.
pub(crate) const MOST_SILENT: usize = 128;

/// A connection whose first message has arrived, and whose it is.
pub(crate) type Speaking = (TcpStream, IpAddr);

struct Silent {
    connection: TcpStream,
    from: IpAddr,
    since: Instant,
}

/// The connections that wait, the oldest first.
#[derive(Default)]
pub(crate) struct Silents {
    silent: VecDeque<Silent>,
    /// Those that have spoken and wait for a process.
    speaking: VecDeque<Speaking>,
}

impl Silents {
    pub(crate) fn add(&mut self, connection: TcpStream, from: IpAddr) {
        // From here on it is ready when a whole message is there, however slowly that comes.
        if ready_at(&connection, MESSAGE_BYTES).is_err() {
            return;
        }
        if self.silent.len() == MOST_SILENT {
            self.silent.pop_front();
        }
        self.silent.push_back(Silent { connection, from, since: Instant::now() });
    }

    /// Closes those that have been silent for this long.
    pub(crate) fn expire(&mut self, first_word: Duration) {
        self.silent.retain(|silent| silent.since.elapsed() < first_word);
    }

    /// Waits for at most `longest` until `listener` has a connection, which it says, or one of these has spoken.
    pub(crate) fn wait(&mut self, listener: impl AsFd, longest: Duration) -> Result<bool, Errno> {
        let mut all = vec![PollFd::new(&listener, PollFlags::IN)];
        all.extend(self.silent.iter().map(|silent| PollFd::new(&silent.connection, PollFlags::IN)));
        wait_ready(&mut all, longest)?;
        let ready: Vec<bool> = all.iter().map(|waited| !waited.revents().is_empty()).collect();
        for at in (0..self.silent.len()).rev().filter(|at| ready[at + 1]) {
            if let Some(Silent { connection, from, .. }) = self.silent.remove(at)
                && ready_at(&connection, 1).is_ok()
                && !has_ended(&connection)
            {
                self.speaking.push_back((connection, from));
            }
        }
        // As many that have spoken may wait as may be silent.
        self.speaking.truncate(MOST_SILENT);
        Ok(ready[0])
    }

    /// Whether one has spoken and waits for a process.
    pub(crate) fn are_speaking(&self) -> bool {
        !self.speaking.is_empty()
    }

    pub(crate) fn next(&mut self) -> Option<Speaking> {
        self.speaking.pop_front()
    }
}

/// Whether the other end has gone without a whole message.
fn has_ended(connection: &TcpStream) -> bool {
    let mut message = [0; MESSAGE_BYTES];
    !matches!(connection.peek(&mut message), Ok(MESSAGE_BYTES))
}

/// Has a connection count as readable once this many bytes are there (SO_RCVLOWAT, socket(7)).
fn ready_at(connection: &TcpStream, bytes: usize) -> Result<(), Errno> {
    let bytes = bytes as libc::c_int;
    // SAFETY: the descriptor is open, and `bytes` is an int of the size that is given.
    let set = unsafe {
        libc::setsockopt(
            std::os::fd::AsRawFd::as_raw_fd(connection),
            libc::SOL_SOCKET,
            libc::SO_RCVLOWAT,
            (&raw const bytes).cast(),
            size_of::<libc::c_int>() as libc::socklen_t,
        )
    };
    if set == 0 { Ok(()) } else { Err(Errno::INVAL) }
}
