//! An error of the lab: the thing, the cause and the next step.

use std::error::Error;
use std::fmt;
use std::io::ErrorKind as IoKind;
use std::iter::successors;
use std::path::{Path, PathBuf};

use tare_data::session::specification::SpecificationError;
use tare_record::RecordError;

use crate::platform;

/// Limit on the records that an error lists.
const MOST_LISTED: usize = 5;

/// Another error, or a text, that is the cause of one.
pub type Cause = Box<dyn Error + Send + Sync>;

/// Adds the failed operation to an I/O error.
pub(crate) fn add_error_context(what: &str, cause: impl Into<std::io::Error>) -> std::io::Error {
    let cause = cause.into();
    std::io::Error::new(cause.kind(), format!("{what}: {cause}"))
}

/// Kind of error; decides the program's exit code.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ErrorKind {
    /// Input that cannot be understood: a study key, an environment's name, a parameter.
    Usage,
    /// An environment cannot be used here and now.
    Environment,
    /// A file or folder cannot be read or written, or the disk is full.
    Storage,
    Record,
    /// This machine lacks what a session itself needs: descriptors, memory, processes.
    Host,
    Interrupted,
}

/// Error with its thing, causes and next step.
#[derive(Debug)]
pub struct LabError {
    pub kind: ErrorKind,
    /// Summary in one line: the thing and what failed.
    pub what: String,
    /// The cause, which may have a cause of its own.
    pub source: Option<Cause>,
    pub hint: Option<String>,
}

impl LabError {
    pub fn new(kind: ErrorKind, what: impl Into<String>) -> Self {
        LabError { kind, what: what.into(), source: None, hint: None }
    }

    /// Creates an error about input that cannot be understood.
    pub fn usage_error(what: impl Into<String>) -> Self {
        LabError::new(ErrorKind::Usage, what)
    }

    /// Makes an error of what went wrong with a file or folder: `read` or `write`, say, is what cannot be done.
    pub fn storage_error<'a, E: Into<Cause>>(doing: &'a str, path: &'a Path) -> impl Fn(E) -> LabError + 'a {
        move |cause| {
            LabError::new(ErrorKind::Storage, format!("cannot {doing} {}", path.display())).with_cause(cause)
        }
    }

    pub fn with_cause(mut self, cause: impl Into<Cause>) -> Self {
        self.source = Some(cause.into());
        self
    }

    /// Adds the step that failed, on one line with the cause.
    pub(crate) fn while_doing(self, what: impl Into<String>, cause: impl Into<Cause>) -> Self {
        self.with_cause(Step { what: what.into(), cause: cause.into() })
    }

    /// Returns this error where the host itself is at fault, not an environment, which may only take more descriptors, memory or
    /// processes than it may have.
    pub(crate) fn of_host(self) -> Option<Self> {
        let is_host = matches!(self.kind, ErrorKind::Storage | ErrorKind::Host);
        (is_host && self.find_exhausted().is_none()).then_some(self)
    }

    /// Finds the limit that was reached, as a next step names it.
    pub(crate) fn find_exhausted(&self) -> Option<&'static str> {
        let first: Option<&(dyn Error + 'static)> = self.source();
        successors(first, |cause| source(*cause))
            .filter_map(|cause| cause.downcast_ref::<std::io::Error>()?.raw_os_error())
            .find_map(platform::name_exhausted)
    }

    pub fn with_hint(mut self, hint: impl Into<String>) -> Self {
        self.hint = Some(hint.into());
        self
    }

    /// Lists the causes as texts, the nearest first.
    pub fn causes(&self) -> impl Iterator<Item = String> {
        let first: Option<&(dyn Error + 'static)> = self.source();
        successors(first, |cause| next(*cause)).map(|cause| match cause.downcast_ref::<LabError>() {
            // Its own text holds the causes that follow.
            Some(lab) => lab.what.clone(),
            None => cause.to_string(),
        })
    }
}

fn source<'a>(cause: &'a (dyn Error + 'static)) -> Option<&'a (dyn Error + 'static)> {
    cause.source()
}

/// Finds the cause of a cause; a step has printed its own already.
fn next<'a>(cause: &'a (dyn Error + 'static)) -> Option<&'a (dyn Error + 'static)> {
    match cause.downcast_ref::<Step>() {
        Some(step) => step.cause.source(),
        None => cause.source(),
    }
}

/// A cause, and what was being done when it arose.
#[derive(Debug)]
struct Step {
    what: String,
    cause: Cause,
}

impl fmt::Display for Step {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.what, self.cause)
    }
}

impl Error for Step {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        Some(&*self.cause)
    }
}

impl fmt::Display for LabError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.what)?;
        self.causes().try_for_each(|cause| write!(f, ": {cause}"))
    }
}

impl Error for LabError {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        self.source.as_ref().map(|source| &**source as _)
    }
}

impl LabError {
    /// Creates the error of a session that the user stopped before there was anything to report.
    pub(crate) fn interruption_error() -> Self {
        LabError::new(ErrorKind::Interrupted, "interrupted before the first round")
    }
}

impl From<SpecificationError> for LabError {
    fn from(error: SpecificationError) -> Self {
        LabError::usage_error(format!("cannot read the environment '{}'", error.text))
            .with_cause(error.cause)
            .with_hint("write NAME or provider:instance?key=value&key=value")
    }
}

