//! The far end of a flow as a probe holds it: a child on loopback, or a session at a peer.

use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::panic::AssertUnwindSafe;

use rustix::fd::OwnedFd;
use rustix::net::{self, SendFlags};
use rustix::rand::{GetRandomFlags, getrandom};
use tare_data::failure::{Failure, FailureKind};
use tare_data::peer::Peer;

use super::flow::{Flow, Rounds, Transport};
use super::serving::{Serving, TOKEN_BYTES, Token};
use super::{datagrams, sockets};
use crate::child::Child;
use crate::handover::Placement;
use crate::stopwatch::Stopwatch;
use crate::trial::{broken, prove};

/// The far end; it ends when this is dropped.
pub struct Far {
    address: SocketAddr,
    token: Token,
    held: Held,
    /// Closing ends the far end by itself, with an exit code.
    ends_by_closing: bool,
}

/// What keeps the far end there.
enum Held {
    Child(Child),
}

impl Far {
    /// Starts the far end of a flow. Where both ends are on this machine, `placement` says on which processors.
    pub fn open(peer: &Peer, flow: &Flow, placement: Placement) -> Result<Far, Failure> {
        match peer {
            Peer::Loopback => Far::on_loopback(flow, placement),
            other => Err(Failure::new(FailureKind::NotSupported, format!("no way to the peer {other:?}"))),
        }
    }

    fn on_loopback(flow: &Flow, placement: Placement) -> Result<Far, Failure> {
        let token = fresh_token()?;
        let any_port = SocketAddr::new(IpAddr::V4(Ipv4Addr::LOCALHOST), 0);
        let serving = Serving::prepare(flow, any_port, token, None)?;
        let address = serving.address();
        let child = Child::fork(
            &[],
            AssertUnwindSafe(move || match placement.there() {
                Ok(()) => serving.run(),
                Err(_) => 1,
            }),
        )?;
        let ends_by_closing = !matches!(flow, Flow::Rounds(Rounds { transport: Transport::Udp, .. }));
        Ok(Far { address, token, held: Held::Child(child), ends_by_closing })
    }

    /// Connects, timed, and shows the token.
    pub fn connect(&self, no_delay: bool) -> Result<(OwnedFd, Stopwatch), Failure> {
        let (socket, stopwatch) = sockets::connected(self.address, no_delay)?;
        let shown = net::send(&socket, &self.token, SendFlags::NOSIGNAL);
        let shown = shown.map_err(|e| sockets::stream_failure("showing the token", e))?;
        prove("bytes of the token sent", shown as u64, TOKEN_BYTES as u64)?;
        Ok((socket, stopwatch))
    }

    /// A socket that the far end knows and answers; timed from the greeting to its answer.
    pub fn greet(&self) -> Result<(OwnedFd, Stopwatch), Failure> {
        let mut stopwatch = Stopwatch::default();
        stopwatch.start();
        let socket = datagrams::greet(self.address, &self.token)?;
        stopwatch.stop();
        Ok((socket, stopwatch))
    }

    /// Ends the far end, and fails where it did not do its part. All connections to it are closed before.
    pub fn finish(self) -> Result<(), Failure> {
        match self.held {
            Held::Child(child) if self.ends_by_closing => {
                prove("exit code of the peer", child.wait().unwrap_or(-1) as u64, 0)
            }
            Held::Child(child) if child.is_alive() => Ok(()),
            Held::Child(child) => {
                let code = child.wait().unwrap_or(-1);
                Err(broken("the peer", format!("it ended early, with exit code {code}")))
            }
        }
    }
}

/// A token that nobody can guess.
pub fn fresh_token() -> Result<Token, Failure> {
    let mut token = [0; TOKEN_BYTES];
    match getrandom(&mut token, GetRandomFlags::empty()) {
        Ok(TOKEN_BYTES) => Ok(token),
        Ok(_) => Err(broken("a random token", "the system gave too few bytes")),
        Err(e) => Err(broken("a random token", e)),
    }
}
