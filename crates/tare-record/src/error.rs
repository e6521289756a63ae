//! What can be wrong with a record.

use std::io;
use std::path::PathBuf;

/// Why a record cannot be read or written.
#[derive(Debug, thiserror::Error)]
pub enum RecordError {
    #[error("cannot {action} {path}")]
    Io { action: &'static str, path: PathBuf, source: io::Error },
    #[error("{path} is not a record of tare")]
    NotARecord { path: PathBuf },
    #[error("{path} has schema {found}; this tare reads schema 1 to {newest}")]
    Newer { path: PathBuf, found: u32, newest: u32 },
    #[error("{path} is damaged in line {line}, and good lines follow: it was changed after it was written")]
    Damaged { path: PathBuf, line: usize },
    #[error("{path} broke off before its plan was written: there are no figures in it")]
    NoPlan { path: PathBuf },
    #[error("{path} holds figures of other tools, and no session")]
    Imported { path: PathBuf },
    #[error("{path} broke off while figures of other tools were written into it")]
    ImportCut { path: PathBuf },
    #[error("{path} is longer than {limit} bytes")]
    TooLong { path: PathBuf, limit: u64 },
}
