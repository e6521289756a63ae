//! Calls where environments are not entered by commands of Linux: none.

use tare_data::batch::Batch;
use tare_data::failure::{Failure, FailureKind};
use tare_data::request::TrialRequest;

use crate::session::arena::Outcome;
use crate::session::enter::live::LiveArena;

impl LiveArena<'_> {
    /// Gives the reason why no call is measured.
    pub(super) fn call(&mut self, _: usize, _: &TrialRequest, _: &mut dyn FnMut(&Batch)) -> Outcome {
        let failure = Failure::new(FailureKind::NotSupported, "calls are measured on Linux");
        Outcome { failure: Some(failure), ..Outcome::default() }
    }
}
