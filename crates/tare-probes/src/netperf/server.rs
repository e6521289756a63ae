//! A server for stock netperf 2.7 clients that is safe to leave running while measurements go on.
//!
//! Each control connection is served by a process of its own, which ends with it: one test at a time in all of them,
//! so that no two measure each other. Data comes from and goes to the address of the control connection only, which
//! has proved by it that it receives what is sent there. Everything that a client names is bounded (`admission.rs`),
//! and no wait is without a deadline.

use std::io;
use std::net::{IpAddr, SocketAddr, TcpListener, TcpStream};
use std::os::fd::AsFd;
use std::panic::AssertUnwindSafe;
use std::time::{Duration, Instant};

use rustix::fd::OwnedFd;
use rustix::fs::{FlockOperation, MemfdFlags, fcntl_lock, memfd_create};
use rustix::io::Errno;
use rustix::net::sockopt;

use super::FILL;
use super::admission::{Admitted, LONGEST_TEST, Length, Test, admit};
use super::answering::{self, Counted, End, Messages};
use super::codec::{self, OmniRequest, OmniResponse, OmniResults};
use super::control::{read_message, write_message};
use super::silent::Silents;
use crate::harness::buffer::Buffer;
use crate::harness::child::Child;
use crate::harness::stopwatch::now_ns;
use crate::net::flow::Transport;
use crate::net::sockets::{self, Wait};
use crate::platform::{set_alarm, wake_on_alarm};

/// A client speaks first; one that stays silent for this long is disconnected.
const FIRST_WORD: Duration = Duration::from_secs(10);
/// Between two tests of one client (`netperf -i`) nothing else happens than arithmetic.
const NEXT_WORD: Duration = Duration::from_secs(60);
/// A client has to connect for its data within this.
const DATA_COMES: Duration = Duration::from_secs(10);
/// Most tests of one control connection: netperf's own limit of `-i` is 30.
const MOST_TESTS: u32 = 64;
/// Messages without a test in them, such as a passphrase, that are taken from one control connection.
const MOST_OTHER_MESSAGES: u32 = 4;
/// Control connections at a time: one measures, others wait for their user's next command.
const MOST_CONTROLS: usize = 4;
/// Longest that a control connection lives: 30 tests of two minutes.
const LONGEST_CONTROL: Duration = Duration::from_secs(3600);
/// How often the server looks whether it is to stop, and for processes that have ended.
const LOOK: Duration = Duration::from_millis(250);
/// While a test runs, its process is woken this often to check that the client is still there.
const LOOK_AT_CLIENT: Duration = Duration::from_secs(1);
/// How often it looks while it serves as many clients as it may.
const LOOK_WHEN_FULL: Duration = Duration::from_millis(20);
/// A test that has sent its results is over in less.
const TURN_COMES: Duration = Duration::from_millis(500);
/// Connections of a test that wait to be accepted; netserver has 5.
const BACKLOG: i32 = 5;
/// Where the socket's own buffer size is meant but not known, as a transfer.
const PLAIN_TRANSFER: usize = 1 << 16;

#[derive(Clone, Copy, Debug)]
pub struct Limits {
    pub longest_test: Duration,
    /// Control connections at a time that have sent a message; others wait until one of them ends.
    pub controls: usize,
    /// How long a client may take to send its request.
    pub first_word: Duration,
}

impl Default for Limits {
    fn default() -> Self {
        Limits { longest_test: LONGEST_TEST, controls: MOST_CONTROLS, first_word: FIRST_WORD }
    }
}

/// Serves control connections until `stop` says so. Processes that serve them end when this returns.
///
/// # Errors
/// Where the listener fails, or the kernel has no memfd.
pub fn serve(listener: &TcpListener, limits: Limits, stop: &dyn Fn() -> bool) -> io::Result<()> {
    // Locked by the process that runs a test; the kernel takes the lock from one that dies.
    let turn = memfd_create("turn", MemfdFlags::CLOEXEC)?;
    let mut children: Vec<(Child, Instant)> = Vec::new();
    let mut silents = Silents::default();
    while !stop() {
        children.retain(|(child, since)| child.is_alive() && since.elapsed() < LONGEST_CONTROL);
        silents.expire(limits.first_word);
        let is_full = children.len() >= limits.controls;
        let longest = match (silents.are_speaking(), is_full) {
            (true, true) => LOOK_WHEN_FULL,
            (true, false) => Duration::ZERO,
            (false, _) => LOOK,
        };
        if silents.wait(listener, longest)? {
            match listener.accept() {
                Ok((connection, from)) => silents.add(connection, from.ip()),
                Err(e) if is_passing(&e) => {}
                Err(e) => return Err(e),
            }
        }
        if is_full {
            continue;
        }
        let Some((connection, from)) = silents.next() else { continue };
        let turn = turn.as_fd();
        let work = AssertUnwindSafe(move || {
            Control { connection, from, turn, limits }.run();
            0
        });
        match Child::fork(&[listener.as_fd()], work) {
            Ok(child) => children.push((child, Instant::now())),
            // No process to be had: the connection is closed, and the next may fare better.
            Err(_) => std::thread::sleep(LOOK),
        }
    }
    Ok(())
}

