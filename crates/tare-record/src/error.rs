//! Errors of reading and writing a record.

use std::io;
use std::path::PathBuf;

use crate::entry::SCHEMA;

/// Why a record cannot be read or written.
#[derive(Debug, thiserror::Error)]
pub enum RecordError {
    #[error("cannot {action} {path}")]
    Io { action: &'static str, path: PathBuf, source: io::Error },
    #[error("{path} is not a tare record")]
    NotARecord { path: PathBuf },
    /// The schema of another build, or this one as another build had it.
    #[error(
        "{path} is a record of schema {found}, and this build of tare reads only the records of schema {SCHEMA} that it \
         writes: measure again with this build"
    )]
    OtherSchema { path: PathBuf, found: u32 },
    #[error("{path} is damaged in line {line}, before its measurements")]
    Damaged { path: PathBuf, line: u64 },
    #[error("an entry of {length} bytes is too long for {path}: at most {limit} are written in a line")]
    TooLongLine { path: PathBuf, length: usize, limit: usize },
    #[error("{path} ends before its plan was written: it contains no measurements")]
    NoPlan { path: PathBuf },
    #[error("{path} has a second {entry} in line {line}: it is not the record of one session")]
    Second { path: PathBuf, entry: &'static str, line: u64 },
    #[error("{path} is being written by another session")]
    InUse { path: PathBuf },
    #[error("{path} holds figures of other tools, not a session")]
    Imported { path: PathBuf },
    #[error("{path} ends in the middle of an import of other tools' figures")]
    ImportCut { path: PathBuf },
    #[error(
        "{path} holds more than is read: beside its samples it would take more than {limit} bytes of memory"
    )]
    TooMuch { path: PathBuf, limit: usize },
    #[error("{path} is longer than {limit} bytes")]
    TooLong { path: PathBuf, limit: u64 },
}
