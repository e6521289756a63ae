//! Commands: one file each.

pub mod advise;
pub mod check;
pub mod clean;
pub mod completions;
pub mod diff;
pub mod environment;
pub mod explain;
pub mod first;
pub mod fleet;
pub mod import;
pub mod ladder;
pub mod licences;
pub mod list;
pub mod man;
#[cfg(not(unix))]
mod not_here;
pub mod plan;
pub mod pool;
pub mod report;
pub mod run;
pub mod selftest;
#[cfg(unix)]
pub mod serve;
pub mod show;
pub mod sql;
mod time;

#[cfg(not(unix))]
pub use not_here::serve;
