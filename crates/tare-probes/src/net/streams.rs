//! Requests and responses over one connection: the timed loops of both ends.

use rustix::fd::BorrowedFd;
use rustix::io::Errno;

use super::flow::{Pace, REQUEST, Starts};
use crate::harness::stopwatch::{Laps, now_ns};
use crate::harness::syscall::{recv, send};

/// Receives a message of a known length; a part of timed loops.
#[inline(always)]
pub(super) fn receive_whole(connection: BorrowedFd<'_>, incoming: &mut [u8]) -> Result<(), Errno> {
    let mut filled = 0;
    while filled < incoming.len() {
        match recv(connection, &mut incoming[filled..])? {
            0 => return Err(Errno::PIPE),
            more => filled += more,
        }
    }
    Ok(())
}

crate::timed! {
    /// Runs the near end: `operations` round trips, timed one by one. Returns how many responses began with
    /// the peer's byte.
    pub fn request_rounds(
        operations: u64,
        connection: BorrowedFd<'_>,
        outgoing: &[u8],
        incoming: &mut [u8],
        (pace, expected): (Pace, u8),
        laps: &mut Laps,
    ) -> Result<u64, Errno> {
        let mut starts = Starts::new();
        let (mut sent, mut answered, mut right) = (0, 0, 0);
        let first_ns = now_ns();
        while answered < operations {
            while sent < operations && sent - answered < pace.burst {
                starts.set(sent, pace.start_ns(first_ns, sent));
                if send(connection, outgoing)? != outgoing.len() {
                    return Err(Errno::MSGSIZE);
                }
                sent += 1;
            }
            receive_whole(connection, incoming)?;
            laps.add(starts.get(answered), now_ns());
            right += u64::from(incoming[0] == expected);
            incoming[0] = 0;
            answered += 1;
        }
        Ok(right)
    }

    /// Runs the far end: answers whole requests until the connection is closed. Returns the process's exit
    /// code.
    pub(crate) fn answer_rounds(connection: BorrowedFd<'_>, incoming: &mut [u8], outgoing: &[u8]) -> i32 {
        loop {
            let mut filled = 0;
            while filled < incoming.len() {
                match recv(connection, &mut incoming[filled..]) {
                    Ok(0) => return if filled == 0 { 0 } else { 4 },
                    Ok(more) => filled += more,
                    Err(_) => return 5,
                }
            }
            if incoming[0] != REQUEST {
                return 6;
            }
            if send(connection, outgoing) != Ok(outgoing.len()) {
                return 7;
            }
        }
    }
}
