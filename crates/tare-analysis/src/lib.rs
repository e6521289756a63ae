//! The meaning of results: pure functions from a session's raw samples to findings.
//!
//! Nothing here touches a file, a clock or the environment; randomness comes with a seed.
//! [`statistics`] knows intervals and tests of numbers, [`verdicts`] applies them to a session and lays the verdicts
//! out as [`mod@findings`]; every other module answers one question that people ask of findings.

#![forbid(unsafe_code)]
#![cfg_attr(not(test), warn(clippy::unwrap_used, clippy::print_stdout, clippy::print_stderr))]
// Tests may read files and clocks.
#![cfg_attr(test, allow(clippy::disallowed_methods, clippy::disallowed_types))]

pub mod across;
pub mod advice;
mod article_table;
pub mod bill;
pub mod change;
pub mod facts;
pub mod findings;
pub mod fleet;
pub mod gate;
pub mod here;
pub mod imported;
pub mod order;
pub mod outcome;
pub mod pooled;
pub mod published;
mod quantity;
pub mod selftest;
pub mod statistics;
mod target_pairs;
pub mod unixbench;
pub mod verdicts;

pub use target_pairs::orders;
pub use verdicts::assemble::{compute_findings, compute_step_findings};
pub use verdicts::look::Look;
pub use verdicts::rows::{Options, Progress};
