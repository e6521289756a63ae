//! A peer as a process of its own, which a session starts on this machine and which gets its terms over a pipe.

use std::io::{self, BufRead, Write};
use std::net::SocketAddr;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::noise::Secret;
use super::server::{Server, Terms};
use crate::platform::die_with_parent;

/// First argument under which the program is a peer.
pub const PEER: &str = "agent-peer";
const LONGEST_TERMS: u64 = 4096;

/// Request that the starting process writes to standard input, as one line.
#[derive(Serialize, Deserialize)]
pub struct PeerRequest {
    pub listen: SocketAddr,
    /// 64 hex digits.
    pub secret: String,
    /// Seconds.
    pub expires_s: u64,
}

/// Reply that the peer writes to standard output, as one line.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum PeerReply {
    Listening(SocketAddr),
    /// It cannot, for a reason.
    Failed(String),
}

/// Reads the terms, reports where it listens, and serves until it is killed or its parent ends.
pub(crate) fn run_peer() -> io::Result<()> {
    if let Some(parent) = rustix::process::getppid() {
        die_with_parent(parent);
    }
    let mut line = String::new();
    io::Read::take(io::stdin().lock(), LONGEST_TERMS).read_line(&mut line)?;
    let send = |reply: &PeerReply| -> io::Result<()> {
        let mut out = io::stdout().lock();
        writeln!(out, "{}", serde_json::to_string(reply)?)?;
        out.flush()
    };
    let request: PeerRequest = serde_json::from_str(&line)?;
    let Some(secret) = Secret::parse(&request.secret) else {
        return send(&PeerReply::Failed("the secret is not 64 hex digits".into()));
    };
    let expires = Some(Duration::from_secs(request.expires_s));
    let server = match Server::bind(Terms {
        listen: request.listen,
        secret,
        data_port: None,
        expires,
        sessions: None,
    }) {
        Ok(server) => server,
        Err(failure) => return send(&PeerReply::Failed(failure.reason)),
    };
    send(&PeerReply::Listening(server.address()))?;
    server.serve(&|| false).map(drop).map_err(|failure| io::Error::other(failure.reason))
}
