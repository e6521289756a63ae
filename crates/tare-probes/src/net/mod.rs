//! The data plane of the network probes: what both ends of a flow do, whoever runs the other end.
//!
//! A probe describes a [`Flow`], opens the [`Far`] end of it and runs its timed loop against the address that it
//! is given. The far end is a forked child on loopback, or a session at a peer of tare's own.

pub mod connections;
pub mod datagrams;
pub mod far;
pub mod flow;
pub mod hops;
pub mod ledger;
pub mod line;
pub mod reaching;
pub mod serving;
pub mod sockets;
pub mod stamps;
pub mod streams;
pub mod token;
pub mod transfer;
