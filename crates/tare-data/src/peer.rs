//! The other end of a network case, and how an environment reaches it.

use serde::{Deserialize, Serialize};

/// Name of the peer inside the environment itself, started by the probe.
pub const LOOPBACK: &str = "loopback";
/// Name of the peer that the lab runs on this machine, outside the environment.
pub const HOST: &str = "host";

/// The other end, as an agent receives it. A case holds only a name ([`LOOPBACK`], [`HOST`] or one that the
/// user chose), since the route to it differs from environment to environment.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Peer {
    /// In the environment itself.
    Loopback,
    /// tare's own peer (`tare serve`).
    Tare {
        /// `HOST:PORT`, `[ADDRESS]:PORT` for IPv6; a name is looked up inside the environment.
        address: String,
        /// Shared by both ends, 32 bytes in hex. Good for one session; in no record and on no command line.
        secret: String,
    },
    /// A stock netserver 2.7, by its control port.
    Netperf { address: String },
}

/// Secrets stay out of messages and logs.
impl std::fmt::Debug for Peer {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Peer::Loopback => write!(f, "{LOOPBACK}"),
            Peer::Tare { address, .. } => write!(f, "tare://{address}"),
            Peer::Netperf { address } => write!(f, "netperf://{address}"),
        }
    }
}