impl From<RecordError> for LabError {
    fn from(error: RecordError) -> Self {
        let full = matches!(&error, RecordError::Io { source, .. }
            if [IoKind::StorageFull, IoKind::QuotaExceeded, IoKind::FileTooLarge].contains(&source.kind()));
        let listed;
        let hint = match &error {
            RecordError::Io { .. } if full => "make room on that disk, or name another with --record FILE",
            RecordError::Io { action: "create", source, .. } if source.kind() == IoKind::AlreadyExists => {
                "name another file with --record FILE, or continue that session with tare run --resume FILE"
            }
            RecordError::Io { action: "create", .. } => {
                "name a file in a folder you may write with --record FILE"
            }
            RecordError::Io { action: "unpack", .. } => {
                "it can't be replaced there by its lines: zcat FILE > OTHER.tare, and continue OTHER.tare"
            }
            RecordError::Io { path, source, .. } if source.kind() == IoKind::NotFound => {
                listed = list_records(path.parent().unwrap_or(Path::new("")));
                &listed
            }
            RecordError::Io { .. } => "look at the file's folder and its permissions",
            // Its sentence says what to do.
            RecordError::OtherSchema { .. } => return LabError::new(ErrorKind::Record, error.to_string()),
            RecordError::NotARecord { .. } => "records end in .tare and are made by tare run",
            RecordError::Damaged { .. } => "find the file as it was written; a record is never edited",
            RecordError::Second { .. } => "records are read one by one: find them as they were written",
            RecordError::InUse { .. } => {
                "wait until it ends; tare run --html FILE writes its page while it runs"
            }
            RecordError::TooLongLine { .. } => "choose fewer environments or cases",
            RecordError::NoPlan { .. } => "run again: the session was stopped before it measured anything",
            RecordError::Imported { .. } => "tare report FILE shows them",
            RecordError::ImportCut { .. } => "take the file away and import again",
            RecordError::TooLong { .. } | RecordError::TooMuch { .. } => "is it really a record?",
        };
        let kind = match &error {
            RecordError::Io { action: "read", .. } => ErrorKind::Record,
            RecordError::Io { .. } | RecordError::InUse { .. } => ErrorKind::Storage,
            _ => ErrorKind::Record,
        };
        let lab = LabError::new(kind, error.to_string()).with_hint(hint);
        match error {
            RecordError::Io { source, .. } => lab.with_cause(source),
            _ => lab,
        }
    }
}

/// Lists some records of a folder, the newest first, for somebody who misspelt one.
fn list_records(folder: &Path) -> String {
    let folder = if folder.as_os_str().is_empty() { Path::new(".") } else { folder };
    let entries =
        std::fs::read_dir(folder).into_iter().flatten().filter_map(|entry| Some(entry.ok()?.path()));
    let mut records: Vec<PathBuf> =
        entries.filter(|path| path.extension().is_some_and(|extension| extension == "tare")).collect();
    records.sort_by_key(|path| std::cmp::Reverse(path.metadata().and_then(|about| about.modified()).ok()));
    let names = records.iter().take(MOST_LISTED).filter_map(|path| Some(path.file_name()?.to_string_lossy()));
    match names.collect::<Vec<_>>() {
        names if names.is_empty() => "there is no record in that folder: tare run makes one".to_owned(),
        names => format!("records in that folder, the newest first: {}", names.join(", ")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_source_is_kept_and_each_cause_is_printed_once() {
        let cause = std::io::Error::from_raw_os_error(libc::ENOENT);
        let inner = LabError::new(ErrorKind::Storage, "cannot read b").with_cause(cause);
        let outer = LabError::new(ErrorKind::Environment, "cannot enter a").with_cause(inner);
        assert_eq!(
            outer.to_string(),
            "cannot enter a: cannot read b: No such file or directory (os error 2)"
        );
        assert_eq!(outer.causes().count(), 2);
        let source = outer.source().and_then(Error::source).unwrap();
        let source = source.downcast_ref::<std::io::Error>().unwrap();
        assert_eq!(source.kind(), std::io::ErrorKind::NotFound);
    }

    #[test]
    fn a_record_that_is_not_there_is_answered_with_those_that_are() {
        let folder = tempfile::tempdir().unwrap();
        let hint = |name: &str| {
            let error = tare_record::read_session(&folder.path().join(name)).err().unwrap();
            LabError::from(error).hint.unwrap()
        };
        assert_eq!(hint("a.tare"), "there is no record in that folder: tare run makes one");
        std::fs::write(folder.path().join("b.tare"), "").unwrap();
        std::fs::write(folder.path().join("c.txt"), "").unwrap();
        assert_eq!(hint("a.tare"), "records in that folder, the newest first: b.tare");
        let error = tare_record::Writer::create(&folder.path().join("b.tare")).err().unwrap();
        assert!(LabError::from(error).hint.unwrap().contains("--resume FILE"));
    }

    #[test]
    fn a_step_is_printed_with_its_cause_and_keeps_it() {
        let cause = std::io::Error::from(std::io::ErrorKind::NotFound);
        let error =
            LabError::new(ErrorKind::Environment, "cannot do it").while_doing("making a folder", cause);
        assert_eq!(error.causes().collect::<Vec<_>>(), ["making a folder: entity not found"]);
        let source = error.source().and_then(Error::source).unwrap();
        assert!(source.is::<std::io::Error>());
    }
}
