//! The data plane of the network probes: what both ends of a flow do, wherever the other end runs.
//!
//! A probe describes a `Flow`, opens the `Far` end of it and runs its timed loop against the address that it
//! is given. The far end is a forked child on loopback, or a session at a tare peer. What sends it on Windows is in
//! `platform/windows/net`; what flows is the same.

#[cfg(unix)]
pub mod connections;
#[cfg(unix)]
pub mod datagrams;
#[cfg(unix)]
pub mod far;
pub mod flow;
#[cfg(unix)]
pub mod hops;
pub mod ledger;
#[cfg(unix)]
pub mod reaching;
#[cfg(unix)]
pub mod serving;
#[cfg(unix)]
pub mod sockets;
#[cfg(unix)]
pub(crate) mod stamps;
#[cfg(unix)]
pub mod streams;
#[cfg(unix)]
pub mod token;
#[cfg(unix)]
pub mod transfer;
#[cfg(unix)]
pub(crate) mod udp_peer;
