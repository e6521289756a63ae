//! Networks: the session's own namespace, and the ways into it for containers and guests.

pub mod container;
pub mod guest;
pub mod lab;
pub mod netem;
pub mod passt;
