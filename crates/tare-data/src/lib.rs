//! The words of tare: the types that travel between the agent, the record, the analysis and the report.
//!
//! Nothing here does I/O or reads a clock.

#![forbid(unsafe_code)]
#![cfg_attr(not(test), warn(clippy::unwrap_used, clippy::print_stdout, clippy::print_stderr))]
// Tests may read files and clocks.
#![cfg_attr(test, allow(clippy::disallowed_methods, clippy::disallowed_types))]

pub mod batch;
pub mod budget;
pub mod build;
pub mod encoding;
pub mod facts;
pub mod failure;
pub mod foreign;
pub mod frame;
pub mod generator;
pub mod imported;
pub mod metric;
pub mod names;
pub mod peer;
pub mod request;
pub mod session;
pub mod shell;
pub mod unit;
pub mod warning;
