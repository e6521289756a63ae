//! Commands: one file each, or a folder for a command with subcommands.

pub mod advise;
pub mod check;
pub mod clean;
pub mod compare;
pub mod environment;
pub mod explain;
pub mod fleet;
pub mod front_desk;
#[cfg(unix)]
pub mod here;
pub mod import;
pub mod itself;
pub mod ladder;
pub mod list;
#[cfg(not(unix))]
mod not_here;
pub(crate) mod own_launchers;
pub mod report;
pub mod run;
pub mod selftest;
#[cfg(unix)]
pub mod serve;
pub mod show;
pub mod sides;
mod time;

#[cfg(not(unix))]
pub use not_here::{here, serve};
