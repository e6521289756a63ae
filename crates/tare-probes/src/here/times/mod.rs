//! Times of here: of contrasts, of operations that have prices, of code, and of processors that are kept busy.

pub mod burst;
pub mod code;
pub mod costs;
pub mod cycle;
mod others;
pub mod prices;
