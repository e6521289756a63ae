//! An error of the lab: the thing, the cause and the next step.

use std::fmt;

use tare_record::RecordError;

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
    /// The user stopped it.
    Interrupted,
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

impl LabError {
    /// The user stopped the session before there was anything to report.
    pub fn interrupted() -> Self {
        LabError::new(ErrorKind::Interrupted, "interrupted before the first round")
    }
}

impl From<RecordError> for LabError {
    fn from(error: RecordError) -> Self {
        let full = matches!(&error, RecordError::Io { source, .. }
            if source.kind() == std::io::ErrorKind::StorageFull);
        let hint = match &error {
            RecordError::Io { .. } if full => "make room on that disk, or name another with --record FILE",
            RecordError::Io { action: "create", .. } => {
                "name a file in a folder you may write with --record FILE"
            }
            RecordError::Io { .. } => "look at the file's folder and its permissions",
            RecordError::NotARecord { .. } => "records end in .tare and are made by tare run",
            RecordError::Newer { .. } => "update tare",
            RecordError::Damaged { .. } => "find the file as it was written; a record is never edited",
            RecordError::NoPlan { .. } => "run again: the session was stopped before it measured anything",
            RecordError::Imported { .. } => "tare report FILE shows them",
            RecordError::ImportCut { .. } => "take the file away and import again",
            RecordError::TooLong { .. } => "is it really a record?",
        };
        let kind = match &error {
            RecordError::Io { action: "read", .. } => ErrorKind::Record,
            RecordError::Io { .. } => ErrorKind::Storage,
            _ => ErrorKind::Record,
        };
        let source = std::error::Error::source(&error).map(ToString::to_string);
        let lab = LabError::new(kind, error.to_string()).hint(hint);
        match source {
            Some(source) => lab.because(source),
            None => lab,
        }
    }
}
