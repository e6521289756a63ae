//! Ports that a test gives to a server.

use std::io;
use std::net::{IpAddr, SocketAddr};
use std::os::fd::OwnedFd;

use rustix::net::{self, AddressFamily, SocketFlags, SocketType, sockopt};

/// A port that nobody else gets as long as this is there. It is bound and not listened on: a connection is refused, until a server listens
/// that takes a port again (`SO_REUSEADDR`), as sshd, netserver and iperf3 do.
#[derive(Debug)]
pub struct ReservedPort {
    pub address: SocketAddr,
    _socket: OwnedFd,
}

impl ReservedPort {
    /// Reserves a free port of an address of this machine.
    ///
    /// # Errors
    ///
    /// Errors of the system's calls, such as one for an address that this machine does not have.
    pub fn reserve(ip: IpAddr) -> io::Result<ReservedPort> {
        let family = if ip.is_ipv4() { AddressFamily::INET } else { AddressFamily::INET6 };
        let socket = net::socket_with(family, SocketType::STREAM, SocketFlags::CLOEXEC, None)?;
        // The kernel gives such a port to nobody who asks for any, and to those alone who name it.
        sockopt::set_socket_reuseaddr(&socket, true)?;
        net::bind(&socket, &SocketAddr::new(ip, 0))?;
        let address = SocketAddr::try_from(net::getsockname(&socket)?)?;
        Ok(ReservedPort { address, _socket: socket })
    }
}
