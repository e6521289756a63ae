//! tare's own peer: the far end of network probes on another machine, safe to leave running.
//!
//! Whoever knows the secret may request one flow per session; everybody else gets silence. What is exchanged in private
//! goes over a standard handshake (Noise NNpsk0); what is measured goes beside it in plain, as other programs'
//! traffic does, and carries a token that was sent in private. docs/internals/security.md has the threats.

pub mod client;
pub mod connection;
pub mod message;
pub mod noise;
pub mod process;
pub mod server;

pub use noise::Secret;
pub use server::{Server, Terms};
