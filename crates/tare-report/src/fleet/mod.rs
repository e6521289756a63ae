//! A fleet, for a terminal, as JSON, and as tables for other programs.

pub mod json;
pub mod store;
pub mod terminal;
pub mod trials;
mod words;

use tare_analysis::fleet::gate::FleetAnswer;
use tare_analysis::fleet::summary::Fleet;

/// Share of missing sessions above which the results are unreliable.
const MOST_MISSING: f64 = 0.05;

/// A fleet and its folder.
#[derive(Clone, Copy, Debug)]
pub struct FleetView<'a> {
    pub folder: &'a str,
    pub study: &'a str,
    /// Number of planned sessions.
    pub planned: usize,
    /// Cells whose record is missing or incomplete, running ones included.
    pub missing: &'a [MissingCell],
    /// Number of files in the folder whose names tare does not know.
    pub strangers: usize,
    pub fleet: &'a Fleet,
    pub answers: &'a [FleetAnswer],
}

/// A session of the plan without a whole record.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MissingCell {
    /// `n3, session 2`.
    pub what: String,
    pub why: String,
}

impl FleetView<'_> {
    fn share_missing(&self) -> f64 {
        self.missing.len() as f64 / self.planned.max(1) as f64
    }

    fn is_too_sparse(&self) -> bool {
        self.share_missing() > MOST_MISSING
    }
}
