//! The far end of a flow as a probe holds it: a child on loopback, or a session at a peer.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::panic::AssertUnwindSafe;
use std::time::Duration;

use rustix::fd::OwnedFd;
use rustix::io::Errno;
use rustix::net::sockopt;
use tare_data::failure::{Failure, FailureKind};
use tare_data::peer::Peer;

use crate::harness::child::Child;
use crate::harness::handover::Placement;
use crate::harness::stopwatch::Stopwatch;
use crate::harness::trial::{Trial, broken_failure, prove_count};
use crate::net::flow::{Flow, RESPONSE, Rounds, Transport};
use crate::net::meeting::{Door, connect_with_token};
use crate::net::serving::Serving;
use crate::net::token::{TOKEN_BYTES, Token, fresh_token};
use crate::net::udp_peer::UdpPeer;
use crate::net::{datagrams, sockets};
use crate::netperf::client::{self, Driven};
use crate::peer::Secret;
use crate::peer::client::PeerSession;

/// The far end; it ends when this is dropped.
pub struct Far {
    address: SocketAddr,
    token: Token,
    held: Held,
    /// The door at which this end waits for the far one to come, where that goes here.
    door: Option<Door>,
    /// Closing ends the far end by itself, with an exit code.
    ends_by_closing: bool,
}

enum Held {
    Child(Child),
    Session(Box<PeerSession>),
    Netserver(Box<Driven>),
}

impl Far {
    /// Starts the far end of a flow at the trial's peer. `placement` chooses processors on loopback only.
    pub fn open(trial: &Trial<'_>, flow: &Flow, placement: Placement) -> Result<Far, Failure> {
        let peer = trial.peer()?;
        if *peer == Peer::Loopback {
            return Far::on_loopback(flow, placement);
        }
        if !matches!(placement, Placement::Free) {
            let reason = "only with the peer loopback can both ends be put on chosen processors";
            return Err(Failure::new(FailureKind::NotSupported, reason));
        }
        match peer {
            Peer::Tare { address, secret } => Far::at_peer(address, secret, flow, trial.deadline()),
            Peer::Published { address, secret, port } => {
                Far::behind_published_port(address, secret, *port, flow, trial.deadline())
            }
            Peer::Netperf { address } => Far::at_netserver(address, flow, trial.deadline()),
            Peer::Loopback => Err(broken_failure("the peer", "loopback is not reached over a network")),
        }
    }

    fn at_netserver(address: &str, flow: &Flow, deadline: Duration) -> Result<Far, Failure> {
        let mut driven = Driven::open(address, flow, deadline)?;
        // Round trips are one test; connections and streams are one test per batch, which states how much it holds.
        let data = match flow {
            Flow::Rounds(_) | Flow::Hops => driven.begin_test(None)?,
            Flow::Connections { .. } | Flow::Transfer(_) => SocketAddr::from(([0; 4], 0)),
        };
        let held = Held::Netserver(Box::new(driven));
        Ok(Far {
            address: data,
            token: [0; TOKEN_BYTES],
            held,
            door: None,
            ends_by_closing: by_closing(flow),
        })
    }

    /// Returns the byte with which the peer's responses begin.
    pub fn response_byte(&self) -> u8 {
        if self.is_netserver() { client::RESPONSE } else { RESPONSE }
    }

    /// Tells a netserver, which knows no token, no numbers, and takes one connection per batch of a stream,
    /// from tare's own far end.
    pub(crate) fn is_netserver(&self) -> bool {
        matches!(self.held, Held::Netserver(_))
    }

    /// Begins a batch of `count` transactions or bytes, where the far end has to know.
    pub fn begin_batch(&mut self, count: u64) -> Result<(), Failure> {
        if let Held::Netserver(driven) = &mut self.held {
            self.address = driven.begin_test(Some(count))?;
        }
        Ok(())
    }

    /// Ends what was begun, where the far end counts for itself: it has to have seen at least what was answered
    /// and at most what was sent. `part` is the line of a flow over UDP, which nothing else would end.
    pub fn settle_batch(
        &mut self,
        answered: u64,
        sent: u64,
        part: Option<&UdpPeer<OwnedFd>>,
    ) -> Result<(), Failure> {
        let Held::Netserver(driven) = &mut self.held else { return Ok(()) };
        if let Some(line) = part {
            driven.send_farewells(line);
        }
        let counted = driven.read_count()?;
        if (answered..=sent).contains(&counted) {
            return Ok(());
        }
        prove_count("the count of netserver", counted, answered)
    }

    fn at_peer(address: &str, secret: &str, flow: &Flow, deadline: Duration) -> Result<Far, Failure> {
        let secret = parse_secret(secret)?;
        let mut session = PeerSession::open(address, &secret)?;
        let ready = session.request_flow(flow, deadline)?;
        let (address, token) = (ready.address, ready.token);
        let held = Held::Session(Box::new(session));
        Ok(Far { address, token, held, door: None, ends_by_closing: by_closing(flow) })
    }

