//! The data plane of the network probes: what both ends of a flow do, wherever the other end runs.
//!
//! A probe describes a `Flow`, opens the far end of it (`far_end.rs`) and runs its timed loop against the address that it
//! is given. Both ends on Windows are in `windows/`; what flows is the same.

#[cfg(unix)]
pub(crate) mod connections;
#[cfg(unix)]
pub mod datagrams;
pub mod flow;
#[cfg(unix)]
pub mod hops;
pub mod ledger;
#[cfg(unix)]
pub(crate) mod meeting;
#[cfg(unix)]
pub(crate) mod reaching;
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
#[cfg(windows)]
pub(crate) mod windows;
