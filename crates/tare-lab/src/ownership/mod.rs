//! Things that a session makes outside its own process: written down first, removed at the end or after a kill.

pub(crate) mod begun;
pub mod clean;
#[cfg(unix)]
mod forgotten;
pub(crate) mod journal;
#[cfg_attr(not(unix), path = "not_of_linux.rs")]
mod of_linux;
mod outcome;
mod shared;
mod start;
pub(crate) mod state;
mod undoing;
pub mod workspace;
