//! The far end of a flow: its sockets and memory made beforehand, then served by a process of its own.

use std::net::{IpAddr, SocketAddr};

use rustix::fd::AsFd;
use rustix::io::Errno;
use rustix::net::sockopt;
use tare_data::failure::{Failure, FailureKind};

use super::connections::{self, Welcome};
use super::flow::{Direction, Flow, RESPONSE, Rounds, Transfer, Transport};
use super::meeting::{Door, Meeting};
use super::token::{TOKEN_BYTES, Token};
use super::{datagrams, hops, sockets, streams, transfer};
use crate::harness::buffer::Buffer;

/// Connections that the kernel holds for a far end.
const BACKLOG: i32 = 128;

/// Exit code of a far end to which nobody connected.
const NOT_CONNECTED: i32 = 2;
/// Exit code of a far end whose sockets failed.
const SOCKETS_FAILED: i32 = 3;

/// A far end that is ready to be served.
pub struct Serving {
    flow: Flow,
    meeting: Meeting,
    /// Address at which it waits, or to which it goes.
    address: SocketAddr,
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
        let (socket, address) = sockets::bind_socket(flow.transport(), address, BACKLOG)?;
        Serving::new(flow, Meeting::Waits(Door { socket, token, from }), address)
    }

    /// Goes to an address where the near end waits for whoever bears the token.
    pub(crate) fn go_to(flow: &Flow, to: SocketAddr, token: Token) -> Result<Serving, Failure> {
        if matches!(flow, Flow::Connections { .. }) {
            let reason = "the far end makes no connections to a published port: take round trips or a stream";
            return Err(Failure::new(FailureKind::NotSupported, reason));
        }
        Serving::new(flow, Meeting::Goes { to, token }, to)
    }

    fn new(flow: &Flow, meeting: Meeting, address: SocketAddr) -> Result<Serving, Failure> {
        let flow = flow.clone().into_checked()?;
        let (incoming, outgoing) = match &flow {
            Flow::Rounds(Rounds { transport: Transport::Tcp, request, response, .. })
            | Flow::Connections { request, response } => (*request as usize, *response as usize),
            // A byte more than a request, so that a longer datagram is distinguished from one of the right length.
            Flow::Rounds(Rounds { transport: Transport::Udp, request, response, .. }) => {
                ((*request as usize).max(TOKEN_BYTES) + 1, *response as usize)
            }
            Flow::Transfer(transfer) => (transfer.buffer_bytes(Direction::Receive), 1),
            Flow::Hops => (1, 1),
        };
        let incoming = Buffer::new_zeroed(incoming)?;
        let mut outgoing = Buffer::new_zeroed(outgoing)?;
        outgoing.fill(RESPONSE);
        Ok(Serving { flow, meeting, address, incoming, outgoing })
    }

    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Serves the flow to its end, and returns the process's exit code, 0 where the near end closed in order.
    pub fn serve_flow(self) -> i32 {
        let Serving { flow, meeting, mut incoming, mut outgoing, .. } = self;
        let token = *meeting.token();
        match flow {
            Flow::Rounds(Rounds { transport: Transport::Tcp, no_delay, .. }) => {
                let Ok(connection) = meeting.open_stream() else { return NOT_CONNECTED };
                if no_delay && sockopt::set_tcp_nodelay(&connection, true).is_err() {
                    return SOCKETS_FAILED;
                }
                streams::answer_rounds(connection.as_fd(), &mut incoming, &outgoing)
            }
            Flow::Rounds(Rounds { transport: Transport::Udp, request, .. }) => match meeting.open_line() {
                Ok(line) => {
                    datagrams::answer_datagrams(&line, request as usize, &mut incoming, &mut outgoing, &token)
                }
                Err(Errno::TIMEDOUT) => NOT_CONNECTED,
                Err(_) => SOCKETS_FAILED,
            },
            Flow::Hops => match meeting.open_line() {
                Ok(line) if line.connect().is_ok() => hops::answer_hops(line.socket(), &token),
                Ok(_) => SOCKETS_FAILED,
                Err(_) => NOT_CONNECTED,
            },
            Flow::Connections { .. } => {
                let Meeting::Waits(Door { socket, token, from }) = meeting else { return SOCKETS_FAILED };
                let welcome = Welcome { token: &token, from };
                connections::answer_connections(&socket, &mut incoming, &outgoing, &welcome)
            }
            Flow::Transfer(Transfer { direction, congestion, .. }) => {
                let Ok(connection) = meeting.open_stream() else { return NOT_CONNECTED };
                if let Some(name) = congestion
                    && sockets::set_congestion_control(&connection, &name).is_err()
                {
                    return SOCKETS_FAILED;
                }
                transfer::answer_batches(direction, connection.as_fd(), &mut incoming)
            }
        }
    }
}
