//! A UDP socket and the one address that it talks to, without being connected to it.
//!
//! So are netperf's and sockperf's sockets: for each datagram the kernel is given an address, looks up the route and reports
//! where an answer came from. A connected socket saves that, a seventh of a round trip over loopback, but it is not
//! what these tools measure. What comes from elsewhere is passed over here, as the kernel does for a connected one.

use std::net::SocketAddr;

use rustix::fd::AsFd;
use rustix::io::Errno;
use rustix::net;

use crate::harness::syscall::{recv_from, send_to};

/// Bytes of the longer of the two kinds of addresses, `struct sockaddr_in6`.
pub const ADDRESS_BYTES: usize = 28;
/// Bytes of `struct sockaddr_in`.
const IPV4_BYTES: usize = 16;

/// A socket and the address at its other end. `S` owns the socket or borrows it.
pub struct UdpPeer<S> {
    socket: S,
    far: SocketAddr,
    /// The address as the kernel reads it.
    raw: [u8; ADDRESS_BYTES],
}

impl<S: AsFd> UdpPeer<S> {
    pub fn new(socket: S, far: SocketAddr) -> UdpPeer<S> {
        UdpPeer { socket, far, raw: raw(far) }
    }

    #[inline(always)]
    pub fn send(&self, bytes: &[u8]) -> Result<usize, Errno> {
        let length = if self.far.is_ipv4() { IPV4_BYTES } else { ADDRESS_BYTES };
        send_to(self.socket.as_fd(), bytes, &self.raw[..length])
    }

    /// Takes one datagram: its length, or none where it does not come from the far end.
    #[inline(always)]
    pub fn receive(&self, into: &mut [u8]) -> Result<Option<usize>, Errno> {
        let mut from = [0; ADDRESS_BYTES];
        let length = recv_from(self.socket.as_fd(), into, &mut from)?;
        Ok(self.is_far(&from).then_some(length))
    }

    /// Compares family, port and address, and nothing else that an answer's address holds.
    #[inline(always)]
    fn is_far(&self, from: &[u8; ADDRESS_BYTES]) -> bool {
        match self.far {
            SocketAddr::V4(_) => self.raw[..8] == from[..8],
            SocketAddr::V6(_) => self.raw[..4] == from[..4] && self.raw[8..24] == from[8..24],
        }
    }

    pub fn socket(&self) -> &S {
        &self.socket
    }

    /// Connects the socket after all, for callers that do more with it than pass datagrams.
    pub fn connect(&self) -> Result<(), Errno> {
        net::connect(&self.socket, &self.far)
    }

    pub fn into_socket(self) -> S {
        self.socket
    }
}

/// Encodes the family in the machine's byte order, port and address in the network's (ip(7), ipv6(7)).
fn raw(address: SocketAddr) -> [u8; ADDRESS_BYTES] {
    let mut raw = [0; ADDRESS_BYTES];
    raw[2..4].copy_from_slice(&address.port().to_be_bytes());
    let family = match address {
        SocketAddr::V4(address) => {
            raw[4..8].copy_from_slice(&address.ip().octets());
            libc::AF_INET
        }
        SocketAddr::V6(address) => {
            raw[4..8].copy_from_slice(&address.flowinfo().to_be_bytes());
            raw[8..24].copy_from_slice(&address.ip().octets());
            raw[24..28].copy_from_slice(&address.scope_id().to_ne_bytes());
            libc::AF_INET6
        }
    };
    raw[..2].copy_from_slice(&(family as u16).to_ne_bytes());
    raw
}

#[cfg(test)]
mod tests {
    use std::net::UdpSocket;

    use rustix::fd::OwnedFd;

    use super::*;

    #[test]
    fn only_the_far_end_is_heard() {
        for here in ["127.0.0.1:0", "[::1]:0"] {
            let bound = || UdpSocket::bind(here).unwrap();
            let (near, far, stranger) = (bound(), bound(), bound());
            let to = near.local_addr().unwrap();
            let line = UdpPeer::new(OwnedFd::from(near), far.local_addr().unwrap());
            let mut bytes = [0; 10];
            stranger.send_to(b"stranger", to).unwrap();
            assert_eq!(line.receive(&mut bytes), Ok(None));
            far.send_to(b"far", to).unwrap();
            assert_eq!(line.receive(&mut bytes), Ok(Some(3)));
            assert_eq!(line.send(b"answer"), Ok(6));
            assert_eq!(far.recv_from(&mut bytes).unwrap(), (6, to));
        }
    }
}
