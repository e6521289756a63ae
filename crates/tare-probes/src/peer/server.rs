//! The peer itself: one loop, one process, and a process of its own for the flow that is being served.

#![allow(unsafe_code, reason = "a timer whose signal ends the process")]

use std::collections::{BTreeMap, HashSet, VecDeque};
use std::net::SocketAddr;
use std::panic::AssertUnwindSafe;
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags};
use rustix::fd::{AsFd, BorrowedFd, OwnedFd};
use rustix::io::Errno;
use rustix::net::{self, SocketFlags};
use tare_data::encoding::encode_hex;
use tare_data::failure::Failure;

use super::connection::{Connection, Event, HandshakeKey, PATIENCE, Wanted};
use super::message::Answer;
use super::noise::Secret;
use crate::harness::child::Child;
use crate::harness::readiness::wait_ready;
use crate::harness::trial::broken_failure;
use crate::net::flow::Transport;
use crate::net::serving::Serving;
use crate::net::sockets;
use crate::net::token::fresh_token;

/// Strangers at a time; one more, and the oldest makes room.
const MOST_STRANGERS: usize = 128;
/// Sessions that wait at a time, with room below the usual limit of 1024 open files.
const MOST_SESSIONS: usize = 512;
/// Handshakes that a secret is good for: a long study takes a few thousand. Each is remembered, so that none is
/// answered twice.
const MOST_HANDSHAKES: usize = 50_000;
const MOST_ACCEPTED: usize = 64;
/// Connections that the kernel holds for the loop.
const BACKLOG: i32 = 256;
/// A flow's process gets this long beyond its deadline.
const GRACE: Duration = Duration::from_secs(2);
const LONGEST_SLEEP: Duration = Duration::from_secs(3600);
/// Pause when no connection can be taken for want of open files.
const NO_ROOM_PAUSE: Duration = Duration::from_millis(20);

#[derive(Clone, Debug)]
pub struct Terms {
    pub listen: SocketAddr,
    pub secret: Secret,
    /// Port of data flows, TCP and UDP; any free one where none is given.
    pub data_port: Option<u16>,
    pub expires: Option<Duration>,
    /// Sessions after whose end it stops.
    pub sessions: Option<u32>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PeerEnding {
    Expired,
    /// As many sessions ended as it was to serve.
    Served,
    /// As many handshakes were made as can be remembered.
    UsedUp,
    Stopped,
}

#[derive(Clone, Copy, Debug)]
pub struct Account {
    pub ending: PeerEnding,
    pub served: u64,
    /// Connections that did not prove the secret.
    pub strangers: u64,
}

pub struct Server {
    terms: Terms,
    listener: OwnedFd,
    address: SocketAddr,
    began: Instant,
    connections: BTreeMap<u64, Connection>,
    next: u64,
    /// Connections that wait, each with what it waits for, in order.
    queue: VecDeque<(u64, Wanted)>,
    active: Option<Active>,
    seen: HashSet<HandshakeKey>,
    served: u64,
    strangers: u64,
    /// Sessions that have ended.
    left: u32,
}

struct Active {
    client: u64,
    child: Child,
    /// Closed by the end of the child.
    end: OwnedFd,
    deadline: Instant,
}

impl Server {
    pub fn bind(terms: Terms) -> Result<Server, Failure> {
        let (listener, address) = sockets::bind_socket(Transport::Tcp, terms.listen, BACKLOG)?;
        rustix::io::ioctl_fionbio(&listener, true).map_err(|e| broken_failure("the peer's socket", e))?;
        Ok(Server {
            terms,
            listener,
            address,
            began: Instant::now(),
            connections: BTreeMap::new(),
            next: 0,
            queue: VecDeque::new(),
            active: None,
            seen: HashSet::new(),
            served: 0,
            strangers: 0,
            left: 0,
        })
    }

    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Serves until the terms end, or `stop` is true; it is checked after each event and each signal.
    pub fn serve(mut self, stop: &dyn Fn() -> bool) -> Result<Account, Failure> {
        loop {
            if let Some(ending) = self.ending(stop) {
                let (served, strangers) = (self.served, self.strangers);
                return Ok(Account { ending, served, strangers });
            }
            let ready = self.wait()?;
            for id in ready.connections {
                self.hear(id);
            }
            if ready.flow_ended {
                self.flow_ended();
            }
            if ready.listener {
                self.accept();
            }
            self.tidy();
            self.start_next();
        }
    }

