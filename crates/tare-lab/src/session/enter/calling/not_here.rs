//! Calls where environments are not entered by commands of Linux: none.

use std::sync::atomic::AtomicBool;

use tare_data::batch::Batch;
use tare_data::failure::{Failure, FailureKind};
use tare_data::request::TrialRequest;

#[path = "truths.rs"]
pub mod truths;

use self::truths::Truths;
use crate::ownership::workspace::SessionWorkspace;
use crate::session::arena::Outcome;
use crate::session::enter::sides::Resolved;

/// Gives the reason why no call is measured.
pub fn run_calls(
    _: (&SessionWorkspace, usize),
    _: &Resolved,
    _: &mut Truths,
    _: &TrialRequest,
    _: &AtomicBool,
    _: &mut dyn FnMut(&Batch),
) -> Outcome {
    let failure = Failure::new(FailureKind::NotSupported, "calls are measured on Linux");
    Outcome { failure: Some(failure), ..Outcome::default() }
}
