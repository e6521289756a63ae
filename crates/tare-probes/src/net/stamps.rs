//! Timestamps of the stack: when a datagram passed the places at which the kernel notes the time.
//!
//! Software stamps, by the realtime clock: on the way out when the datagram is handed to the queue of the device and
//! when the driver takes it, on the way in when the driver hands it over. Linux,
//! Documentation/networking/timestamping.rst; socket(7).

#![allow(unsafe_code, reason = "recvmsg with control messages of the error queue")]

use std::mem::MaybeUninit;

use rustix::fd::{AsRawFd, OwnedFd};
use rustix::io::Errno;
use tare_data::failure::{Failure, FailureKind};

use super::sockets::{last_error, set_option};

/// Stamps that are requested: on both ways out, on the way in, numbered, without the datagram itself.
const WANTED: u32 = libc::SOF_TIMESTAMPING_TX_SCHED
    | libc::SOF_TIMESTAMPING_TX_SOFTWARE
    | libc::SOF_TIMESTAMPING_RX_SOFTWARE
    | libc::SOF_TIMESTAMPING_SOFTWARE
    | libc::SOF_TIMESTAMPING_OPT_ID
    | libc::SOF_TIMESTAMPING_OPT_TSONLY;
/// `ee_origin` of a stamp (linux/errqueue.h).
const ORIGIN_TIMESTAMPING: u8 = 4;
/// `ee_info` of a stamp that the driver gave, and of one that the queue gave.
const BY_DRIVER: u32 = 0;
const BY_QUEUE: u32 = 1;
/// Room for what comes beside a datagram: three times and an error, some 100 bytes.
const CONTROL_WORDS: usize = 64;
/// Limit on the stamps that are read at once: two a datagram.
const MOST_STAMPS: u32 = 16;

/// Asks the stack to stamp what goes through this socket from now on; datagrams are numbered from 0.
pub fn enable_stamps(socket: &OwnedFd) -> Result<(), Failure> {
    set_option(socket, libc::SO_TIMESTAMPING, &WANTED).map_err(|e| {
        Failure::new(FailureKind::NotSupported, format!("hops are not visible: SO_TIMESTAMPING: {e}"))
    })
}

/// Reads the clock of the stamps, in nanoseconds.
pub fn now_ns() -> u64 {
    nanoseconds(&rustix::time::clock_gettime(rustix::time::ClockId::Realtime))
}

fn nanoseconds(time: &rustix::time::Timespec) -> u64 {
    time.tv_sec as u64 * 1_000_000_000 + time.tv_nsec as u64
}

/// Control data that came with a datagram or a stamp.
#[derive(Default)]
struct Ancillary {
    software_ns: Option<u64>,
    /// Sender of the stamp, and its datagram.
    stamped: Option<(u32, u32)>,
}

/// Receives a datagram, with the time at which the driver handed it over.
pub fn receive_stamped(socket: &OwnedFd, into: &mut [u8]) -> Result<(usize, Option<u64>), Errno> {
    let (length, beside) = receive_with(socket, into, 0)?;
    Ok((length, beside.software_ns))
}

/// When a datagram was handed to the queue of the device, and when the driver took it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Sent {
    pub queued_ns: Option<u64>,
    pub device_ns: Option<u64>,
}

/// Adds the stamps of datagram `number` that have arrived to `known`.
pub fn read_sent_stamps(socket: &OwnedFd, number: u32, mut known: Sent) -> Sent {
    for _ in 0..MOST_STAMPS {
        if known.queued_ns.is_some() && known.device_ns.is_some() {
            break;
        }
        let flags = libc::MSG_ERRQUEUE | libc::MSG_DONTWAIT;
        let Ok((_, beside)) = receive_with(socket, &mut [0; 16], flags) else { break };
        match beside.stamped {
            Some((BY_QUEUE, of)) if of == number => known.queued_ns = beside.software_ns,
            Some((BY_DRIVER, of)) if of == number => known.device_ns = beside.software_ns,
            _ => {}
        }
    }
    known
}

fn receive_with(socket: &OwnedFd, into: &mut [u8], flags: i32) -> Result<(usize, Ancillary), Errno> {
    let mut control = [0u64; CONTROL_WORDS];
    let mut parts = libc::iovec { iov_base: into.as_mut_ptr().cast(), iov_len: into.len() };
    // SAFETY: an all-zero msghdr is valid: no name, no parts, no control.
    let mut message: libc::msghdr = unsafe { std::mem::zeroed() };
    message.msg_iov = &raw mut parts;
    message.msg_iovlen = 1;
    message.msg_control = control.as_mut_ptr().cast();
    message.msg_controllen = size_of_val(&control) as _;
    // SAFETY: the kernel writes within `into` and `control`, which live through the call.
    let length = unsafe { libc::recvmsg(socket.as_raw_fd(), &raw mut message, flags) };
    if length < 0 {
        return Err(last_error());
    }
    Ok((length as usize, beside(&message)))
}

fn beside(message: &libc::msghdr) -> Ancillary {
    let mut found = Ancillary::default();
    // SAFETY: the kernel has filled the control buffer, which is aligned and still there; the macros stay within
    // its length.
    let mut header = unsafe { libc::CMSG_FIRSTHDR(message) };
    while !header.is_null() {
        // SAFETY: not null, so it points at a whole header in the buffer.
        let (level, kind, data) =
            unsafe { ((*header).cmsg_level, (*header).cmsg_type, libc::CMSG_DATA(header)) };
        match (level, kind) {
            (libc::SOL_SOCKET, libc::SO_TIMESTAMPING) => {
                let time: libc::timespec = read(data);
                let ns = time.tv_sec as u64 * 1_000_000_000 + time.tv_nsec as u64;
                found.software_ns = (ns > 0).then_some(ns);
            }
            (libc::SOL_IP, libc::IP_RECVERR) | (libc::SOL_IPV6, libc::IPV6_RECVERR) => {
                let error: libc::sock_extended_err = read(data);
                found.stamped =
                    (error.ee_origin == ORIGIN_TIMESTAMPING).then_some((error.ee_info, error.ee_data));
            }
            _ => {}
        }
        // SAFETY: as above.
        header = unsafe { libc::CMSG_NXTHDR(message, header) };
    }
    found
}

fn read<T: Copy>(data: *const u8) -> T {
    let mut value = MaybeUninit::<T>::uninit();
    // SAFETY: the kernel put a T there, whole; it is plain old data.
    unsafe {
        std::ptr::copy_nonoverlapping(data, value.as_mut_ptr().cast(), size_of::<T>());
        value.assume_init()
    }
}
