//! A fleet: the same session on many machines, started by an engine that is there already. The folder is the truth.

#[cfg(unix)]
pub mod cell;
#[cfg(unix)]
pub mod driving;
#[cfg(unix)]
pub mod engines;
#[cfg(unix)]
mod exclusive;
pub mod files;
pub mod folder;
#[cfg(unix)]
mod jobs;
#[cfg(unix)]
mod making;
pub mod plan;
pub mod shipped;
