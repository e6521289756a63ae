//! Namespaces: their numbers by /proc or by a pidfd, the network's cookie, and the map of users.

#![allow(unsafe_code, reason = "calls that no library wraps")]

use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};
use tare_data::facts::keys::{NAMESPACE_NET_COOKIE, PROCESS_USERS};

use rustix::fs::CWD;
use rustix::net::{AddressFamily, SocketType, socket};

use super::bounded::read_line;
use super::steps::Noting;

/// Kinds, as named in /proc/self/ns, with the number of the request by which a pidfd opens them (Linux 6.11, pidfd.h).
const KINDS: [(&str, u32); 8] =
    [("cgroup", 1), ("ipc", 2), ("mnt", 3), ("net", 4), ("pid", 5), ("time", 7), ("user", 9), ("uts", 10)];
/// Letter of these requests.
const PIDFS: u32 = 0xff;
/// Option of a socket that gives the number of its network namespace (Linux 5.14, socket.h).
const SO_NETNS_COOKIE: libc::c_int = 71;

/// Notes the namespaces' numbers by /proc, and the network's cookie.
pub fn note_all(noting: &mut Noting<'_>) {
    note_numbers(noting);
    if let Some(cookie) = read_network_cookie() {
        noting.add_fact(NAMESPACE_NET_COOKIE, cookie.to_string());
    }
    if let Some(map) = read_line("/proc/self/uid_map") {
        noting.add_fact(PROCESS_USERS, map.split_ascii_whitespace().collect::<Vec<_>>().join(" "));
    }
}

/// Notes the namespaces' numbers by /proc.
pub fn note_numbers(noting: &mut Noting<'_>) {
    for (kind, _) in KINDS {
        if let Ok(link) = rustix::fs::readlinkat(CWD, format!("/proc/self/ns/{kind}"), Vec::new()) {
            // `mnt:[4026531841]`
            let number = link.to_string_lossy().split(['[', ']']).nth(1).map(str::to_owned);
            noting.add_fact(&format!("namespace.{kind}"), number.unwrap_or_default());
        }
    }
}

/// Notes the namespaces' numbers without /proc. A filter may kill the process that asks.
pub fn note_by_pidfd(noting: &mut Noting<'_>) {
    let own = rustix::process::getpid();
    let Ok(handle) = rustix::process::pidfd_open(own, rustix::process::PidfdFlags::empty()) else { return };
    for (kind, request) in KINDS {
        // SAFETY: the request takes no memory.
        let opened = unsafe { libc::ioctl(handle.as_raw_fd(), (PIDFS << 8 | request) as _, 0) };
        if opened >= 0 {
            // SAFETY: the kernel gave a fresh descriptor.
            let namespace = unsafe { OwnedFd::from_raw_fd(opened) };
            if let Ok(about) = rustix::fs::fstat(&namespace) {
                noting.add_fact(&format!("namespace.{kind}"), about.st_ino.to_string());
            }
        }
    }
}

fn read_network_cookie() -> Option<u64> {
    let socket = [AddressFamily::INET, AddressFamily::UNIX]
        .into_iter()
        .find_map(|family| socket(family, SocketType::STREAM, None).ok())?;
    let (mut cookie, mut length) = (0u64, size_of::<u64>() as libc::socklen_t);
    // SAFETY: the number and its length live through the call, which writes at most 8 bytes.
    let asked = unsafe {
        libc::getsockopt(
            socket.as_raw_fd(),
            libc::SOL_SOCKET,
            SO_NETNS_COOKIE,
            (&raw mut cookie).cast(),
            &raw mut length,
        )
    };
    (asked == 0).then_some(cookie)
}
