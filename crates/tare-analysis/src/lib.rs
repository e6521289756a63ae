//! What the figures mean: pure functions from a session's raw samples to findings.
//!
//! Nothing here touches a file, a clock or the environment; randomness comes with a seed.

pub mod findings;
