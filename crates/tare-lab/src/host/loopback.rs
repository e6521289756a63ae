//! The loopback device: a new network namespace, and a new kernel, have it down.

#![allow(unsafe_code, reason = "an ioctl takes a pointer")]

use std::io;
use std::os::fd::AsRawFd;

use rustix::net::{AddressFamily, SocketType, socket};
use tare_probes::facts::network::interface_request;

/// Sets it up. The kernel gives it its addresses by itself.
pub fn bring_up_loopback() -> io::Result<()> {
    let socket = socket(AddressFamily::INET, SocketType::DGRAM, None)?;
    let mut request = interface_request("lo").ok_or(io::ErrorKind::InvalidInput)?;
    request.ifr_ifru.ifru_flags = (libc::IFF_UP | libc::IFF_RUNNING) as libc::c_short;
    // SAFETY: the request is whole and lives through the call.
    match unsafe { libc::ioctl(socket.as_raw_fd(), libc::SIOCSIFFLAGS as _, &request) } {
        0 => Ok(()),
        _ => Err(io::Error::last_os_error()),
    }
}
