//! What a session makes outside its own process: written down first, removed at the end or after a kill.

pub mod clean;
mod forgotten;
pub(crate) mod journal;
mod outcome;
pub(crate) mod owned;
pub(crate) mod state;
mod undoing;
pub mod workspace;
