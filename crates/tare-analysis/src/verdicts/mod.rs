//! From raw samples to verdicts: a value a trial, pairs of values a round, a verdict a cell.

pub mod assemble;
pub mod comparable;
mod correction;
pub mod curve;
pub mod judge;
pub mod order;
pub mod pairs;
pub mod rows;
pub mod stability;
pub mod stopping;
pub mod summary;
pub mod verdict;
