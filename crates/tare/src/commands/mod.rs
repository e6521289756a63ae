//! Commands: one file each.

pub mod check;
pub mod clean;
pub mod environment;
pub mod list;
pub mod report;
pub mod run;
pub mod serve;
pub mod show;
