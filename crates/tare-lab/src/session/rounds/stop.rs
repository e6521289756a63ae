//! Reasons for which rounds end early.

use crate::error::LabError;

/// Why the rounds end before their number.
pub enum Stop {
    Budget,
    Early,
    BaselineFailed,
    SubjectsFailed,
    Interrupted,
    Error(LabError),
}

impl From<LabError> for Stop {
    fn from(error: LabError) -> Self {
        Stop::Error(error)
    }
}
