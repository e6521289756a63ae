//! What the answering end of each test does with data: the loops, and what they counted.

use std::net::{IpAddr, SocketAddr};

use rustix::fd::{AsFd, BorrowedFd, OwnedFd};
use rustix::io::Errno;
use rustix::net::{self, RecvFlags, SocketFlags};

use crate::harness::stopwatch::now_ns;
use crate::harness::syscall::{recv, send};
use crate::net::udp_peer::UdpPeer;

/// What a test counted, as results state it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counted {
    pub bytes_received: u64,
    pub receive_calls: u64,
    pub bytes_sent: u64,
    pub send_calls: u64,
    pub failed_sends: u64,
    pub transactions: u64,
}

/// The clock is read after this many calls: a call that does not wait sees no alarm.
const LOOK_EVERY: u64 = 16;

/// Where a test ends, whichever comes first: by the monotonic clock, or after `most` transactions or bytes.
///
/// A wait is ended by the process's alarm, which rings each second.
#[derive(Clone, Copy, Debug)]
pub struct End<'c> {
    pub at_ns: u64,
    pub most: u64,
    pub control: BorrowedFd<'c>,
}

impl End<'_> {
    /// Whether the time is up or the client has gone; checked when the alarm has rung.
    fn is_over(&self) -> bool {
        self.is_late() || matches!(recv_now(self.control), Ok(0))
    }

    fn is_late(&self) -> bool {
        now_ns() >= self.at_ns
    }
}

/// Peeks for a byte on a control connection: none is sent while a test is under way, and 0 is its end.
fn recv_now(control: BorrowedFd<'_>) -> Result<usize, Errno> {
    net::recv(control, &mut [0u8; 1], RecvFlags::DONTWAIT | RecvFlags::PEEK).map(|(bytes, _)| bytes)
}

pub struct Messages<'m> {
    pub incoming: &'m mut [u8],
    pub outgoing: &'m [u8],
}

crate::timed! {
    /// One whole message in; false where the other end closed, or the time is up.
    fn fill(socket: BorrowedFd<'_>, incoming: &mut [u8], end: &End<'_>, counted: &mut Counted) -> bool {
        let mut filled = 0;
        while filled < incoming.len() {
            match recv(socket, &mut incoming[filled..]) {
                Ok(0) => return false,
                Ok(more) => filled += more,
                Err(Errno::INTR) if !end.is_over() => continue,
                Err(_) => return false,
            }
            counted.receive_calls += 1;
        }
        counted.bytes_received += filled as u64;
        true
    }

    /// One whole message out; false as above.
    fn empty(socket: BorrowedFd<'_>, outgoing: &[u8], end: &End<'_>, counted: &mut Counted) -> bool {
        let mut sent = 0;
        while sent < outgoing.len() {
            match send(socket, &outgoing[sent..]) {
                Ok(more) => sent += more,
                Err(Errno::INTR) if !end.is_over() => continue,
                Err(_) => {
                    counted.failed_sends += 1;
                    return false;
                }
            }
            counted.send_calls += 1;
        }
        counted.bytes_sent += sent as u64;
        true
    }
}

/// TCP_RR: whole requests, a response each, until the client closes.
pub fn stream_rounds(socket: &OwnedFd, messages: Messages<'_>, end: End<'_>) -> Counted {
    let mut counted = Counted::default();
    while counted.transactions < end.most {
        if !fill(socket.as_fd(), messages.incoming, &end, &mut counted)
            || !empty(socket.as_fd(), messages.outgoing, &end, &mut counted)
        {
            break;
        }
        counted.transactions += 1;
    }
    counted
}

/// TCP_CRR: a connection, a request, a response, and the server closes.
pub fn connection_rounds(
    listener: &OwnedFd,
    from: IpAddr,
    no_delay: bool,
    messages: Messages<'_>,
    end: End<'_>,
) -> Counted {
    let mut counted = Counted::default();
    while counted.transactions < end.most {
        let connection = match accept(listener, from, &end) {
            Some(connection) => connection,
            None => break,
        };
        if no_delay && net::sockopt::set_tcp_nodelay(&connection, true).is_err() {
            break;
        }
        // A client whose time is up closes without a word.
        if !fill(connection.as_fd(), messages.incoming, &end, &mut counted)
            || !empty(connection.as_fd(), messages.outgoing, &end, &mut counted)
        {
            continue;
        }
        counted.transactions += 1;
    }
    counted
}

