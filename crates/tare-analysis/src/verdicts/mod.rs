//! From raw samples to verdicts: a value a trial, pairs of values a round, a verdict a cell.

pub(crate) mod assemble;
mod comparison;
pub(crate) mod controls;
mod correction;
pub mod curve;
pub mod doubts;
pub mod judge;
pub mod leaving;
pub mod pairs;
mod planted;
pub mod rows;
pub mod stopping;
pub mod summary;
pub(crate) mod target_warnings;
pub mod verdict;
