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
pub mod plan;
pub mod pool;
pub mod report;
pub mod run;
pub mod selftest;
pub mod serve;
pub mod show;
pub mod sql;
mod time;