/// The next connection from an address; others are closed. None when the time is up.
pub fn accept(listener: &OwnedFd, from: IpAddr, end: &End<'_>) -> Option<OwnedFd> {
    while !end.is_over() {
        match net::acceptfrom_with(listener, SocketFlags::CLOEXEC) {
            Ok((connection, Some(address))) if is_from(&address, from) => return Some(connection),
            // A stranger, or a client that has gone again.
            Ok(_) | Err(Errno::INTR | Errno::CONNABORTED) => {}
            Err(_) => return None,
        }
    }
    None
}

fn is_from(address: &net::SocketAddrAny, from: IpAddr) -> bool {
    SocketAddr::try_from(address.clone()).is_ok_and(|address| address.ip() == from)
}

/// UDP_RR: a response to each request of the client, and to nobody else. An empty datagram ends it.
///
/// The first datagram that comes from the client's address fixes the port: from then on datagrams from nowhere else are
/// taken, and none are sent anywhere else. What others sent is not answered.
pub fn datagram_rounds(socket: &OwnedFd, from: IpAddr, messages: Messages<'_>, end: End<'_>) -> Counted {
    let mut counted = Counted::default();
    if end.most == 0 {
        return counted;
    }
    if let Some(line) = meet(socket, from, &messages, &end, &mut counted) {
        answer(&line, messages.incoming, messages.outgoing, &end, &mut counted);
    }
    counted
}

/// Waits for the client's first request and answers it; none when there is none.
fn meet<'s>(
    socket: &'s OwnedFd,
    from: IpAddr,
    messages: &Messages<'_>,
    end: &End<'_>,
    counted: &mut Counted,
) -> Option<UdpPeer<&'s OwnedFd>> {
    // One byte more than any request: nothing longer passes for one.
    let mut first = vec![0u8; messages.incoming.len() + 1];
    while !end.is_over() {
        let (length, sender) = match net::recvfrom(socket, &mut first[..], RecvFlags::empty()) {
            Ok((length, _, sender)) => (length, sender.and_then(|sender| SocketAddr::try_from(sender).ok())),
            Err(Errno::INTR) => continue,
            Err(_) => return None,
        };
        let Some(sender) = sender.filter(|sender| sender.ip() == from) else { continue };
        if length == 0 {
            return None;
        }
        if length != messages.incoming.len() - 1 {
            continue;
        }
        let line = UdpPeer::new(socket, sender);
        counted.receive_calls += 1;
        counted.bytes_received += length as u64;
        if line.send(messages.outgoing).is_ok() {
            counted.send_calls += 1;
            counted.bytes_sent += messages.outgoing.len() as u64;
            counted.transactions += 1;
        }
        return Some(line);
    }
    None
}

crate::timed! {
    /// Answers requests of the right length. `incoming` has room for one byte more than a request.
    fn answer(
        line: &UdpPeer<&OwnedFd>,
        incoming: &mut [u8],
        outgoing: &[u8],
        end: &End<'_>,
        counted: &mut Counted,
    ) {
        let request = incoming.len() - 1;
        while counted.transactions < end.most
            && (!counted.transactions.is_multiple_of(LOOK_EVERY) || !end.is_late())
        {
            match line.receive(incoming) {
                Ok(Some(0)) => return,
                Ok(Some(length)) if length == request => counted.bytes_received += length as u64,
                // Where anybody sends without a pause, nothing waits, and no alarm is seen.
                Ok(_) if end.is_over() => return,
                Ok(_) => continue,
                Err(Errno::INTR) if !end.is_over() => continue,
                // The client is gone, or the time is up.
                Err(_) => return,
            }
            counted.receive_calls += 1;
            match line.send(outgoing) {
                Ok(sent) => counted.bytes_sent += sent as u64,
                // A full queue on the path counts as a lost datagram.
                Err(Errno::NOBUFS | Errno::AGAIN | Errno::INTR) => counted.failed_sends += 1,
                Err(_) => return,
            }
            counted.send_calls += 1;
            counted.transactions += 1;
        }
    }

    /// TCP_STREAM: takes what comes until the client closes.
    fn take(socket: BorrowedFd<'_>, incoming: &mut [u8], end: &End<'_>, counted: &mut Counted) {
        loop {
            match recv(socket, incoming) {
                Ok(0) => return,
                Ok(more) => counted.bytes_received += more as u64,
                Err(Errno::INTR) if !end.is_over() => continue,
                Err(_) => return,
            }
            counted.receive_calls += 1;
        }
    }
}

