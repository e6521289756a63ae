//! The words of tare: the types that travel between the agent, the record, the analysis and the report.
//!
//! Nothing here does I/O or reads a clock.

pub mod batch;
pub mod encoding;
pub mod facts;
pub mod failure;
pub mod frame;
pub mod generator;
pub mod imported;
pub mod metric;
pub mod names;
pub mod peer;
pub mod request;
pub mod session;
pub mod unit;
pub mod warning;
