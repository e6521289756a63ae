//! A connection per request: connect, a request there and a response back, and the far end closes first.

use std::net::{IpAddr, SocketAddr};

use rustix::fd::{AsFd, BorrowedFd, OwnedFd};
use rustix::io::Errno;
use rustix::net::{self, SocketFlags, SocketType};

use super::flow::REQUEST;
use super::sockets;
use super::streams::receive_whole;
use super::token::{TOKEN_BYTES, Token, is_same_token};
use crate::harness::stopwatch::{Laps, now_ns};
use crate::harness::syscall::{recv, send};

pub struct Connections<'a> {
    pub address: SocketAddr,
    pub request: &'a [u8],
    pub response: &'a mut [u8],
    /// First byte of a valid response.
    pub expected: u8,
}

/// Makes `operations` connections, one after another: the whole of each is timed, and its connect(2) apart.
/// Gives how many responses were the peer's.
pub fn request_connections(
    operations: u64,
    connections: &mut Connections<'_>,
    whole: &mut Laps,
    connect: &mut Laps,
) -> Result<u64, Errno> {
    let family = sockets::address_family(connections.address.ip());
    let mut right = 0;
    for _ in 0..operations {
        let started_ns = now_ns();
        let socket = net::socket_with(family, SocketType::STREAM, SocketFlags::CLOEXEC, None)?;
        let connecting_ns = now_ns();
        net::connect(&socket, &connections.address)?;
        let connected_ns = now_ns();
        let answered =
            exchange(socket.as_fd(), connections.request, connections.response, connections.expected)?;
        drop(socket);
        whole.add(started_ns, now_ns());
        connect.add(connecting_ns, connected_ns);
        right += u64::from(answered);
    }
    Ok(right)
}

crate::timed! {
    /// Sends a request, reads its response and waits for the far end to close; tells whether the response was
    /// the peer's.
    fn exchange(
        connection: BorrowedFd<'_>,
        outgoing: &[u8],
        incoming: &mut [u8],
        expected: u8,
    ) -> Result<bool, Errno> {
        if send(connection, outgoing)? != outgoing.len() {
            return Err(Errno::MSGSIZE);
        }
        receive_whole(connection, incoming)?;
        let right = incoming[0] == expected;
        incoming[0] = 0;
        if recv(connection, &mut [0])? != 0 {
            return Err(Errno::PROTO);
        }
        Ok(right)
    }
}

pub(crate) struct Welcome<'a> {
    /// Requests begin with it where they have room.
    pub token: &'a Token,
    /// The one address that connections are taken from, where it is known.
    pub from: Option<IpAddr>,
}

/// Answers a request on each connection and closes it, for ever: the process that forked this one ends it.
pub(crate) fn answer_connections(
    listener: &OwnedFd,
    incoming: &mut [u8],
    outgoing: &[u8],
    welcome: &Welcome<'_>,
) -> i32 {
    loop {
        let (connection, from) = match net::acceptfrom_with(listener, SocketFlags::CLOEXEC) {
            Ok(accepted) => accepted,
            Err(Errno::INTR | Errno::CONNABORTED) => continue,
            Err(_) => return 5,
        };
        let ip = from.and_then(|from| SocketAddr::try_from(from).ok()).map(|address| address.ip());
        if welcome.from.is_some() && ip != welcome.from {
            continue;
        }
        // Only who is welcome is waited for, and not for ever.
        if welcome.from.is_some() && sockets::set_deadline(&connection, sockets::SILENCE).is_err() {
            continue;
        }
        // A connection that fails is the near end's to notice.
        let _ = answer(connection.as_fd(), incoming, outgoing, welcome.token);
    }
}

crate::timed! {
    /// Reads a request and answers it; a request without the token gets no byte.
    fn answer(
        connection: BorrowedFd<'_>,
        incoming: &mut [u8],
        outgoing: &[u8],
        token: &Token,
    ) -> Result<(), Errno> {
        receive_whole(connection, incoming)?;
        let right = match incoming.first_chunk::<TOKEN_BYTES>() {
            Some(shown) => is_same_token(shown, token),
            None => incoming[0] == REQUEST,
        };
        if right && send(connection, outgoing)? != outgoing.len() {
            return Err(Errno::MSGSIZE);
        }
        Ok(())
    }
}
