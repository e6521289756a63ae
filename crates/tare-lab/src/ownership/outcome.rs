//! An outcome: one thing of a session that was taken away, or is left.

use std::fmt;

/// Thing that was removed, or could not be.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Outcome {
    pub what: String,
    /// Why it is still there; None when it is gone.
    pub left_because: Option<String>,
}

impl Outcome {
    pub(crate) fn new_removed(what: String) -> Self {
        Outcome { what, left_because: None }
    }

    pub(crate) fn new_left(what: String, because: impl fmt::Display) -> Self {
        Outcome { what, left_because: Some(because.to_string()) }
    }
}