    fn expires(&self) -> Option<Instant> {
        self.terms.expires.map(|after| self.began + after)
    }

    /// Decides whether the server ends. A flow that is being served is served to its end.
    fn ending(&self, stop: &dyn Fn() -> bool) -> Option<PeerEnding> {
        if stop() {
            return Some(PeerEnding::Stopped);
        }
        let expired = self.expires().is_some_and(|end| Instant::now() >= end);
        let used_up = self.seen.len() >= MOST_HANDSHAKES;
        match self.active {
            None if expired => Some(PeerEnding::Expired),
            None if self.terms.sessions.is_some_and(|most| self.left >= most) => Some(PeerEnding::Served),
            None if used_up && self.queue.is_empty() => Some(PeerEnding::UsedUp),
            _ => None,
        }
    }

    /// Sleeps until something is to be done.
    fn wait(&self) -> Result<News, Failure> {
        let now = Instant::now();
        let patience = self.connections.values().filter(|c| !c.has_asked()).map(|c| c.since + PATIENCE);
        let flow = self.active.as_ref().map(|active| active.deadline);
        // Past its end, a peer only waits for the flow.
        let expires = self.expires().filter(|end| *end > now || self.active.is_none());
        let wake = patience.chain(flow).chain(expires).min().unwrap_or(now + LONGEST_SLEEP);
        let sleep = wake.saturating_duration_since(now).min(LONGEST_SLEEP) + Duration::from_millis(1);
        let mut waited = vec![PollFd::new(&self.listener, PollFlags::IN)];
        let end = self.active.as_ref().map(|active| &active.end);
        waited.push(PollFd::new(end.unwrap_or(&self.listener), PollFlags::IN));
        waited.extend(self.connections.values().map(|c| PollFd::new(&c.socket, PollFlags::IN)));
        wait_ready(&mut waited, sleep).map_err(|e| broken_failure("waiting for connections", e))?;
        let is_ready = |fd: &PollFd<'_>| !fd.revents().is_empty();
        let with_news = self.connections.keys().zip(&waited[2..]).filter(|(_, fd)| is_ready(fd));
        Ok(News {
            listener: is_ready(&waited[0]),
            flow_ended: self.active.is_some() && is_ready(&waited[1]),
            connections: with_news.map(|(id, _)| *id).collect(),
        })
    }

    fn accept(&mut self) {
        for _ in 0..MOST_ACCEPTED {
            let flags = SocketFlags::CLOEXEC | SocketFlags::NONBLOCK;
            let (socket, from) = match net::acceptfrom_with(&self.listener, flags) {
                Ok((socket, from)) => (socket, from.and_then(|from| SocketAddr::try_from(from).ok())),
                Err(Errno::AGAIN) => return,
                Err(Errno::MFILE | Errno::NFILE | Errno::NOBUFS | Errno::NOMEM) => {
                    self.drop_oldest_stranger();
                    std::thread::sleep(NO_ROOM_PAUSE);
                    return;
                }
                Err(_) => continue,
            };
            let Some(from) = from else { continue };
            // A grant follows an answer, in a separate frame that Nagle's algorithm would hold back.
            let _ = net::sockopt::set_tcp_nodelay(&socket, true);
            if self.connections.values().filter(|c| c.is_stranger()).count() >= MOST_STRANGERS {
                self.drop_oldest_stranger();
            }
            if self.connections.len() < MOST_SESSIONS + MOST_STRANGERS {
                self.connections.insert(self.next, Connection::new(socket, from));
                self.next += 1;
            }
        }
    }

    fn drop_oldest_stranger(&mut self) {
        let oldest = self.connections.iter().find(|(_, c)| c.is_stranger()).map(|(id, _)| *id);
        if let Some(id) = oldest {
            self.end(id);
        }
    }

    /// Forgets a connection, and ends what is served to it.
    fn end(&mut self, id: u64) {
        let gone = self.connections.remove(&id);
        self.strangers += u64::from(gone.is_some_and(|c| c.is_stranger()));
        self.queue.retain(|(waiting, ..)| *waiting != id);
        // The child is killed with it.
        self.active.take_if(|active| active.client == id);
    }

