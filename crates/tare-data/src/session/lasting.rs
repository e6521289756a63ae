//! Work that lasts: stretches in which one environment works and all others are left, so that it pays for whatever belongs to it.

use serde::{Deserialize, Serialize};

crate::named! {
    /// Kinds of work that lasts, in the order in which a session measures them.
    pub enum LastingWork {
        /// Arithmetic of one thread.
        Arithmetic = "arithmetic",
        /// Arithmetic of as many threads as the machine has processors for the session.
        Processors = "processors",
        /// System calls and forks of one thread.
        Calls = "calls",
    }
}

/// A stretch of work by a process of its own: all that it did in all the time that it took, whatever stopped it meanwhile.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Stretch {
    #[serde(rename = "environment")]
    pub target: String,
    pub work: LastingWork,
    /// Stretches of the same round are compared with each other.
    pub round: u32,
    pub operations: u64,
    /// Time of all operations, stops included, in ns.
    pub elapsed_ns: u64,
    /// Time of an operation in slices that were not stopped, in ns: what it takes in short turns.
    pub slice_ns: f64,
}
