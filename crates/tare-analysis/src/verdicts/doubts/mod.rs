//! Doubts: why values that were measured are not compared, and what makes a comparison less certain.

pub(crate) mod carry;
pub(crate) mod comparable;
pub mod ends;
pub(crate) mod failures;
pub(crate) mod idle;
pub(crate) mod lasting;
pub(crate) mod limits;
pub(crate) mod stability;
pub(crate) mod stops;
pub(crate) mod ticks;