/// What may happen to any one connection and does not concern the next.
fn is_passing(error: &io::Error) -> bool {
    use io::ErrorKind::{ConnectionAborted, Interrupted, WouldBlock};
    matches!(error.kind(), ConnectionAborted | Interrupted | WouldBlock)
        || error.raw_os_error() == Some(libc::EMFILE)
}

/// One control connection, in its own process.
struct Control<'t> {
    connection: TcpStream,
    from: IpAddr,
    turn: rustix::fd::BorrowedFd<'t>,
    limits: Limits,
}

impl Control<'_> {
    fn run(mut self) {
        wake_on_alarm();
        let Ok(here) = self.connection.local_addr().map(|address| address.ip()) else { return };
        let (mut tests, mut others) = (0, 0);
        while tests < MOST_TESTS && others < MOST_OTHER_MESSAGES {
            let patience = if tests == 0 { self.limits.first_word } else { NEXT_WORD };
            let Ok(message) = read_message(&mut self.connection, patience) else { return };
            match codec::kind(&message) {
                codec::DO_OMNI => {
                    tests += 1;
                    if self.test(&OmniRequest::decode(&message), here).is_err() {
                        return;
                    }
                }
                // Sent in plain text: it protects nothing, and is not required.
                codec::PASSPHRASE => others += 1,
                _ => return,
            }
        }
    }

    /// One test at a time. A test that is about to end is waited for; otherwise the client learns that the server is
    /// busy.
    fn take_turn(&self) -> Result<(), Errno> {
        let end = Instant::now() + TURN_COMES;
        while fcntl_lock(self.turn, FlockOperation::NonBlockingLockExclusive).is_err() {
            if Instant::now() > end {
                return Err(Errno::BUSY);
            }
            std::thread::sleep(TURN_COMES / 50);
        }
        Ok(())
    }

    /// Runs one test: an answer, data, results. An error ends the control connection.
    fn test(&mut self, request: &OmniRequest, here: IpAddr) -> io::Result<()> {
        let ready = admit(request, here, self.limits.longest_test).and_then(|admitted| {
            self.take_turn()?;
            PreparedTest::prepare(admitted, here)
        });
        let done = match ready {
            Err(errno) => {
                let refusal = OmniResponse { errno: errno.raw_os_error(), ..Default::default() };
                write_message(&mut self.connection, &refusal.encode())
            }
            Ok(ready) => write_message(&mut self.connection, &ready.response.encode()).and_then(|()| {
                let results = self.measure(ready);
                write_message(&mut self.connection, &results.encode())
            }),
        };
        fcntl_lock(self.turn, FlockOperation::Unlock)?;
        done
    }

    fn measure(&self, mut ready: PreparedTest) -> OmniResults {
        let deadline = ready.admitted.length.deadline(self.limits.longest_test);
        let most = match ready.admitted.length {
            Length::Count(count) => count,
            Length::Time(_) => u64::MAX,
        };
        set_alarm(LOOK_AT_CLIENT.as_millis() as u64);
        let started_ns = now_ns();
        let end =
            End { at_ns: started_ns + deadline.as_nanos() as u64, most, control: self.connection.as_fd() };
        let (counted, transfer) = ready.run(self.from, end);
        let elapsed_ns = now_ns() - started_ns;
        set_alarm(0);
        ready.results(counted, elapsed_ns, transfer.as_ref())
    }
}

/// A test whose socket is bound and whose memory is there.
struct PreparedTest {
    admitted: Admitted,
    socket: OwnedFd,
    incoming: Buffer,
    outgoing: Buffer,
    response: OmniResponse,
}

