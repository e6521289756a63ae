//! Where files are: places by name, and the file systems that a session makes for them.

pub(crate) mod file_systems;
mod nodes;
pub(crate) mod passthrough;
pub mod places;
