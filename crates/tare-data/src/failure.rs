//! A failure: why a trial, or an environment, gave no figure.

use std::fmt;

use serde::{Deserialize, Deserializer, Serialize};

use crate::encoding::clip_text;

/// Bytes of a reason as they are written: a plan holds one for every cell that cannot be measured.
pub const LONGEST_REASON: usize = 2048;

/// Reason of a trial that was still running when its session broke off.
pub const BROKE_OFF: &str = "the session broke off during this trial";

/// Kind of failure; decides what the table shows instead.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum FailureKind {
    /// The environment lacks something that the probe needs (io_uring in gVisor).
    NotSupported,
    /// The user may not do it here (dropping caches without root).
    NotPermitted,
    /// A figure can be had but would mislead (fsync that does nothing).
    NotComparable,
    /// The probe's own count of its work was wrong.
    WrongWork,
    /// An operation failed: disk full, connection refused.
    Broken,
    Deadline,
    /// The environment or the agent in it ended.
    Died,
    /// The budget had no time for the environment.
    LeftOut,
    /// The other side of a pair failed or fell silent: no failure of this side.
    Partner,
}

/// The reason why there is no figure: the step that failed, and its cause.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Failure {
    pub kind: FailureKind,
    /// Reason in one line, without the probe's or the environment's name, which are shown with it. At most
    /// [`LONGEST_REASON`].
    #[serde(deserialize_with = "reason")]
    pub reason: String,
}

impl Failure {
    pub fn new(kind: FailureKind, reason: impl Into<String>) -> Self {
        Failure { kind, reason: clip_text(reason.into(), LONGEST_REASON) }
    }
}

/// Bounds the reason, since environments send them too.
fn reason<'de, D: Deserializer<'de>>(from: D) -> Result<String, D::Error> {
    Ok(clip_text(String::deserialize(from)?, LONGEST_REASON))
}

impl Failure {
    /// Recognises a full disk by the words of errno(3) for ENOSPC, which every kernel and library uses.
    pub fn is_full_disk(&self) -> bool {
        self.reason.contains("No space left on device")
    }

    /// Tells whether it is of the environment itself, and not of the other side of a pair.
    pub fn is_own(&self) -> bool {
        self.kind != FailureKind::Partner
    }
}

impl FailureKind {
    pub fn description(self) -> &'static str {
        match self {
            FailureKind::NotSupported => "not supported",
            FailureKind::NotPermitted => "not permitted",
            FailureKind::NotComparable => "not comparable",
            FailureKind::WrongWork => "wrong work",
            FailureKind::Broken => "failed",
            FailureKind::Deadline => "deadline passed",
            FailureKind::Died => "died",
            FailureKind::LeftOut => "left out",
            FailureKind::Partner => "partner failed",
        }
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.kind.description(), self.reason)
    }
}

impl std::error::Error for Failure {}

impl From<crate::names::BadParameter> for Failure {
    fn from(bad: crate::names::BadParameter) -> Self {
        Failure::new(FailureKind::Broken, bad.to_string())
    }
}
