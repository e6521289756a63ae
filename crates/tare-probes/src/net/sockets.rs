//! Sockets of the network probes: made, bound and connected, with deadlines on every wait.

#![allow(unsafe_code, reason = "socket options that rustix does not have")]

use std::net::{IpAddr, SocketAddr};
use std::time::Duration;

use rustix::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};
use rustix::io::Errno;
use rustix::net::{self, AddressFamily, SocketFlags, SocketType, sockopt};
use tare_data::failure::{Failure, FailureKind};

use super::flow::Transport;
use crate::harness::stopwatch::Stopwatch;
use crate::harness::trial::broken_failure;

/// A stream whose far end sends nothing for this long has lost it.
pub(crate) const SILENCE: Duration = Duration::from_secs(10);

pub(crate) fn address_family(address: IpAddr) -> AddressFamily {
    if address.is_ipv4() { AddressFamily::INET } else { AddressFamily::INET6 }
}

/// Opens a socket of an address's family.
pub(crate) fn open_socket(transport: Transport, address: IpAddr) -> Result<OwnedFd, Failure> {
    let family = address_family(address);
    let (kind, name) = match transport {
        Transport::Tcp => (SocketType::STREAM, "a TCP socket"),
        Transport::Udp => (SocketType::DGRAM, "a UDP socket"),
    };
    net::socket_with(family, kind, SocketFlags::CLOEXEC, None).map_err(|e| {
        let kind = match e {
            Errno::AFNOSUPPORT | Errno::PROTONOSUPPORT => FailureKind::NotSupported,
            Errno::PERM | Errno::ACCESS => FailureKind::NotPermitted,
            _ => FailureKind::Broken,
        };
        Failure::new(kind, format!("{name}: {e}"))
    })
}

/// Binds a socket, listens where it is a stream's, and returns it with its address.
pub(crate) fn bind_socket(
    transport: Transport,
    address: SocketAddr,
    backlog: i32,
) -> Result<(OwnedFd, SocketAddr), Failure> {
    let failed = |e: Errno| broken_failure(&format!("listening on {address}"), e);
    let socket = open_socket(transport, address.ip())?;
    if transport == Transport::Tcp {
        // A fixed port is bound again while connections of an earlier flow still fade away.
        sockopt::set_socket_reuseaddr(&socket, true).map_err(failed)?;
    }
    if address.is_ipv6() {
        sockopt::set_ipv6_v6only(&socket, true).map_err(failed)?;
    }
    net::bind(&socket, &address).map_err(failed)?;
    if transport == Transport::Tcp {
        net::listen(&socket, backlog).map_err(failed)?;
    }
    let name = net::getsockname(&socket).map_err(failed)?;
    let name = SocketAddr::try_from(name).map_err(|e| broken_failure("the address of a socket", e))?;
    Ok((socket, name))
}

/// Connects a stream, timed; the socket is made before the clock runs.
pub(crate) fn connect_stream(address: SocketAddr, no_delay: bool) -> Result<(OwnedFd, Stopwatch), Failure> {
    let socket = open_socket(Transport::Tcp, address.ip())?;
    if no_delay {
        sockopt::set_tcp_nodelay(&socket, true).map_err(|e| broken_failure("TCP_NODELAY", e))?;
    }
    set_deadline(&socket, SILENCE)?;
    let mut stopwatch = Stopwatch::start_new();
    let connected = net::connect(&socket, &address);
    stopwatch.stop();
    connected.map_err(|e| broken_failure(&format!("connecting to {address}"), e))?;
    Ok((socket, stopwatch))
}

/// Bounds every wait of a blocking socket, including the one to connect.
pub(crate) fn set_deadline(socket: &impl AsFd, longest: Duration) -> Result<(), Failure> {
    wait_at_most(socket, Wait::Receive, Some(longest))
        .and_then(|()| wait_at_most(socket, Wait::Send, Some(longest)))
        .map_err(|e| broken_failure("a deadline on a socket", e))
}

