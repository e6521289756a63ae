//! Exports, each read back by a program that it is meant for. Conditions and comparisons over time, by exit
//! codes.

#![allow(clippy::disallowed_methods, reason = "tests start what they look for by name")]

mod completing;
mod continuous;
mod diffs;
#[path = "../../src/exit.rs"]
#[allow(dead_code)]
mod exit;
mod figures;
mod files;
mod fleets;
mod gates;
mod languages;
mod manual;
mod packages;
#[cfg(unix)]
mod pasting;
#[path = "../commands/program.rs"]
#[allow(dead_code)]
mod program;
mod readers;
mod reading;
mod records;
#[path = "../refusals/mod.rs"]
#[allow(dead_code)]
mod refusals;
