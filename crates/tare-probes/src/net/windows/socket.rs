//! A TCP socket that is not connected yet, which the standard library does not have: connecting is timed by itself.

#![allow(unsafe_code, reason = "the system is called by its C interface")]

use std::io;
use std::net::{Ipv4Addr, UdpSocket};
use std::os::windows::io::{AsRawSocket, FromRawSocket, OwnedSocket};
use std::ptr;
use std::sync::Once;

use windows_sys::Win32::Networking::WinSock::{
    AF_INET, INVALID_SOCKET, IPPROTO_TCP, SOCK_STREAM, SOCKADDR, SOCKADDR_IN, WSA_FLAG_OVERLAPPED,
    WSASocketW, connect,
};

pub(super) struct Unconnected(OwnedSocket);

impl Unconnected {
    pub(super) fn new() -> io::Result<Unconnected> {
        /// The standard library starts Winsock with its first socket.
        static STARTED: Once = Once::new();
        STARTED.call_once(|| drop(UdpSocket::bind((Ipv4Addr::LOCALHOST, 0))));
        let (family, protocol) = (i32::from(AF_INET), IPPROTO_TCP);
        // SAFETY: no memory is passed.
        let socket =
            unsafe { WSASocketW(family, SOCK_STREAM, protocol, ptr::null(), 0, WSA_FLAG_OVERLAPPED) };
        if socket == INVALID_SOCKET {
            return Err(io::Error::last_os_error());
        }
        // SAFETY: it was just made, and is nobody else's.
        Ok(Unconnected(unsafe { OwnedSocket::from_raw_socket(socket as u64) }))
    }

    /// Connects the socket to a port of loopback.
    pub(super) fn connect(self, port: u16) -> io::Result<OwnedSocket> {
        // SAFETY: an all-zero address is valid.
        let mut address: SOCKADDR_IN = unsafe { std::mem::zeroed() };
        address.sin_family = AF_INET;
        address.sin_port = port.to_be();
        address.sin_addr.S_un.S_addr = u32::from_ne_bytes(Ipv4Addr::LOCALHOST.octets());
        let at: *const SOCKADDR = ptr::from_ref(&address).cast();
        // SAFETY: the address lives through the call and has the length that is passed.
        match unsafe { connect(self.0.as_raw_socket() as usize, at, size_of::<SOCKADDR_IN>() as i32) } {
            0 => Ok(self.0),
            _ => Err(io::Error::last_os_error()),
        }
    }
}
