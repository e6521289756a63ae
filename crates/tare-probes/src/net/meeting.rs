//! The two ends of a flow meet: one waits at a port, the other goes there, and the token shows that both belong to it.

use std::net::{IpAddr, SocketAddr};
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags};
use rustix::fd::OwnedFd;
use rustix::io::Errno;
use rustix::net::{self, RecvFlags, SendFlags, SocketFlags};
use tare_data::failure::Failure;

use super::token::{TOKEN_BYTES, Token, is_same_token, shown_back};
use super::udp_peer::UdpPeer;
use super::{datagrams, sockets};
use crate::harness::readiness::wait_ready;
use crate::harness::stopwatch::Stopwatch;
use crate::harness::trial::{broken_failure, prove_count};

/// The other end has to show its token within this.
pub(crate) const PATIENCE: Duration = Duration::from_secs(10);
/// Connections that may be about to show a token at a time; the oldest makes room.
const MOST_PENDING: usize = 16;
/// Longest single wait for connections.
const LOOK: Duration = Duration::from_millis(200);

/// A socket at which an end waits for the other one.
pub(crate) struct Door {
    pub socket: OwnedFd,
    pub token: Token,
    /// The one address that the other end comes from, where it is known.
    pub from: Option<IpAddr>,
}

/// The part of an end in meeting the other one.
pub(crate) enum Meeting {
    Waits(Door),
    /// It goes to the port where the other end waits.
    Goes {
        to: SocketAddr,
        token: Token,
    },
}

impl Meeting {
    pub(crate) fn token(&self) -> &Token {
        match self {
            Meeting::Waits(door) => &door.token,
            Meeting::Goes { token, .. } => token,
        }
    }

    /// Meets the other end in a stream.
    pub(crate) fn open_stream(&self) -> Result<OwnedFd, Errno> {
        match self {
            Meeting::Waits(door) => door.admit(),
            Meeting::Goes { to, token } => {
                let (stream, _) = connect_with_token(*to, token, false).map_err(|_| Errno::TIMEDOUT)?;
                sockets::without_deadline(&stream).map_err(|_| Errno::IO)?;
                Ok(stream)
            }
        }
    }

    /// Meets the other end over UDP.
    pub(crate) fn open_line(self) -> Result<UdpPeer<OwnedFd>, Errno> {
        match self {
            Meeting::Waits(door) => door.wait_for_greeting(),
            Meeting::Goes { to, token } => {
                let line = datagrams::greet_far_end(to, &token).map_err(|_| Errno::TIMEDOUT)?;
                sockets::without_deadline(line.socket()).map_err(|_| Errno::IO)?;
                Ok(line)
            }
        }
    }
}

impl Door {
    /// Waits for a datagram with the token.
    pub(crate) fn wait_for_greeting(self) -> Result<UdpPeer<OwnedFd>, Errno> {
        datagrams::wait_for_greeting(self.socket, &self.token, self.from, PATIENCE)
    }

    /// Checks that a connection comes from the known address of the other end.
    fn is_welcome(&self, connection: &OwnedFd) -> bool {
        let address = || SocketAddr::try_from(net::getpeername(connection).ok()??).ok();
        self.from.is_none_or(|from| address().is_some_and(|address| address.ip() == from))
    }

    /// Accepts the first connection that shows the token. All others get no byte, and are closed.
    pub(crate) fn admit(&self) -> Result<OwnedFd, Errno> {
        let end = Instant::now() + PATIENCE;
        let mut pending: [Option<Pending>; MOST_PENDING] = Default::default();
        let mut next = 0;
        while Instant::now() < end {
            let mut waited = vec![PollFd::new(&self.socket, PollFlags::IN)];
            waited.extend(pending.iter().flatten().map(|p| PollFd::new(&p.connection, PollFlags::IN)));
            wait_ready(&mut waited, LOOK)?;
            let is_new = waited[0].revents().contains(PollFlags::IN);
            drop(waited);
            for slot in &mut pending {
                match slot.as_mut().map(|pending| pending.read_token(&self.token)) {
                    Some(Seen::Token) => {
                        let connection = slot.take().expect("it was there").connection;
                        blocking(&connection)?;
                        net::send(&connection, &shown_back(&self.token), SendFlags::NOSIGNAL)?;
                        return Ok(connection);
                    }
                    Some(Seen::Other) => *slot = None,
                    Some(Seen::Part) | None => {}
                }
            }
            if is_new
                && let Ok(connection) =
                    net::accept_with(&self.socket, SocketFlags::CLOEXEC | SocketFlags::NONBLOCK)
                && self.is_welcome(&connection)
            {
                pending[next % MOST_PENDING] =
                    Some(Pending { connection, shown: [0; TOKEN_BYTES], filled: 0 });
                next += 1;
            }
        }
        Err(Errno::TIMEDOUT)
    }
}

/// Connects, timed, shows the token and waits for its answer: the first request does not wait for a delayed
/// acknowledgement of the token.
pub(crate) fn connect_with_token(
    to: SocketAddr,
    token: &Token,
    no_delay: bool,
) -> Result<(OwnedFd, Stopwatch), Failure> {
    let (socket, stopwatch) = sockets::connect_stream(to, no_delay)?;
    let shown = net::send(&socket, token, SendFlags::NOSIGNAL);
    let shown = shown.map_err(|e| sockets::stream_failure("showing the token", e))?;
    prove_count("bytes of the token sent", shown as u64, TOKEN_BYTES as u64)?;
    let mut answer = [0; TOKEN_BYTES];
    let came = net::recv(&socket, &mut answer, RecvFlags::WAITALL);
    let (came, _) = came.map_err(|e| sockets::stream_failure("the answer to the token", e))?;
    if came != TOKEN_BYTES || answer != shown_back(token) {
        return Err(broken_failure("the peer", "it did not take the token"));
    }
    Ok((socket, stopwatch))
}

fn blocking(connection: &OwnedFd) -> Result<(), Errno> {
    let flags = rustix::fs::fcntl_getfl(connection)?;
    rustix::fs::fcntl_setfl(connection, flags.difference(rustix::fs::OFlags::NONBLOCK))
}

/// A connection that has not shown a whole token.
struct Pending {
    connection: OwnedFd,
    shown: Token,
    filled: usize,
}

enum Seen {
    Token,
    Part,
    Other,
}

impl Pending {
    /// Reads what is there of the token, and not a byte of what follows it.
    fn read_token(&mut self, token: &Token) -> Seen {
        match net::recv(&self.connection, &mut self.shown[self.filled..], RecvFlags::DONTWAIT) {
            Ok((0, _)) => return Seen::Other,
            Ok((more, _)) => self.filled += more,
            Err(Errno::AGAIN | Errno::INTR) => return Seen::Part,
            Err(_) => return Seen::Other,
        }
        match (self.filled == TOKEN_BYTES, is_same_token(&self.shown, token)) {
            (true, true) => Seen::Token,
            (true, false) => Seen::Other,
            (false, _) => Seen::Part,
        }
    }
}
