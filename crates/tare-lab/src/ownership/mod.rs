//! What a session makes outside its own process: written down first, taken away at the end or after a kill.

pub mod clean;
pub mod journal;
pub mod owned;
pub mod workspace;
