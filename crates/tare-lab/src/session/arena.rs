//! The arena: where trials run. The real one enters environments; tests use one with known distributions.

use std::collections::BTreeMap;

use tare_data::batch::Batch;
use tare_data::facts::Facts;
use tare_data::failure::{Failure, FailureKind};
use tare_data::peer::Peer;
use tare_data::request::TrialRequest;
use tare_data::session::Interference;
use tare_data::session::limits::{GroupCounts, Idle};
use tare_data::session::outcome::Said;

use crate::error::LabError;

/// Result of starting an environment.
#[derive(Clone, Debug, Default)]
pub struct Started {
    pub inside: Facts,
    pub outside: Facts,
    /// Facts of each place; those taken from outside begin with `outside.`.
    pub places: BTreeMap<String, Facts>,
    /// Paths of the places inside.
    pub paths: BTreeMap<String, String>,
    /// Addresses of peers by name, as seen from inside; loopback is implicit.
    pub peers: BTreeMap<String, Peer>,
    /// Places that the session could not make, with the reasons.
    pub missing: BTreeMap<String, Failure>,
    /// True where its trials can take turns with its partner's.
    pub takes_turns: bool,
    /// From entering to the agent's first frame.
    pub elapsed_ns: u64,
    /// Time after it in which the start is not itself yet.
    pub settling_ns: u64,
}

/// Result of a trial, besides its batches.
#[derive(Clone, Debug, Default)]
pub struct Outcome {
    /// First frame to last, by the host's clock.
    pub host_elapsed_ns: u64,
    /// First frame to last, by the agent's clock.
    pub agent_elapsed_ns: Option<u64>,
    pub inside: Interference,
    pub outside: Interference,
    pub failure: Option<Failure>,
    pub notes: Vec<String>,
    /// Output and files of a run whose outcome is kept.
    pub said: Option<Said>,
    /// The environment did not survive the trial and has to be started again.
    pub lost: bool,
    /// The user wants to stop; the trial does not count.
    pub interrupted: bool,
}

/// The way in which the trials of two environments take turns.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Turning {
    /// On one processor, drawn for each pair.
    OneProcessor,
    /// Wherever the scheduler places them.
    Anywhere,
}

/// Place where trials run, environment by environment.
pub trait Arena {
    /// Counts nanoseconds since the session began, by the host's monotonic clock.
    fn now_ns(&self) -> u64;

    /// Enters an environment afresh; leaves it first where it was entered before.
    fn enter_environment(&mut self, target: usize) -> Result<Started, Failure>;

    /// Enters the next start of an environment beside the one that is measured, where a start takes a while to settle. It is the one
    /// that [`Arena::enter_environment`] returns.
    fn enter_ahead(&mut self, _target: usize) {}

    /// Runs one trial. Each batch goes to `sink` as it arrives, before anything else sees it.
    fn run_trial(&mut self, target: usize, request: &TrialRequest, sink: &mut dyn FnMut(&Batch)) -> Outcome;

    /// Proves that trials of two environments can take turns: by a word in memory that both map, on one processor where
    /// both can be placed.
    fn prove_turns(&mut self, _pair: [usize; 2]) -> Result<Turning, Failure> {
        Err(Failure::new(FailureKind::NotSupported, "its trials cannot take turns with another's"))
    }

    /// Lists the processors that trials may be placed on.
    fn list_processors(&self) -> Vec<usize> {
        Vec::new()
    }

    /// Runs the two trials of a pair, which take turns. Gives their batches once both have ended.
    fn run_pair(&mut self, _pair: [usize; 2], _requests: [TrialRequest; 2]) -> [(Outcome, Vec<Batch>); 2] {
        let failure = Failure::new(FailureKind::NotSupported, "its trials cannot take turns with another's");
        [(); 2].map(|()| (Outcome { failure: Some(failure.clone()), ..Outcome::default() }, Vec::new()))
    }

    /// Reads the counts of an environment's control groups; none where they do not show.
    fn read_limits(&mut self, _target: usize) -> Option<Vec<GroupCounts>> {
        None
    }

    /// Takes the processor time that an environment used while others were measured, since it was taken before; none where it does not
    /// show.
    fn take_idle(&mut self, _target: usize) -> Option<Idle> {
        None
    }

    /// Leaves an environment; nothing of it is left.
    fn leave_environment(&mut self, target: usize);

    /// Tells whether the user wants to stop: a start or a trial that fails then is not the fault of the
    /// environment.
    fn is_interrupted(&self) -> bool {
        false
    }

    /// Takes the error of the host itself in a start or a trial that failed: it is not the fault of the
    /// environment, and the session ends.
    fn host_failure(&mut self) -> Option<LabError> {
        None
    }
}
