//! An outcome: one thing of a session that was taken away, or is left.

use std::fmt;

/// Reason for which a process is left that its launcher declares.
const DECLARED: &str = "its launcher declares that it leaves it running";

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

    /// Describes a process that its launcher declares it leaves.
    pub(crate) fn new_declared(process: impl fmt::Display) -> Self {
        Outcome::new_left(format!("process {process}"), DECLARED)
    }

    /// Tells whether it is left as was declared, and nothing is amiss.
    pub fn is_declared(&self) -> bool {
        self.left_because.as_deref() == Some(DECLARED)
    }

    pub(crate) fn new_left(what: String, because: impl fmt::Display) -> Self {
        Outcome { what, left_because: Some(because.to_string()) }
    }
}
