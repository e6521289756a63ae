//! Doing it: studies, the plan, environments and the links into them.
//!
//! Nothing here draws on the terminal or reads arguments, environment variables or the home folder:
//! the program passes them in.

pub mod environments;
pub mod error;
pub mod link;
pub mod nearest;
pub mod ownership;
pub mod specification;
pub mod study;
