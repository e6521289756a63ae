//! A fleet: the same session on many machines, started by an engine that is there already. The folder is the truth.

pub mod cell;
pub mod driving;
pub mod engines;
mod exclusive;
pub mod files;
pub mod folder;
pub mod names;
pub mod pairs;
pub mod plan;
mod templates;