/// TCP_STREAM: takes what comes until the client closes; also past a count of bytes, which is the client's to keep.
pub fn receive(socket: &OwnedFd, incoming: &mut [u8], end: End<'_>) -> Counted {
    let mut counted = Counted::default();
    take(socket.as_fd(), incoming, &end, &mut counted);
    counted
}

crate::timed! {
    /// TCP_MAERTS: sends whole buffers until the bytes are sent or the alarm rings.
    fn give(socket: BorrowedFd<'_>, outgoing: &[u8], end: &End<'_>, counted: &mut Counted) {
        while counted.bytes_sent < end.most && (!counted.send_calls.is_multiple_of(LOOK_EVERY) || !end.is_late()) {
            match send(socket, outgoing) {
                Ok(sent) => counted.bytes_sent += sent as u64,
                Err(Errno::INTR) if !end.is_over() => continue,
                Err(_) => {
                    counted.failed_sends += 1;
                    return;
                }
            }
            counted.send_calls += 1;
        }
    }
}

/// TCP_MAERTS: sends whole buffers for the time, or until no whole buffer is left of the bytes.
pub fn transmit(socket: &OwnedFd, outgoing: &[u8], end: End<'_>) -> Counted {
    let mut counted = Counted::default();
    give(socket.as_fd(), outgoing, &end, &mut counted);
    counted
}

#[cfg(test)]
mod tests {
    use std::net::{Ipv4Addr, UdpSocket};
    use std::os::unix::net::UnixStream;
    use std::sync::atomic::{AtomicBool, Ordering};
    use std::thread;
    use std::time::{Duration, Instant};

    use super::*;

    /// A flood ends by itself after this: the test fails then, and does not hang.
    const FLOOD: Duration = Duration::from_secs(20);

    #[test]
    fn a_test_ends_on_time_whoever_floods_its_port() {
        let bound = || UdpSocket::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
        let (server, client, stranger) = (bound(), bound(), bound());
        let to = server.local_addr().unwrap();
        server.set_read_timeout(Some(FLOOD)).unwrap();
        let (control, _open) = UnixStream::pair().unwrap();
        // The client's requests are taken, the stranger's are not: neither may keep the test from its end.
        for (flooding, bytes) in [(&client, 1), (&client, 7), (&stranger, 1)] {
            client.send_to(b"n", to).unwrap();
            let stop = AtomicBool::new(false);
            let flooded_to_the_end = thread::scope(|scope| {
                let flood = scope.spawn(|| {
                    let end = Instant::now() + FLOOD;
                    while !stop.load(Ordering::Relaxed) && Instant::now() < end {
                        let _ = flooding.send_to(&[b'n'; 8][..bytes], to);
                    }
                    !stop.load(Ordering::Relaxed)
                });
                let end = End { at_ns: now_ns() + 50_000_000, most: u64::MAX, control: control.as_fd() };
                let messages = Messages { incoming: &mut [0; 2], outgoing: b"n" };
                let socket = OwnedFd::from(server.try_clone().unwrap());
                let counted = datagram_rounds(&socket, Ipv4Addr::LOCALHOST.into(), messages, end);
                stop.store(true, Ordering::Relaxed);
                assert!(counted.transactions > 0);
                flood.join().unwrap()
            });
            assert!(!flooded_to_the_end, "{bytes} bytes");
            // What is left of the flood is not the next one's.
            server.set_nonblocking(true).unwrap();
            while server.recv(&mut [0; 8]).is_ok() {}
            server.set_nonblocking(false).unwrap();
        }
    }
}
