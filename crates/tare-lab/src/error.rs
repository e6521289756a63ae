//! An error of the lab: the thing, the cause and the next step.

use std::fmt;

/// What kind of error it is; decides the program's exit code.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ErrorKind {
    /// What the user wrote cannot be understood: a study key, an environment's name, a parameter.
    Usage,
    /// An environment cannot be used here and now.
    Environment,
    /// A file or folder cannot be read or written, or the disk is full.
    Storage,
    /// The record cannot be read.
    Record,
}

/// What went wrong, why, and what to do.
#[derive(Debug)]
pub struct LabError {
    pub kind: ErrorKind,
    /// One line: the thing and what failed.
    pub what: String,
    /// Causes, the nearest first.
    pub causes: Vec<String>,
    /// The next step, if there is one.
    pub hint: Option<String>,
}

impl LabError {
    pub fn new(kind: ErrorKind, what: impl Into<String>) -> Self {
        LabError { kind, what: what.into(), causes: Vec::new(), hint: None }
    }

    pub fn because(mut self, cause: impl fmt::Display) -> Self {
        self.causes.push(cause.to_string());
        self
    }

    pub fn hint(mut self, hint: impl Into<String>) -> Self {
        self.hint = Some(hint.into());
        self
    }
}

impl fmt::Display for LabError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.what)?;
        self.causes.iter().try_for_each(|cause| write!(f, ": {cause}"))
    }
}

impl std::error::Error for LabError {}
