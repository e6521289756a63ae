//! From raw samples to verdicts: a value a trial, pairs of values a round, a verdict a cell.

mod apart;
pub(crate) mod assemble;
mod correction;
pub mod curve;
pub mod doubts;
mod evidence;
pub mod judge;
pub mod leaving;
pub(crate) mod look;
pub mod pairs;
pub mod rows;
pub mod stopping;
pub mod summary;
pub(crate) mod target_warnings;
pub mod verdict;
