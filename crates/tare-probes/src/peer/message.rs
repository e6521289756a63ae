//! The messages that a peer and its client exchange in private.

use serde::{Deserialize, Serialize};

use crate::net::flow::Flow;

/// Raised when the messages, or what a flow does, change.
pub const PROTOCOL: u32 = 2;

/// The part of an [`Ask`] that every version understands.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct Greeting {
    /// [`PROTOCOL`] of the client.
    pub protocol: u32,
    /// Its version of tare, for people.
    pub version: String,
}

#[derive(Debug, Serialize, Deserialize)]
pub struct Ask {
    pub protocol: u32,
    pub version: String,
    /// None only queries who is there.
    pub flow: Option<Flow>,
    /// Port at which the client waits for the peer, which then connects to it: at the address that the client comes from, and
    /// at no other, so that a peer can be sent nowhere. None: the peer waits, and the client connects.
    #[serde(default)]
    pub connect_back: Option<u16>,
    /// True when the client's session has ended; with no flow.
    #[serde(default)]
    pub leaves: bool,
    /// The flow is ended after this, whatever it does.
    pub deadline_ms: u64,
}

/// Answers of the peer, one or more in this order.
#[derive(Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Answer {
    /// To a mere query: the peer's version, and how many sessions wait or are served.
    Here { version: String, sessions: u32 },
    /// `before` sessions come first; another answer follows.
    Queued { before: u32 },
    /// The flow's port at the address that the client talks to, and its token in hex; port 0 where the peer connects.
    Ready { port: u16, token: String },
    /// The flow ended by itself, with the exit code of its process.
    Done { code: i32 },
    /// Versions are apart; the peer's are named.
    Apart { protocol: u32, version: String },
    /// The flow cannot be had, for a reason.
    Refused { reason: String },
}
