//! A connection to the peer: a stranger until it has proved the secret, then known.

use std::net::{IpAddr, SocketAddr};
use std::time::{Duration, Instant};

use rustix::fd::OwnedFd;
use rustix::io::Errno;
use rustix::net::{self, RecvFlags, SendFlags, sockopt};

use super::message::{Answer, Ask, Greeting, PROTOCOL};
use super::noise::{self, Channel, FIRST_FRAME, Frames, HANDSHAKE_BYTES, Secret};
use crate::net::flow::Flow;

/// A stranger has to prove the secret within this, and then to send its request.
pub const PATIENCE: Duration = Duration::from_secs(10);
/// Lowest port to which a peer connects: those below belong to servers of the system.
pub const LEAST_PORT: u16 = 1024;
pub const LONGEST_FLOW: Duration = Duration::from_secs(600);
/// A client whose machine vanished is noticed after this many seconds of silence, ...
const KEEP_ALIVE_IDLE: Duration = Duration::from_secs(10);
/// ... and this many probes without an answer ...
const KEEP_ALIVE_TRIES: u32 = 3;
/// ... this far apart.
const KEEP_ALIVE_APART: Duration = Duration::from_secs(5);

/// The fresh key of a handshake: distinguishes it from every other.
pub type HandshakeKey = [u8; 32];

/// A connection, and what it has sent so far.
pub struct Connection {
    pub socket: OwnedFd,
    pub from: SocketAddr,
    /// When it came, or proved the secret.
    pub since: Instant,
    state: State,
}

/// A stranger costs these few bytes, and nothing on the heap.
enum State {
    Stranger { bytes: [u8; FIRST_FRAME], filled: usize },
    Known(Box<Known>),
}

struct Known {
    channel: Channel,
    frames: Frames,
    /// True once it has sent its one request.
    asked: bool,
}

/// A flow that a client asks for.
#[derive(Debug)]
pub struct Wanted {
    pub flow: Flow,
    /// Port at which the client waits for the peer, where it does.
    pub connect_back: Option<u16>,
    /// Time after which it is ended.
    pub deadline: Duration,
}

pub enum Event {
    Nothing,
    /// It is over: it closed, failed, or speaks another protocol.
    Over,
    /// It has proved the secret, by this handshake; the answer waits to be sent.
    Proved(HandshakeKey, Box<(Channel, Vec<u8>)>),
    /// It queries who is there, or notes that its session has ended.
    Who {
        leaves: bool,
    },
    Flow(Wanted),
    /// Its request cannot be granted, for this reason; to be answered, and over.
    Refuse(Answer),
}

impl Connection {
    pub fn new(socket: OwnedFd, from: SocketAddr) -> Self {
        let state = State::Stranger { bytes: [0; FIRST_FRAME], filled: 0 };
        Connection { socket, from, since: Instant::now(), state }
    }

    pub(crate) fn is_stranger(&self) -> bool {
        matches!(self.state, State::Stranger { .. })
    }

    pub(crate) fn is_slow(&self, now: Instant) -> bool {
        !self.has_asked() && now.duration_since(self.since) >= PATIENCE
    }

    pub(crate) fn has_asked(&self) -> bool {
        matches!(&self.state, State::Known(known) if known.asked)
    }

    pub fn read_event(&mut self, secret: &Secret) -> Event {
        match &mut self.state {
            State::Stranger { bytes, filled } => {
                match net::recv(&self.socket, &mut bytes[*filled..], RecvFlags::DONTWAIT) {
                    Ok((0, _)) => return Event::Over,
                    Ok((more, _)) => *filled += more,
                    Err(Errno::AGAIN | Errno::INTR) => return Event::Nothing,
                    Err(_) => return Event::Over,
                }
                hear_stranger(&bytes[..*filled], secret)
            }
            State::Known(known) => {
                let mut bytes = [0u8; 512];
                let room = known.frames.remaining_room().unwrap_or(0).min(bytes.len());
                match net::recv(&self.socket, &mut bytes[..room], RecvFlags::DONTWAIT) {
                    Ok((0, _)) => Event::Over,
                    Ok((more, _)) => known.hear(&bytes[..more]),
                    Err(Errno::AGAIN | Errno::INTR) => Event::Nothing,
                    Err(_) => Event::Over,
                }
            }
        }
    }

