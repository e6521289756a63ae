//! The other end of a network case, and how an environment reaches it.

use serde::{Deserialize, Serialize};

/// Name of the peer inside the environment itself, started by the probe.
pub const LOOPBACK: &str = "loopback";
/// Name of the peer that is another node of a fleet.
pub const NODE: &str = "node";
/// Name of the peer that the lab runs on this machine, outside the environment.
pub const HOST: &str = "host";
/// Default port of a netserver.
pub const NETPERF_PORT: u16 = 12865;

/// Name of the same peer where it comes to a port that the environment publishes: the way in.
pub const PUBLISHED: &str = "published";

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
    /// tare's own peer, which comes to the environment.
    Published {
        /// `HOST:PORT` of the peer, as the environment reaches it.
        address: String,
        /// As above.
        secret: String,
        /// Port at which the environment waits, and which leads there from outside; 0: any port does.
        port: u16,
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
            Peer::Published { address, port: 0, .. } => write!(f, "tare://{address}, any port"),
            Peer::Published { address, port, .. } => write!(f, "tare://{address}, port {port}"),
            Peer::Netperf { address } => write!(f, "netperf://{address}"),
        }
    }
}

/// Position of the other end of a result that an article or another tool gives.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum PeerKind {
    /// In the environment itself.
    Loopback,
    /// Outside it: on the same machine or on another.
    Outside,
}

impl PeerKind {
    /// Classifies the peer that a case names.
    pub fn from_name(name: &str) -> PeerKind {
        if name == LOOPBACK { PeerKind::Loopback } else { PeerKind::Outside }
    }

    /// Classifies a peer by the name or the address that a tool prints.
    pub fn from_address(address: &str) -> PeerKind {
        let is_loopback = match address.parse::<std::net::IpAddr>() {
            Ok(address) => address.is_loopback(),
            Err(_) => address == "localhost" || address == "ip6-localhost",
        };
        if is_loopback { PeerKind::Loopback } else { PeerKind::Outside }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_peer_is_in_the_environment_or_outside_it() {
        for (address, kind) in [
            ("127.0.0.1", PeerKind::Loopback),
            ("127.1.2.3", PeerKind::Loopback),
            ("::1", PeerKind::Loopback),
            ("localhost", PeerKind::Loopback),
            ("10.0.0.10", PeerKind::Outside),
            ("server.example", PeerKind::Outside),
        ] {
            assert_eq!(PeerKind::from_address(address), kind, "{address}");
        }
        assert_eq!(PeerKind::from_name(HOST), PeerKind::Outside);
        assert_eq!(PeerKind::from_name(LOOPBACK), PeerKind::Loopback);
    }
}