/// Removes the deadline from every wait: a wait with one sets a timer in the kernel, which netperf's round trips do not.
/// If the far end then falls silent, the trial's own deadline ends it.
pub(crate) fn without_deadline(socket: &impl AsFd) -> Result<(), Failure> {
    wait_at_most(socket, Wait::Receive, None)
        .and_then(|()| wait_at_most(socket, Wait::Send, None))
        .map_err(|e| broken_failure("a deadline on a socket", e))
}

/// Direction in which a blocking socket may be waited for.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Wait {
    Receive,
    Send,
}

/// Bounds waits of one kind; None waits for ever (socket(7), SO_RCVTIMEO).
///
/// By the options' old numbers: gVisor takes the new ones for a UDP socket, which rustix would use, and ignores them.
pub(crate) fn wait_at_most(socket: &impl AsFd, wait: Wait, longest: Option<Duration>) -> Result<(), Errno> {
    let option = match wait {
        Wait::Receive => libc::SO_RCVTIMEO,
        Wait::Send => libc::SO_SNDTIMEO,
    };
    let longest = longest.unwrap_or_default();
    let time = libc::timeval {
        tv_sec: longest.as_secs() as libc::time_t,
        tv_usec: longest.subsec_micros() as libc::suseconds_t,
    };
    set_option(socket, option, &time)
}

/// Lets a waiting receiver sleep until this many bytes are there (socket(7), SO_RCVLOWAT), where the system can.
pub(crate) fn wake_at(socket: &impl AsFd, bytes: usize) {
    let _ = set_option(socket, libc::SO_RCVLOWAT, &i32::try_from(bytes).unwrap_or(i32::MAX));
}

/// Sets an option that a socket of any kind has; `T` is what the kernel reads for it.
pub(crate) fn set_option<T: Copy>(socket: &impl AsFd, option: i32, value: &T) -> Result<(), Errno> {
    let (value, length) = (std::ptr::from_ref(value).cast(), size_of::<T>() as libc::socklen_t);
    let socket = socket.as_fd().as_raw_fd();
    // SAFETY: the kernel reads the value, which lives through the call and has the length that is passed.
    match unsafe { libc::setsockopt(socket, libc::SOL_SOCKET, option, value, length) } {
        0 => Ok(()),
        _ => Err(last_error()),
    }
}

/// Reads the error of this thread's last call.
pub(crate) fn last_error() -> Errno {
    Errno::from_io_error(&std::io::Error::last_os_error()).unwrap_or(Errno::IO)
}

/// Chooses the congestion control of a connection by its name, e.g. `cubic`.
pub(crate) fn set_congestion_control(socket: &impl AsFd, name: &str) -> Result<(), Failure> {
    sockopt::set_tcp_congestion(socket, name).map_err(|e| {
        let reason =
            format!("congestion control {name}: {e}; sysctl net.ipv4.tcp_available_congestion_control");
        Failure::new(FailureKind::NotSupported, reason)
    })
}

/// Counts the segments that this end of a connection has sent again.
pub(crate) fn sent_again(socket: BorrowedFd<'_>) -> Result<u64, Errno> {
    // SAFETY: an all-zero tcp_info is valid.
    let mut info: libc::tcp_info = unsafe { std::mem::zeroed() };
    let mut length = size_of::<libc::tcp_info>() as libc::socklen_t;
    // SAFETY: the kernel writes at most `length` bytes into the struct.
    let asked = unsafe {
        libc::getsockopt(
            socket.as_raw_fd(),
            libc::IPPROTO_TCP,
            libc::TCP_INFO,
            (&raw mut info).cast(),
            &raw mut length,
        )
    };
    match asked {
        0 => Ok(u64::from(info.tcpi_total_retrans)),
        _ => Err(last_error()),
    }
}

/// Describes the end of a stream.
pub(crate) fn stream_failure(what: &str, cause: Errno) -> Failure {
    match cause {
        Errno::AGAIN => Failure::new(
            FailureKind::Deadline,
            format!("{what}: the peer sent nothing for {} s", SILENCE.as_secs()),
        ),
        Errno::PIPE | Errno::CONNRESET => broken_failure(what, "the peer closed the connection"),
        Errno::CONNREFUSED => broken_failure(what, "the peer is gone"),
        other => broken_failure(what, other),
    }
}
