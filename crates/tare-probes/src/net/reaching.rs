//! Connecting to a peer on another machine: how it fails, each failure with its remedy.

use std::io::{self, ErrorKind};
use std::net::{SocketAddr, TcpStream, ToSocketAddrs};
use std::time::Duration;

use tare_data::failure::{Failure, FailureKind};

use crate::harness::trial::broken_failure;

/// A connection that is not established by then is dropped on the path: one lost packet is sent again after 1 s and 3 s.
const PATIENCE: Duration = Duration::from_secs(5);
/// Limit on the addresses of a name that are tried.
const MOST_ADDRESSES: usize = 4;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Listener {
    /// `tare serve`: for data on the next port.
    Tare,
    /// netserver: for data on any port.
    Netserver,
}

impl Listener {
    fn start(self, far: SocketAddr) -> String {
        match self {
            Listener::Tare => format!("tare serve --listen {far}"),
            Listener::Netserver => format!("netserver -p {}", far.port()),
        }
    }

    /// Formats the command that opens the port.
    fn admit(self, far: SocketAddr) -> String {
        let port = far.port();
        let ports = match self {
            Listener::Tare => {
                format!("meta l4proto {{ tcp, udp }} th dport {port}-{}", port.saturating_add(1))
            }
            Listener::Netserver => format!("tcp dport {port}"),
        };
        format!("nft add rule inet filter input {ports} accept")
    }
}

/// Connects to `HOST:PORT`; a failure names its kind and its remedy.
pub fn connect_to_listener(address: &str, listener: Listener) -> Result<(TcpStream, SocketAddr), Failure> {
    let addresses = address.to_socket_addrs().map_err(|e| match e.kind() {
        ErrorKind::InvalidInput => broken_failure(&format!("the address {address}"), "it is not HOST:PORT"),
        _ => broken_failure(
            "name not found",
            format!("{address}: {e}; check its spelling, or give the peer's address in numbers"),
        ),
    })?;
    let mut last = broken_failure("name not found", format!("{address} has no address"));
    for far in addresses.take(MOST_ADDRESSES) {
        match TcpStream::connect_timeout(&far, PATIENCE) {
            Ok(stream) => return Ok((stream, far)),
            Err(e) => last = not_reached(far, listener, &e),
        }
    }
    Err(last)
}

fn not_reached(far: SocketAddr, listener: Listener, cause: &io::Error) -> Failure {
    let (kind, reason) = match (cause.kind(), cause.raw_os_error()) {
        (ErrorKind::ConnectionRefused, _) => (
            FailureKind::Broken,
            format!("refused: nothing listens on {far}; start a peer there: {}", listener.start(far)),
        ),
        (ErrorKind::TimedOut | ErrorKind::WouldBlock, _) | (_, Some(libc::EINPROGRESS)) => (
            FailureKind::Broken,
            format!(
                "filtered: no answer from {far} in {} s; a firewall drops it, or the machine is off. \
                 On the peer's machine: {}",
                PATIENCE.as_secs(),
                listener.admit(far)
            ),
        ),
        (ErrorKind::HostUnreachable | ErrorKind::NetworkUnreachable, _)
        | (_, Some(libc::EHOSTUNREACH | libc::ENETUNREACH | libc::EADDRNOTAVAIL)) => (
            FailureKind::NotSupported,
            format!("no route to {far}: {cause}; 'ip route get {}' shows why", far.ip()),
        ),
        (ErrorKind::PermissionDenied, _) => {
            (FailureKind::NotPermitted, format!("not permitted to connect to {far}: {cause}"))
        }
        _ => (FailureKind::Broken, format!("connecting to {far}: {cause}")),
    };
    Failure::new(kind, reason)
}

#[cfg(test)]
mod tests {
    use std::net::{IpAddr, Ipv4Addr};

    use super::*;
    use crate::net::flow::Transport;
    use crate::net::sockets;

    #[test]
    fn where_nobody_listens_the_command_that_starts_it_is_named() {
        let here = IpAddr::from(Ipv4Addr::LOCALHOST);
        // It is bound, so that nobody else listens there.
        let socket = sockets::open_socket(Transport::Tcp, here).unwrap();
        rustix::net::bind(&socket, &SocketAddr::new(here, 0)).unwrap();
        let free = SocketAddr::try_from(rustix::net::getsockname(&socket).unwrap()).unwrap();
        for (listener, command) in [
            (Listener::Tare, format!("tare serve --listen {free}")),
            (Listener::Netserver, format!("netserver -p {}", free.port())),
        ] {
            let failure = connect_to_listener(&free.to_string(), listener).unwrap_err();
            assert!(failure.reason.contains("refused") && failure.reason.ends_with(&command), "{failure}");
        }
    }
}
