//! Netlink: questions to the kernel about its network, and changes of it (netlink(7), rtnetlink(7)).
//!
//! It works where there is neither a program nor a /proc, as in a guest that holds nothing but the agent.

use std::io;
use std::os::fd::OwnedFd;
use std::time::Duration;

use rustix::net::netlink::NETFILTER;
use rustix::net::sockopt::{Timeout, set_socket_timeout};
use rustix::net::{
    AddressFamily, Protocol, RecvFlags, SendFlags, SocketFlags, SocketType, recv, send, socket_with,
};

/// The kernel answers before `send` returns; this is for a kernel in user space that forgets to.
const ANSWER_WAIT: Duration = Duration::from_secs(5);
/// Room for one piece of an answer: what a kernel puts into one at most.
const PIECE_BYTES: usize = 64 * 1024;
/// Limit on the messages of an answer: a host with a thousand containers has some thousand devices.
const MOST_MESSAGES: usize = 8_192;
/// Length of a message's header, and of an attribute's.
const HEADER: usize = 16;
const ATTRIBUTE: usize = 4;
/// Bits of an attribute's kind that are flags.
const KIND: u16 = 0x3fff;

/// A socket to the kernel's network configuration, in the namespace of the thread that opened it.
#[derive(Debug)]
pub struct Netlink {
    socket: OwnedFd,
    sequence: u32,
}

impl Netlink {
    pub fn open() -> io::Result<Self> {
        // Protocol 0 is NETLINK_ROUTE.
        Netlink::open_protocol(None)
    }

    /// Opens a socket to the kernel's packet filters, for a process that may change them.
    pub(crate) fn open_filters() -> io::Result<Self> {
        Netlink::open_protocol(Some(NETFILTER))
    }

    fn open_protocol(protocol: Option<Protocol>) -> io::Result<Self> {
        let socket = socket_with(AddressFamily::NETLINK, SocketType::RAW, SocketFlags::CLOEXEC, protocol)?;
        set_socket_timeout(&socket, Timeout::Recv, Some(ANSWER_WAIT))?;
        Ok(Netlink { socket, sequence: 0 })
    }

    /// Requests a change, and waits until the kernel acknowledges it.
    pub fn request_change(&mut self, message: Message) -> io::Result<()> {
        self.exchange(message, libc::NLM_F_ACK as u16, &mut |_, _| {})
    }

    /// Requests a list: kinds of messages with their bodies, as the kernel sent them.
    pub(crate) fn request_list(&mut self, message: Message) -> io::Result<Vec<(u16, Vec<u8>)>> {
        let mut answers = Vec::new();
        self.exchange(message, libc::NLM_F_DUMP as u16, &mut |kind, body| {
            answers.push((kind, body.to_vec()))
        })?;
        Ok(answers)
    }

    fn exchange(&mut self, message: Message, flags: u16, sink: &mut dyn FnMut(u16, &[u8])) -> io::Result<()> {
        self.sequence += 1;
        let request = message.finish(flags, self.sequence);
        send(&self.socket, &request, SendFlags::empty())?;
        let mut piece = vec![0; PIECE_BYTES];
        let mut messages = 0;
        loop {
            let (received, _) = recv(&self.socket, piece.as_mut_slice(), RecvFlags::empty())?;
            let mut rest = piece.get(..received).unwrap_or_default();
            while let Some((kind, sequence, body)) = take_message(&mut rest) {
                messages += 1;
                if messages > MOST_MESSAGES {
                    return Err(io::Error::other("the kernel's answer has no end"));
                }
                match i32::from(kind) {
                    _ if sequence != self.sequence => {}
                    libc::NLMSG_ERROR => return verdict(body),
                    libc::NLMSG_DONE => return Ok(()),
                    _ => sink(kind, body),
                }
            }
        }
    }
}

/// Reads the result in a message of the kind "error": zero is success.
fn verdict(body: &[u8]) -> io::Result<()> {
    match body.first_chunk::<4>().map(|bytes| i32::from_ne_bytes(*bytes)) {
        Some(0) => Ok(()),
        Some(code) => Err(io::Error::from_raw_os_error(code.saturating_neg())),
        None => Err(io::ErrorKind::InvalidData.into()),
    }
}

/// Takes the next message of a piece: its kind, its number and its body.
fn take_message<'a>(rest: &mut &'a [u8]) -> Option<(u16, u32, &'a [u8])> {
    let length = u32::from_ne_bytes(*rest.first_chunk()?) as usize;
    let kind = u16::from_ne_bytes(*rest.get(4..)?.first_chunk()?);
    let sequence = u32::from_ne_bytes(*rest.get(8..)?.first_chunk()?);
    let body = rest.get(HEADER..length)?;
    *rest = rest.get(length.next_multiple_of(4)..).unwrap_or_default();
    Some((kind, sequence, body))
}