impl PreparedTest {
    fn prepare(admitted: Admitted, here: IpAddr) -> Result<PreparedTest, Errno> {
        if let Some(processor) = admitted.processor {
            // Only one that exists can be requested: a set has bounds.
            if !crate::harness::affinity::allowed().contains(&processor) {
                return Err(Errno::INVAL);
            }
            crate::harness::affinity::pin(processor).map_err(|_| Errno::PERM)?;
        }
        let transport = match admitted.test {
            Test::DatagramRounds { .. } => Transport::Udp,
            _ => Transport::Tcp,
        };
        let address = SocketAddr::new(here, admitted.port);
        let (socket, address) = sockets::bound(transport, address, BACKLOG).map_err(|_| Errno::ADDRINUSE)?;
        if let Some(bytes) = admitted.send_buffer {
            sockopt::set_socket_send_buffer_size(&socket, bytes as usize)?;
        }
        if let Some(bytes) = admitted.receive_buffer {
            sockopt::set_socket_recv_buffer_size(&socket, bytes as usize)?;
        }
        let send_buffer = sockopt::socket_send_buffer_size(&socket)?;
        let receive_buffer = sockopt::socket_recv_buffer_size(&socket)?;
        let (incoming, outgoing) = match admitted.test {
            Test::StreamRounds { request, response } | Test::ConnectionRounds { request, response } => {
                (request, response)
            }
            // One byte more: a longer datagram is distinguished from one of the right length.
            Test::DatagramRounds { request, response } => (request + 1, response),
            Test::Receive { size } => (size.unwrap_or(transfer(receive_buffer)), 0),
            Test::Send { size } => (0, size.unwrap_or(transfer(send_buffer))),
        };
        let shown = |bytes: usize| i32::try_from(bytes).unwrap_or(i32::MAX);
        let response = OmniResponse {
            receive_buffer: shown(receive_buffer),
            receive_size: shown(incoming - usize::from(transport == Transport::Udp)),
            receive_width: 1,
            send_buffer: shown(send_buffer),
            send_size: shown(outgoing),
            send_width: 1,
            data_port: address.port().into(),
            socket_priority: -1,
            type_of_service: -1,
            ..Default::default()
        };
        let incoming = Buffer::zeroed(incoming).map_err(|_| Errno::NOMEM)?;
        let mut outgoing = Buffer::zeroed(outgoing).map_err(|_| Errno::NOMEM)?;
        for piece in outgoing.chunks_mut(FILL.len()) {
            piece.copy_from_slice(&FILL[..piece.len()]);
        }
        Ok(PreparedTest { admitted, socket, incoming, outgoing, response })
    }

    /// Serves the test to its end; also gives the data connection where there was one.
    fn run(&mut self, from: IpAddr, end: End<'_>) -> (Counted, Option<OwnedFd>) {
        let test = self.admitted.test;
        let no_delay = self.admitted.no_delay;
        let connection = match test {
            Test::DatagramRounds { .. } | Test::ConnectionRounds { .. } => None,
            _ => match self.accept(from, end) {
                Some(connection) => Some(connection),
                None => return (Counted::default(), None),
            },
        };
        let sending = self.sending(end);
        let socket = connection.as_ref().unwrap_or(&self.socket);
        let messages = Messages { incoming: &mut self.incoming, outgoing: &self.outgoing };
        let counted = match test {
            Test::DatagramRounds { .. } => answering::datagram_rounds(socket, from, messages, end),
            Test::ConnectionRounds { .. } => {
                answering::connection_rounds(socket, from, no_delay, messages, end)
            }
            Test::StreamRounds { .. } => answering::stream_rounds(socket, messages, end),
            Test::Receive { .. } => answering::receive(socket, messages.incoming, end),
            Test::Send { .. } => answering::transmit(socket, messages.outgoing, sending),
        };
        (counted, connection)
    }

    /// A sender's time is the test's own, without the grace that a client has to end it.
    fn sending<'c>(&self, end: End<'c>) -> End<'c> {
        match self.admitted.length {
            Length::Time(time) => End { at_ns: now_ns() + time.as_nanos() as u64, ..end },
            Length::Count(_) => end,
        }
    }

    /// The client's one data connection.
    fn accept(&self, from: IpAddr, end: End<'_>) -> Option<OwnedFd> {
        sockets::wait_at_most(&self.socket, Wait::Receive, Some(DATA_COMES)).ok()?;
        let end = End { at_ns: now_ns() + DATA_COMES.as_nanos() as u64, ..end };
        let connection = answering::accept(&self.socket, from, &end)?;
        if self.admitted.no_delay {
            sockopt::set_tcp_nodelay(&connection, true).ok()?;
        }
        Some(connection)
    }

    fn results(&self, counted: Counted, elapsed_ns: u64, connection: Option<&OwnedFd>) -> OmniResults {
        let shown = |count: u64| i32::try_from(count).unwrap_or(i32::MAX);
        let socket = connection.unwrap_or(&self.socket);
        let size = |bytes: Result<usize, Errno>| bytes.map_or(0, |bytes| shown(bytes as u64));
        let algorithm = connection.and_then(|connection| sockopt::tcp_congestion(connection).ok());
        OmniResults {
            bytes_received: counted.bytes_received,
            receive_calls: shown(counted.receive_calls),
            receive_buffer: size(sockopt::socket_recv_buffer_size(socket)),
            bytes_sent: counted.bytes_sent,
            send_calls: shown(counted.send_calls),
            send_buffer: size(sockopt::socket_send_buffer_size(socket)),
            failed_sends: shown(counted.failed_sends),
            transactions: shown(counted.transactions),
            elapsed_s: (elapsed_ns as f64 / 1e9) as f32,
            retransmissions: -1,
            congestion_control: codec::Text::new(&algorithm.unwrap_or_default()),
            ..Default::default()
        }
    }
}

/// Bytes of a transfer where a client leaves them open: the socket's buffer, as netserver takes it.
fn transfer(buffer: usize) -> usize {
    if (1..=super::admission::LARGEST_TRANSFER as usize).contains(&buffer) { buffer } else { PLAIN_TRANSFER }
}
