//! Commands: one file each.

pub mod check;
pub mod clean;
pub mod environment;
pub mod import;
pub mod imported;
pub mod list;
pub mod report;
pub mod run;
pub mod serve;
pub mod show;
mod time;