/// Iterates over the attributes in a message's body behind its fixed part: kinds with their values.
pub(crate) fn iter_attributes(body: &[u8], fixed_bytes: usize) -> impl Iterator<Item = (u16, &[u8])> {
    let mut rest = body.get(fixed_bytes..).unwrap_or_default();
    std::iter::from_fn(move || {
        let length = usize::from(u16::from_ne_bytes(*rest.first_chunk()?));
        let kind = u16::from_ne_bytes(*rest.get(2..)?.first_chunk()?) & KIND;
        let value = rest.get(ATTRIBUTE..length)?;
        rest = rest.get(length.next_multiple_of(4)..).unwrap_or_default();
        Some((kind, value))
    })
}

#[derive(Debug)]
pub struct Message {
    kind: u16,
    flags: u16,
    body: Vec<u8>,
}

impl Message {
    /// Begins a message with the fixed part of its body.
    pub fn new(kind: u16, fixed: &[u8]) -> Self {
        Message { kind, flags: libc::NLM_F_REQUEST as u16, body: fixed.to_vec() }
    }

    /// Flags of a request that the object be created, and an error if it exists.
    pub fn with_create(mut self) -> Self {
        self.flags |= (libc::NLM_F_CREATE | libc::NLM_F_EXCL) as u16;
        self
    }

    /// Flags of a request that the object be created, replacing one that exists.
    pub fn with_replace(mut self) -> Self {
        self.flags |= (libc::NLM_F_CREATE | libc::NLM_F_REPLACE) as u16;
        self
    }

    pub fn with_attribute(mut self, kind: u16, value: &[u8]) -> Self {
        let length = (ATTRIBUTE + value.len()) as u16;
        self.body.extend(length.to_ne_bytes());
        self.body.extend(kind.to_ne_bytes());
        self.body.extend(value);
        self.pad();
        self
    }

    /// Adds a text as an attribute, with the zero byte that ends it.
    pub fn with_text(self, kind: u16, value: &str) -> Self {
        let value = [value.as_bytes(), &[0]].concat();
        self.with_attribute(kind, &value)
    }

    /// Adds an attribute that holds others, behind a fixed part.
    pub fn with_nested(mut self, kind: u16, fixed: &[u8], within: impl FnOnce(Message) -> Message) -> Self {
        let at = self.body.len();
        self = self.with_attribute(kind, fixed);
        self = within(self);
        let length = (self.body.len() - at) as u16;
        self.body[at..at + 2].copy_from_slice(&length.to_ne_bytes());
        self
    }

    fn pad(&mut self) {
        self.body.resize(self.body.len().next_multiple_of(4), 0);
    }

    fn finish(self, flags: u16, sequence: u32) -> Vec<u8> {
        let mut bytes = Vec::with_capacity(HEADER + self.body.len());
        bytes.extend(((HEADER + self.body.len()) as u32).to_ne_bytes());
        bytes.extend(self.kind.to_ne_bytes());
        bytes.extend((self.flags | flags).to_ne_bytes());
        bytes.extend(sequence.to_ne_bytes());
        bytes.extend([0; 4]);
        bytes.extend(self.body);
        bytes
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_nest_counts_what_is_in_it() {
        let message =
            Message::new(16, &[9; 4]).with_text(3, "lo").with_nested(18, &[], |m| m.with_text(1, "veth"));
        let bytes = message.finish(4, 7);
        assert_eq!(bytes.len() % 4, 0);
        let mut rest = bytes.as_slice();
        let (kind, sequence, body) = take_message(&mut rest).unwrap();
        assert_eq!((kind, sequence, rest.len()), (16, 7, 0));
        let found: Vec<(u16, &[u8])> = iter_attributes(body, 4).collect();
        assert_eq!(found[0], (3, &b"lo\0"[..]));
        let inner: Vec<(u16, &[u8])> = iter_attributes(found[1].1, 0).collect();
        assert_eq!((found[1].0, inner), (18, vec![(1, &b"veth\0"[..])]));
    }

    #[test]
    fn broken_lengths_end_a_message() {
        let piece = |length| [&[length][..], &[0; 19]].concat();
        for length in [0, 3, 15, 200] {
            assert_eq!(take_message(&mut &piece(length)[..]), None, "{length}");
        }
        for length in [0, 3, 200] {
            assert_eq!(iter_attributes(&piece(length), 0).count(), 0, "{length}");
        }
        assert!(verdict(&[]).is_err() && verdict(&i32::MIN.to_ne_bytes()).is_err());
    }

    #[test]
    fn the_kernel_refuses_what_it_does_not_know() {
        let Ok(mut netlink) = Netlink::open() else { return println!("SKIPPED netlink: it is not there") };
        assert!(netlink.request_change(Message::new(0x7ff0, &[0; 16])).is_err());
    }
}