    /// Makes a stranger known, and sends the other half of the handshake.
    pub fn admit_stranger(&mut self, channel: Channel, answer: &[u8]) -> Result<(), Errno> {
        self.write(answer)?;
        sockopt::set_socket_keepalive(&self.socket, true)?;
        sockopt::set_tcp_keepidle(&self.socket, KEEP_ALIVE_IDLE)?;
        sockopt::set_tcp_keepintvl(&self.socket, KEEP_ALIVE_APART)?;
        sockopt::set_tcp_keepcnt(&self.socket, KEEP_ALIVE_TRIES)?;
        self.since = Instant::now();
        self.state = State::Known(Box::new(Known { channel, frames: Frames::default(), asked: false }));
        Ok(())
    }

    /// Answers; an error ends the connection. A stranger is never answered.
    pub fn send_answer(&mut self, answer: &Answer) -> Result<(), Errno> {
        let State::Known(known) = &mut self.state else { return Err(Errno::PERM) };
        let frame = known.channel.seal_message(answer).ok_or(Errno::MSGSIZE)?;
        self.write(&frame)
    }

    /// Sends a few hundred bytes. A client that does not take as many has stopped reading.
    fn write(&self, bytes: &[u8]) -> Result<(), Errno> {
        match net::send(&self.socket, bytes, SendFlags::DONTWAIT | SendFlags::NOSIGNAL)? {
            sent if sent == bytes.len() => Ok(()),
            _ => Err(Errno::AGAIN),
        }
    }

    /// Returns the address at which the client talks to this machine.
    pub(crate) fn local_address(&self) -> Option<IpAddr> {
        let name = net::getsockname(&self.socket).ok()?;
        Some(SocketAddr::try_from(name).ok()?.ip())
    }
}

/// Interprets the bytes of a stranger: anything but a whole and valid first frame gets no answer.
fn hear_stranger(bytes: &[u8], secret: &Secret) -> Event {
    let length = (HANDSHAKE_BYTES as u16).to_be_bytes();
    if bytes.iter().zip(&length).any(|(is, wanted)| is != wanted) {
        return Event::Over;
    }
    if bytes.len() < FIRST_FRAME {
        return Event::Nothing;
    }
    let Some(channel) = noise::accept_handshake(secret, &bytes[2..]) else { return Event::Over };
    let mut key = HandshakeKey::default();
    key.copy_from_slice(&bytes[2..34]);
    Event::Proved(key, Box::new(channel))
}

impl Known {
    fn hear(&mut self, bytes: &[u8]) -> Event {
        let body = match self.frames.push(bytes) {
            Ok(Some(body)) => body,
            Ok(None) => return Event::Nothing,
            Err(_) => return Event::Over,
        };
        let Some(plain) = self.channel.open_bytes(&body) else { return Event::Over };
        // A connection may ask once; whatever follows is an error.
        if std::mem::replace(&mut self.asked, true) {
            return Event::Over;
        }
        understand(&plain)
    }
}

/// Interprets a message of a client.
fn understand(plain: &[u8]) -> Event {
    let Ok(Greeting { protocol, .. }) = serde_json::from_slice(plain) else { return Event::Over };
    if protocol != PROTOCOL {
        let version = env!("CARGO_PKG_VERSION").to_owned();
        return Event::Refuse(Answer::Apart { protocol: PROTOCOL, version });
    }
    let Ask { flow, connect_back, deadline_ms, leaves, .. } = match serde_json::from_slice(plain) {
        Ok(ask) => ask,
        Err(e) => return Event::Refuse(Answer::Refused { reason: e.to_string() }),
    };
    let Some(flow) = flow else { return Event::Who { leaves } };
    if connect_back.is_some_and(|port| port < LEAST_PORT) {
        let reason = format!("a peer connects to no port below {LEAST_PORT}");
        return Event::Refuse(Answer::Refused { reason });
    }
    match flow.check_bounds() {
        Ok(()) => {
            let deadline = Duration::from_millis(deadline_ms).min(LONGEST_FLOW);
            Event::Flow(Wanted { flow, connect_back, deadline })
        }
        Err(reason) => Event::Refuse(Answer::Refused { reason }),
    }
}
