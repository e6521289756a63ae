//! Showing: what a session or another tool's record holds, in every form that the commands and the page's server give.

pub mod again;
pub mod dry_run;
pub mod imported;
pub mod published;
pub mod session;