    /// Waits at a port that the environment publishes, and has the peer come there.
    fn behind_published_port(
        address: &str,
        secret: &str,
        port: u16,
        flow: &Flow,
        deadline: Duration,
    ) -> Result<Far, Failure> {
        let secret = parse_secret(secret)?;
        let mut session = PeerSession::open(address, &secret)?;
        let any: IpAddr = match session.address().ip() {
            IpAddr::V4(_) => Ipv4Addr::UNSPECIFIED.into(),
            IpAddr::V6(_) => Ipv6Addr::UNSPECIFIED.into(),
        };
        let (socket, here) = sockets::bind_socket(flow.transport(), SocketAddr::new(any, port), 1)?;
        let token = session.request_connection_back(flow, here.port(), deadline)?;
        let door = Some(Door { socket, token, from: None });
        let (address, held) = (session.address(), Held::Session(Box::new(session)));
        Ok(Far { address, token, held, door, ends_by_closing: by_closing(flow) })
    }

    /// Starts the far end in a process of its own.
    pub(crate) fn on_loopback(flow: &Flow, placement: Placement) -> Result<Far, Failure> {
        let token = fresh_token()?;
        let any_port = SocketAddr::new(IpAddr::V4(Ipv4Addr::LOCALHOST), 0);
        let serving = Serving::listen_at(flow, any_port, token, None)?;
        let address = serving.address();
        let child = Child::fork(
            &[],
            AssertUnwindSafe(move || match placement.pin_other_side() {
                Ok(()) => serving.serve_flow(),
                Err(_) => 1,
            }),
        )?;
        let held = Held::Child(child);
        Ok(Far { address, token, held, door: None, ends_by_closing: by_closing(flow) })
    }

    pub fn address(&self) -> SocketAddr {
        self.address
    }

    pub fn token(&self) -> &Token {
        &self.token
    }

    /// Tells whether the far end admits only clients that show the token.
    pub(crate) fn is_strict(&self) -> bool {
        matches!(self.held, Held::Session(_))
    }

    /// Meets the far end in a stream; timed where this end connects.
    pub fn connect(&self, no_delay: bool) -> Result<(OwnedFd, Option<Stopwatch>), Failure> {
        if let Some(door) = &self.door {
            let stream = door.admit().map_err(|e| not_come("a connection", e))?;
            if no_delay {
                sockopt::set_tcp_nodelay(&stream, true).map_err(|e| broken_failure("TCP_NODELAY", e))?;
            }
            sockets::set_deadline(&stream, sockets::SILENCE)?;
            return Ok((stream, None));
        }
        let (stream, stopwatch) = match self.held {
            Held::Netserver(_) => sockets::connect_stream(self.address, no_delay)?,
            Held::Child(_) | Held::Session(_) => connect_with_token(self.address, &self.token, no_delay)?,
        };
        Ok((stream, Some(stopwatch)))
    }

    /// Opens a line that the far end knows and answers; timed from the greeting to its answer where this end greets.
    pub fn greet(&mut self) -> Result<(UdpPeer<OwnedFd>, Option<Stopwatch>), Failure> {
        if let Some(door) = self.door.take() {
            let line = door.wait_for_greeting().map_err(|e| not_come("a datagram", e))?;
            sockets::set_deadline(line.socket(), datagrams::GIVEN_UP_AFTER)?;
            return Ok((line, None));
        }
        if let Held::Netserver(driven) = &self.held {
            return Ok((datagrams::open_ungreeted_line(self.address)?, Some(driven.exchange_time())));
        }
        let mut stopwatch = Stopwatch::start_new();
        let line = datagrams::greet_far_end(self.address, &self.token)?;
        stopwatch.stop();
        Ok((line, Some(stopwatch)))
    }

    /// Ends the far end, and fails where it did not do its part. All connections to it are closed before.
    pub fn finish(self) -> Result<(), Failure> {
        match self.held {
            Held::Child(child) if self.ends_by_closing => {
                prove_count("exit code of the peer", child.wait().unwrap_or(-1) as u64, 0)
            }
            Held::Child(child) if child.is_alive() => Ok(()),
            Held::Child(child) => {
                let code = child.wait().unwrap_or(-1);
                Err(broken_failure("the peer", format!("it ended early, with exit code {code}")))
            }
            // Settled, batch by batch.
            Held::Netserver(_) => Ok(()),
            Held::Session(session) if self.ends_by_closing => {
                prove_count("exit code of the peer's flow", session.wait_for_end()? as u64, 0)
            }
            Held::Session(mut session) => match session.ended_early()? {
                None => Ok(()),
                Some(code) => {
                    Err(broken_failure("the peer", format!("its flow ended early, with exit code {code}")))
                }
            },
        }
    }
}

/// Explains that nothing came to the published port.
fn not_come(what: &str, cause: Errno) -> Failure {
    match cause {
        Errno::TIMEDOUT => {
            let reason =
                format!("{what} of the peer did not come to the published port: it may not be passed on");
            Failure::new(FailureKind::Broken, reason)
        }
        other => broken_failure("the published port", other),
    }
}

fn parse_secret(text: &str) -> Result<Secret, Failure> {
    Secret::parse(text).ok_or_else(|| broken_failure("the peer's secret", "it is not 64 hex digits"))
}

/// Tells whether the far end of a flow ends when its one connection is closed.
fn by_closing(flow: &Flow) -> bool {
    match flow {
        Flow::Rounds(Rounds { transport, .. }) => *transport == Transport::Tcp,
        Flow::Connections { .. } | Flow::Hops => false,
        Flow::Transfer(_) => true,
    }
}
