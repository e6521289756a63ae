//! How a session stands while it runs, as the served page is told.

use serde::Serialize;
use tare_data::session::Ending;

use crate::text::json::escaped;

/// Counts that a record gives without any analysis.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Standing {
    /// False while environments are entered and cases calibrated.
    pub planned: bool,
    pub trials: usize,
    pub failures: usize,
    /// Rounds that were disturbed and run again.
    pub repeated: usize,
    /// The round of the trial that runs now or ended last, from 1; 0 before the first.
    pub round: u32,
    /// Rounds that every case gets; none where time or decisions end the session.
    pub rounds: Option<u32>,
    /// By the last trial that ended.
    pub elapsed_s: f64,
    pub budget_s: Option<f64>,
    /// Label of the case that runs now.
    pub label: Option<String>,
    #[serde(rename = "environment")]
    pub target: Option<String>,
    /// None while the session goes on.
    pub ending: Option<Ending>,
}

impl Standing {
    /// One line of JSON, in which no text of the record can end the line or the event.
    pub fn json(&self) -> String {
        escaped(self)
    }
}
