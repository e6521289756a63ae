//! Showing: what a session or another tool's record holds, in every form that the commands give.

pub mod again;
pub mod dry_run;
pub mod imported;
pub mod published;
pub mod running;
pub mod session;
