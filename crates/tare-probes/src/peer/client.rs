//! The client's side of a peer: reaching it, proving the secret, asking for a flow, and saying what went wrong.

use std::io::{self, ErrorKind, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::time::{Duration, Instant};

use tare_data::encoding::hex_bytes;
use tare_data::failure::{Failure, FailureKind};

use super::message::{Answer, Ask, PROTOCOL};
use super::noise::{Channel, Frames, Opening, Secret};
use crate::harness::trial::broken_failure;
use crate::net::flow::Flow;
use crate::net::reaching::{Listener, connect_to_listener};
use crate::net::token::Token;

/// A peer answers within this; while others come first, it reports that.
const ANSWER_PATIENCE: Duration = Duration::from_secs(5);
/// Longest wait for other sessions to end; a trial's own deadline is usually shorter.
const QUEUE_PATIENCE: Duration = Duration::from_secs(600);

/// A session at a peer. The peer ends the flow when this is dropped.
pub struct PeerSession {
    stream: TcpStream,
    channel: Channel,
    frames: Frames,
    far: SocketAddr,
}

/// A flow that is ready at a peer.
pub struct ReadyFlow {
    pub address: SocketAddr,
    pub token: Token,
}

impl PeerSession {
    /// Connects to a peer and proves the secret both ways.
    pub fn open(address: &str, secret: &Secret) -> Result<PeerSession, Failure> {
        let (stream, far) = connect_to_listener(address, Listener::Tare)?;
        let (opening, first) = Opening::new(secret).map_err(|e| broken_failure("the handshake", e))?;
        let failed = |e: io::Error| broken_failure(&format!("exchanging messages with {address}"), e);
        stream.set_nodelay(true).map_err(failed)?;
        stream.set_write_timeout(Some(ANSWER_PATIENCE)).map_err(failed)?;
        (&stream).write_all(&first).map_err(failed)?;
        let mut frames = Frames::default();
        let body = match receive(&stream, &mut frames, Instant::now() + ANSWER_PATIENCE) {
            Ok(body) => body,
            Err(e) => return Err(no_handshake(address, e)),
        };
        let channel = opening.into_channel(&body).ok_or_else(|| another_program(address))?;
        Ok(PeerSession { stream, channel, frames, far })
    }

    /// Returns the address at which the peer was reached.
    pub(crate) fn address(&self) -> SocketAddr {
        self.far
    }

    /// Requests a flow; `None` queries who is there.
    fn ask(
        &mut self,
        flow: Option<(&Flow, Option<u16>)>,
        leaves: bool,
        deadline: Duration,
    ) -> Result<(), Failure> {
        let ask = Ask {
            protocol: PROTOCOL,
            version: env!("CARGO_PKG_VERSION").to_owned(),
            flow: flow.map(|(flow, _)| flow.clone()),
            connect_back: flow.and_then(|(_, port)| port),
            leaves,
            deadline_ms: deadline.as_millis() as u64,
        };
        let frame = self
            .channel
            .seal_message(&ask)
            .ok_or_else(|| broken_failure("the question", "it is too long"))?;
        self.stream.write_all(&frame).map_err(|e| broken_failure("asking the peer", e))
    }

    /// Asks for the peer's version, and how many sessions wait or are served.
    pub fn query_peer(self) -> Result<(String, u32), Failure> {
        self.query(false)
    }

    /// Tells the peer that the session has ended whose trials were served: a peer for a number of sessions counts it.
    pub fn end_session(self) -> Result<(), Failure> {
        self.query(true).map(drop)
    }

    fn query(mut self, leaves: bool) -> Result<(String, u32), Failure> {
        self.ask(None, leaves, ANSWER_PATIENCE)?;
        match self.answer(Instant::now() + ANSWER_PATIENCE)? {
            Answer::Here { version, sessions } => Ok((version, sessions)),
            other => Err(unexpected(&other)),
        }
    }

    /// Requests a flow and waits until it is this session's turn.
    pub fn request_flow(&mut self, flow: &Flow, deadline: Duration) -> Result<ReadyFlow, Failure> {
        self.ask_for(flow, deadline)?;
        self.wait_for_turn()
    }

    /// Requests a flow for which the peer connects to a port here, and returns the token that it will show.
    pub(crate) fn request_connection_back(
        &mut self,
        flow: &Flow,
        port: u16,
        deadline: Duration,
    ) -> Result<Token, Failure> {
        self.ask(Some((flow, Some(port))), false, deadline)?;
        Ok(self.wait_for_turn()?.token)
    }

    /// Requests a flow, which the peer ends after `deadline`.
    pub fn ask_for(&mut self, flow: &Flow, deadline: Duration) -> Result<(), Failure> {
        self.ask(Some((flow, None)), false, deadline)
    }

    pub fn wait_for_turn(&mut self) -> Result<ReadyFlow, Failure> {
        let mut end = Instant::now() + ANSWER_PATIENCE;
        loop {
            match self.answer(end)? {
                Answer::Queued { .. } => end = Instant::now() + QUEUE_PATIENCE,
                Answer::Ready { port, token } => {
                    let token =
                        hex_bytes(&token).ok_or_else(|| broken_failure("the peer", "it sent no token"))?;
                    return Ok(ReadyFlow { address: SocketAddr::new(self.far.ip(), port), token });
                }
                other => return Err(unexpected(&other)),
            }
        }
    }

    /// Waits for the flow's own end, and returns its exit code.
    pub fn wait_for_end(mut self) -> Result<i32, Failure> {
        match self.answer(Instant::now() + ANSWER_PATIENCE)? {
            Answer::Done { code } => Ok(code),
            other => Err(unexpected(&other)),
        }
    }

    /// Returns the exit code of a flow that ended by itself; an error where the peer is gone.
    pub fn ended_early(&mut self) -> Result<Option<i32>, Failure> {
        let deadline = Instant::now() + Duration::from_millis(1);
        match receive(&self.stream, &mut self.frames, deadline) {
            Ok(body) => match self.channel.open_message(&body) {
                Some(Answer::Done { code }) => Ok(Some(code)),
                _ => Err(broken_failure("the peer", "it sent something else than expected")),
            },
            Err(Silence::Timeout) => Ok(None),
            Err(_) => Err(broken_failure("the peer", "it is gone")),
        }
    }

    fn answer(&mut self, end: Instant) -> Result<Answer, Failure> {
        let body = receive(&self.stream, &mut self.frames, end).map_err(|silence| match silence {
            Silence::Timeout => Failure::new(FailureKind::Deadline, "the peer does not answer any more"),
            Silence::Closed | Silence::Garbage => broken_failure("the peer", "it closed the connection"),
            Silence::Failed(e) => broken_failure("the peer", e),
        })?;
        self.channel
            .open_message(&body)
            .ok_or_else(|| broken_failure("the peer", "its answer was altered in transit"))
    }
}

fn unexpected(answer: &Answer) -> Failure {
    match answer {
        Answer::Apart { protocol, version } => Failure::new(
            FailureKind::NotSupported,
            format!(
                "versions apart: the peer is tare {version}, protocol {protocol}; this is tare {}, protocol {PROTOCOL}",
                env!("CARGO_PKG_VERSION")
            ),
        ),
        Answer::Refused { reason } => broken_failure("the peer refuses", reason),
        Answer::Done { code } => {
            broken_failure("the peer", format!("its flow ended early, with exit code {code}"))
        }
        _ => broken_failure("the peer", "it answered something else than was requested"),
    }
}

#[derive(Debug)]
enum Silence {
    Timeout,
    Closed,
    /// Bytes that are not a frame.
    Garbage,
    Failed(io::Error),
}

fn no_handshake(address: &str, silence: Silence) -> Failure {
    match silence {
        Silence::Garbage => another_program(address),
        Silence::Timeout => broken_failure(
            "another program or an overloaded peer",
            format!(
                "{address} accepted the connection and stays silent; the join line of tare serve has the port"
            ),
        ),
        // A port forwarded to nothing closes in this way too.
        Silence::Closed | Silence::Failed(_) => broken_failure(
            "wrong or expired secret",
            format!(
                "{address} closed the connection at once; take the join line of the tare serve that runs there now"
            ),
        ),
    }
}

fn another_program(address: &str) -> Failure {
    broken_failure(
        "another program",
        format!("the program at {address} is not a tare peer; the join line of tare serve has the port"),
    )
}

fn receive(mut stream: &TcpStream, frames: &mut Frames, end: Instant) -> Result<Vec<u8>, Silence> {
    let mut bytes = [0u8; 512];
    loop {
        let room = frames.remaining_room().map_err(|_| Silence::Garbage)?.min(bytes.len());
        let left = end.checked_duration_since(Instant::now()).ok_or(Silence::Timeout)?;
        let left = left.max(Duration::from_millis(1));
        stream.set_read_timeout(Some(left)).map_err(Silence::Failed)?;
        match stream.read(&mut bytes[..room]) {
            Ok(0) => return Err(Silence::Closed),
            Ok(more) => {
                if let Some(body) = frames.push(&bytes[..more]).map_err(|_| Silence::Garbage)? {
                    return Ok(body);
                }
            }
            Err(e) if e.kind() == ErrorKind::Interrupted => {}
            Err(e) if matches!(e.kind(), ErrorKind::WouldBlock | ErrorKind::TimedOut) => {
                return Err(Silence::Timeout);
            }
            Err(e) => return Err(Silence::Failed(e)),
        }
    }
}