    /// Ends those that take too long.
    fn tidy(&mut self) {
        let now = Instant::now();
        let slow: Vec<u64> =
            self.connections.iter().filter(|(_, c)| c.is_slow(now)).map(|(id, _)| *id).collect();
        slow.into_iter().for_each(|id| self.end(id));
        if let Some(active) = self.active.as_ref().filter(|active| active.deadline <= now) {
            self.end(active.client);
        }
    }

    fn hear(&mut self, id: u64) {
        let Some(connection) = self.connections.get_mut(&id) else { return };
        match connection.read_event(&self.terms.secret) {
            Event::Nothing => {}
            Event::Over => self.end(id),
            Event::Proved(key, channel) => {
                // A handshake that was made before is a replay.
                let is_new = self.seen.len() < MOST_HANDSHAKES && self.seen.insert(key);
                let (channel, answer) = *channel;
                if !is_new || connection.admit_stranger(channel, &answer).is_err() {
                    self.end(id);
                }
            }
            Event::Who { leaves } => {
                self.left += u32::from(leaves);
                let sessions = self.queue.len() as u32 + u32::from(self.active.is_some());
                let version = env!("CARGO_PKG_VERSION").to_owned();
                self.say(id, &Answer::Here { version, sessions });
            }
            Event::Refuse(answer) => self.refuse(id, &answer),
            Event::Flow(wanted) => {
                let before = self.queue.len() as u32 + u32::from(self.active.is_some());
                self.queue.push_back((id, wanted));
                if before > 0 {
                    self.say(id, &Answer::Queued { before });
                }
            }
        }
    }

    fn say(&mut self, id: u64, answer: &Answer) {
        let said = self.connections.get_mut(&id).map(|connection| connection.send_answer(answer));
        if said.is_some_and(|said| said.is_err()) {
            self.end(id);
        }
    }

    fn refuse(&mut self, id: u64, answer: &Answer) {
        self.say(id, answer);
        self.end(id);
    }

    fn flow_ended(&mut self) {
        let Some(Active { client, child, .. }) = self.active.take() else { return };
        let code = child.wait().unwrap_or(-1);
        self.say(client, &Answer::Done { code });
    }

    fn start_next(&mut self) {
        while self.active.is_none()
            && let Some((id, wanted)) = self.queue.pop_front()
        {
            match self.start(id, &wanted) {
                Ok(answer) => {
                    self.served += 1;
                    self.say(id, &answer);
                }
                Err(failure) => self.refuse(id, &Answer::Refused { reason: failure.reason }),
            }
        }
    }

    fn start(
        &mut self,
        id: u64,
        Wanted { flow, connect_back, deadline }: &Wanted,
    ) -> Result<Answer, Failure> {
        let connection =
            self.connections.get(&id).ok_or_else(|| broken_failure("the session", "it is over"))?;
        let local = connection.local_address().ok_or_else(|| broken_failure("the session", "it is over"))?;
        let token = fresh_token()?;
        let from = connection.from.ip();
        let (serving, port) = match connect_back {
            None => {
                let address = SocketAddr::new(local, self.terms.data_port.unwrap_or(0));
                let serving = Serving::listen_at(flow, address, token, Some(from))?;
                let port = serving.address().port();
                (serving, port)
            }
            Some(port) => (Serving::go_to(flow, SocketAddr::new(from, *port), token)?, 0),
        };
        let (end, held) = rustix::pipe::pipe().map_err(|e| broken_failure("a pipe", e))?;
        let sockets = self.connections.values().map(|c| c.socket.as_fd());
        let not_its_own: Vec<BorrowedFd<'_>> = sockets.chain([self.listener.as_fd(), end.as_fd()]).collect();
        let longest = *deadline + GRACE;
        let child = Child::fork(
            &not_its_own,
            AssertUnwindSafe(move || {
                // The end of this process closes it, and wakes the loop.
                let _held = held;
                // SAFETY: sets a timer whose signal ends this process.
                unsafe { libc::alarm(longest.as_secs() as libc::c_uint) };
                serving.serve_flow()
            }),
        )?;
        self.active = Some(Active { client: id, child, end, deadline: Instant::now() + longest });
        Ok(Answer::Ready { port, token: encode_hex(&token) })
    }
}

#[derive(Default)]
struct News {
    listener: bool,
    flow_ended: bool,
    connections: Vec<u64>,
}
