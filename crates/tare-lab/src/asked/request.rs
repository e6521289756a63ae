//! The request for a session: for a new one in full, for a resumed one what its record cannot hold.

use std::path::PathBuf;

use tare_analysis::gate::Condition;
use tare_data::facts::Facts;
use tare_data::session::Ending;
use tare_data::session::identity::FleetCell;
use tare_probes::probe::Size;

use crate::provider::root::Inside;
use crate::study::Study;

/// A session to begin. Texts are as a person writes them.
#[derive(Clone, Debug, Default)]
pub struct Request {
    /// A shipped study or a TOML file. `quick` unless given, or `full` where `only` selects.
    pub study: Option<String>,
    /// Commands, in place of a study.
    pub commands: Option<Study>,
    /// A study that was read already.
    pub read: Option<Study>,
    /// Everything that is ready unless given.
    pub environments: Vec<String>,
    pub baseline: String,
    /// Subjects that get a control of their own.
    pub controls: Vec<String>,
    /// Patterns of probes or cases; all of the study unless given.
    pub only: Vec<String>,
    /// The study's unless given.
    pub places: Vec<String>,
    /// The study's unless given.
    pub peers: Vec<String>,
    /// Adds `net.hops` to each peer.
    pub hops: bool,
    /// Measures starts and commands as many at once, a case each; alone where none is given.
    pub at_once: Vec<u64>,
    /// Measures commands beside each of these.
    pub neighbours: Vec<String>,
    /// The study's unless given.
    pub size: Option<Size>,
    /// A fixed number of rounds, and then no budget.
    pub rounds: Option<u32>,
    /// The study's unless given.
    pub budget_s: Option<f64>,
    /// Instead of every case's own margin: ln of the largest ratio that still counts as the same.
    pub margin: Option<f64>,
    /// Whether the session goes on until everything is decided that can be, without a budget.
    pub until_decided: bool,
    /// Whether a cost of known size is planted, to see whether the session finds it.
    pub planted: bool,
    /// What is inside every environment whose specification says nothing else.
    pub inside: Inside,
    /// Whether what each command asks of the system is counted, once, before the rounds.
    pub counts_demand: bool,
    /// Which processor everything runs on; any of them unless given.
    pub pin: Option<Pin>,
    /// A fresh one unless given.
    pub seed: Option<u64>,
    /// Where the record goes; no file may be there.
    pub record: PathBuf,
    /// Conditions that the findings will be held against.
    pub conditions: Vec<Condition>,
    /// The cell of a fleet that it measures.
    pub fleet: Option<FleetCell>,
    /// Facts about this machine that its caller knows.
    pub host: Facts,
}

/// What a resumed session takes instead of what its record holds, or cannot hold.
#[derive(Clone, Debug, Default)]
pub struct Overrides {
    /// Peers whose secrets the record does not hold.
    pub peers: Vec<String>,
    /// Time for the rest of the session; the plan's unless given.
    pub budget_s: Option<f64>,
    /// Conditions that the findings will be held against.
    pub conditions: Vec<Condition>,
    /// Whether a record that did not begin here may run what it names.
    pub trust: bool,
}

/// Which processor everything of a session runs on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Pin {
    /// The last of those that are allowed: the first has the most interrupts.
    Last,
    Processor(usize),
}

/// What a session leaves.
#[derive(Debug)]
pub struct Recorded {
    pub record: PathBuf,
    pub ending: Ending,
    /// Articles that its study names, to be shown beside it.
    pub published: Vec<String>,
}
