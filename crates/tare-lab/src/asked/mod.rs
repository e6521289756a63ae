//! What is asked of a session, and what it tells of itself: known to every build, also to those that run none.

pub mod conditions;
pub mod progress;
mod request;
pub mod secrets;

pub use self::request::{Measured, Overrides, Pin, Recorded, Request, Until};
