//! Sessions that nobody measured: a plan, environments and a rule for the outcome of every trial, and the record of it all.
//!
//! A rule gives the same bytes on every machine. Tests that use a specimen judge what the analysis finds in it.

#![forbid(unsafe_code)]

mod lasting;
mod outcomes;
mod paired;
mod plan;
mod record;
mod three_sides;
mod trials;

pub use lasting::{Lasting, make_lasting, run_lasting};
pub use outcomes::{Command, make_outcomes};
pub use paired::{Cost, Work, run_paired};
pub use plan::{
    MARGIN, change_sides, make_case, make_header, make_metric, make_plan, make_session, make_sides,
    make_timed_case, plan_case,
};
pub use record::{list_entries, list_opening_entries, render_record};
pub use three_sides::make_three_sides;
pub use trials::{Outcome, compute_jitter, make_trial, run_rounds};
