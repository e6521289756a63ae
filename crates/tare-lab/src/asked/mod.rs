//! Requests of a session, and its reports on itself: known to every build, also to those that run none.

pub mod conditions;
pub mod progress;
mod request;
pub mod secrets;

pub use self::request::{Measured, Overrides, Pin, Recorded, Request, Until};
