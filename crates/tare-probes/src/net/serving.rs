//! The far end of a flow: its sockets and memory made beforehand, then served by a process of its own.

use std::net::{IpAddr, SocketAddr};
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags};
use rustix::fd::{AsFd, OwnedFd};
use rustix::io::Errno;
use rustix::net::{self, RecvFlags, SendFlags, SocketFlags, sockopt};
use tare_data::failure::Failure;

use super::connections::{self, Welcome};
use super::flow::{Flow, RESPONSE, Rounds, Transfer, Transport};
use super::token::{TOKEN_BYTES, Token, is_same_token, shown_back};
use super::{datagrams, hops, sockets, streams, transfer};
use crate::harness::buffer::Buffer;
use crate::harness::readiness::wait_ready;

/// The near end has to show its token within this.
const PATIENCE: Duration = Duration::from_secs(10);
/// Connections that may be about to show a token at a time; the oldest makes room.
const MOST_PENDING: usize = 16;
/// Connections that the kernel holds for a far end.
const BACKLOG: i32 = 128;
/// Longest single wait for connections.
const LOOK: Duration = Duration::from_millis(200);

/// Exit code of a far end to which nobody connected.
const NOT_CONNECTED: i32 = 2;
/// Exit code of a far end whose sockets failed.
const SOCKETS_FAILED: i32 = 3;

/// A far end that is ready to be served.
pub struct Serving {
    flow: Flow,
    socket: OwnedFd,
    address: SocketAddr,
    token: Token,
    from: Option<IpAddr>,
    incoming: Buffer,
    outgoing: Buffer,
}

impl Serving {
    /// Listens at an address for whoever bears the token and, where `from` is given, comes from there.
    pub fn listen_at(
        flow: &Flow,
        address: SocketAddr,
        token: Token,
        from: Option<IpAddr>,
    ) -> Result<Serving, Failure> {
        let flow = flow.clone().into_checked()?;
        let (transport, incoming, outgoing) = match &flow {
            Flow::Rounds(Rounds { transport: Transport::Tcp, request, response, .. }) => {
                (Transport::Tcp, *request as usize, *response as usize)
            }
            // One byte more than a request: a longer datagram is distinguished from one of the right length.
            Flow::Rounds(Rounds { transport: Transport::Udp, request, response, .. }) => {
                (Transport::Udp, (*request as usize).max(TOKEN_BYTES) + 1, *response as usize)
            }
            Flow::Connections { request, response } => {
                (Transport::Tcp, *request as usize, *response as usize)
            }
            Flow::Transfer(Transfer { size, .. }) => (Transport::Tcp, *size as usize, 1),
            Flow::Hops => (Transport::Udp, 1, 1),
        };
        let (socket, address) = sockets::bind_socket(transport, address, BACKLOG)?;
        let incoming = Buffer::new_zeroed(incoming)?;
        let mut outgoing = Buffer::new_zeroed(outgoing)?;
        outgoing.fill(RESPONSE);
        Ok(Serving { flow, socket, address, token, from, incoming, outgoing })
    }

    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Serves the flow to its end; gives the process's exit code, 0 where the near end closed in order.
    pub fn serve_flow(mut self) -> i32 {
        match &self.flow {
            Flow::Rounds(Rounds { transport: Transport::Tcp, no_delay, .. }) => {
                let Ok(connection) = self.admit() else { return NOT_CONNECTED };
                if *no_delay && sockopt::set_tcp_nodelay(&connection, true).is_err() {
                    return SOCKETS_FAILED;
                }
                streams::answer_rounds(connection.as_fd(), &mut self.incoming, &self.outgoing)
            }
            Flow::Rounds(Rounds { transport: Transport::Udp, request, .. }) => {
                match datagrams::wait_for_greeting(&self.socket, &self.token, self.from, PATIENCE) {
                    Ok(line) => datagrams::answer_datagrams(
                        &line,
                        *request as usize,
                        &mut self.incoming,
                        &mut self.outgoing,
                        &self.token,
                    ),
                    Err(Errno::TIMEDOUT) => NOT_CONNECTED,
                    Err(_) => SOCKETS_FAILED,
                }
            }
            Flow::Hops => {
                match datagrams::wait_for_greeting(&self.socket, &self.token, self.from, PATIENCE) {
                    Ok(line) if line.connect().is_ok() => hops::answer_hops(&self.socket, &self.token),
                    Ok(_) => SOCKETS_FAILED,
                    Err(_) => NOT_CONNECTED,
                }
            }
            Flow::Connections { .. } => {
                let welcome = Welcome { token: &self.token, from: self.from };
                connections::answer_connections(&self.socket, &mut self.incoming, &self.outgoing, &welcome)
            }
            Flow::Transfer(Transfer { direction, congestion, .. }) => {
                let Ok(connection) = self.admit() else { return NOT_CONNECTED };
                if let Some(name) = congestion
                    && sockets::set_congestion_control(&connection, name).is_err()
                {
                    return SOCKETS_FAILED;
                }
                transfer::answer_batches(*direction, connection.as_fd(), &mut self.incoming)
            }
        }
    }

    /// Checks that a connection comes from the known address of the near end.
    fn is_welcome(&self, connection: &OwnedFd) -> bool {
        let address = || SocketAddr::try_from(net::getpeername(connection).ok()??).ok();
        self.from.is_none_or(|from| address().is_some_and(|address| address.ip() == from))
    }

    /// Accepts the first connection that shows the token. All others get no byte, and are closed.
    fn admit(&self) -> Result<OwnedFd, Errno> {
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
