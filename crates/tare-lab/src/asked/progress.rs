//! Progress: what a session shows to whoever watches it, between trials only.

use tare_data::session::Session;

/// Event in a session.
#[derive(Clone, Debug, PartialEq)]
pub enum Event<'a> {
    /// An environment is being entered for the first time.
    Entering { target: &'a str },
    /// Finding out how long an operation takes.
    Calibrating { done: usize, of: usize },
    /// The plan stands; the first round begins.
    Planned { cases: usize, targets: usize },
    /// A trial is about to run.
    Trial(Standing<'a>),
    /// An environment is measured for a while with all others left.
    Lasting { target: &'a str },
    /// An environment is entered for one run of a command that is not timed.
    Outcome { target: &'a str },
    /// A case has had its round in every environment, and no trial runs: the session so far.
    RoundDone(&'a Session),
    /// Something that the user should know and that is not an error.
    Note(String),
}

/// Progress of a session.
#[derive(Clone, Debug, PartialEq)]
pub struct Standing<'a> {
    pub case: &'a str,
    pub target: &'a str,
    /// From 1.
    pub round: u32,
    /// Rounds that every case will have; none where time ends the session.
    pub rounds: Option<u32>,
    /// Cells whose verdict can no longer change, of all cells.
    pub decided: usize,
    pub cells: usize,
    /// The cells that are measured, as case and environment, where they are few.
    pub open: Vec<(&'a str, &'a str)>,
    /// Estimated time until all of them are decided, if the time is enough for that.
    pub decided_in_s: Option<f64>,
    /// Trials that failed.
    pub failures: u32,
    /// Rounds that were disturbed and run again.
    pub repeated: u32,
    pub elapsed_s: f64,
    /// Time left of the budget, or of a fixed number of rounds at the pace so far. None where neither ends
    /// the session.
    pub left_s: Option<f64>,
}

/// Watches a session.
pub trait Observer {
    fn observe_event(&mut self, event: Event<'_>);
}

/// Nobody watches.
pub struct Unobserved;

impl Observer for Unobserved {
    fn observe_event(&mut self, _: Event<'_>) {}
}
