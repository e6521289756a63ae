//! The data plane of the network probes: what both ends of a flow do, wherever the other end runs.
//!
//! A probe describes a `Flow`, opens the `Far` end of it and runs its timed loop against the address that it
//! is given. The far end is a forked child on loopback, or a session at a tare peer.

pub mod connections;
pub mod datagrams;
pub mod far;
pub mod flow;
pub mod hops;
pub mod ledger;
pub mod reaching;
pub mod serving;
pub mod sockets;
pub(crate) mod stamps;
pub mod streams;
pub mod token;
pub mod transfer;
pub(crate) mod udp_peer;
