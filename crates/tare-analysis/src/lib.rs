//! What the figures mean: pure functions from a session's raw samples to findings.
//!
//! Nothing here touches a file, a clock or the environment; randomness comes with a seed.
//! The road: [`summary`] reads a value from each trial, [`compare`] and [`sign`] know intervals and tests of paired
//! differences, [`stopping`] says at which looks they are taken, [`mod@judge`] makes a verdict of them, [`rows`] does
//! so for every cell, and [`assemble`] lays the verdicts out as [`mod@findings`].

pub mod assemble;
pub mod attribution;
pub mod binomial;
pub mod change;
pub mod changed_facts;
pub mod comparable;
pub mod compare;
pub mod curve;
pub mod facts;
pub mod findings;
pub mod gate;
pub mod index;
pub mod judge;
pub mod modes;
pub mod multiplicity;
pub mod normal;
pub mod order;
pub mod pooled;
pub mod published;
pub mod rows;
pub mod sign;
pub mod spread;
pub mod stability;
pub mod stopping;
pub mod summary;
pub mod tails;
pub mod unixbench;
pub mod verdict;

pub use assemble::{decide, findings, indices};
pub use rows::{Options, Progress};
