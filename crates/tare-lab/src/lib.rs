//! Doing it: studies, the plan, environments and the links into them.
//!
//! Nothing here draws on the terminal or reads arguments, environment variables or the home folder:
//! the program passes them in.

mod bundle;
pub mod clean;
pub mod entered;
pub mod environments;
pub mod error;
pub mod ground;
pub mod link;
pub mod mounts;
pub mod nearest;
pub mod ownership;
mod private_mounts;
pub mod processes;
pub mod programs;
mod root;
pub mod specification;
pub mod study;
