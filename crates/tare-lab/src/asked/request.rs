//! The request for a session: for a new one in full, for a resumed one what its record cannot hold.

use std::path::PathBuf;
use std::time::Duration;

use tare_analysis::gate::Condition;
use tare_data::facts::Facts;
use tare_data::session::Ending;
use tare_data::session::identity::FleetCell;
use tare_probes::probe::Size;

use crate::provider::root::Inside;
use crate::study::Study;

/// The cases that a session measures.
#[derive(Clone, Debug)]
pub enum Measured {
    /// A shipped study, or a TOML file; several with commas between them.
    Named(String),
    /// A study that was read already.
    Read(Study),
    /// Commands, in place of a study. With a fixed number of rounds each is run once a round.
    Commands(Study),
}

impl Measured {
    /// Chooses the study that is measured unless one is given: `only` selects from all probes, and `at_once`
    /// starts.
    pub fn choose_study(only: &[String], at_once: &[u64]) -> Measured {
        let name = match (at_once.is_empty(), only.is_empty()) {
            (false, _) => "startup",
            (true, true) => "quick",
            (true, false) => "full",
        };
        Measured::Named(name.to_owned())
    }
}

/// The end of a session.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Until {
    /// Exactly this many rounds, with one analysis at the end.
    Rounds(u32),
    /// Time for the whole session, from the start of the program on.
    Budget(Duration),
    /// Every comparison that can be decided is decided, however long that takes.
    Decided,
}

/// A session to begin. Texts are as a person writes them.
#[derive(Clone, Debug)]
pub struct Request {
    pub measured: Measured,
    /// The budget of the study unless given.
    pub until: Option<Until>,
    /// Everything that is ready unless given; none where commands are compared.
    pub environments: Vec<String>,
    pub baseline: String,
    /// True when the sides are the commands, each in the environment that is the baseline, and not environments.
    pub compares_commands: bool,
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
    /// Instead of every case's own margin: ln of the largest ratio that still counts as the same.
    pub margin: Option<f64>,
    /// True when a cost of known size is planted, to see whether the session finds it.
    pub planted: bool,
    /// True when it ends as soon as what is open needs more time than it has taken: somebody waits for it.
    pub ends_early: bool,
    /// True when work that lasts is measured besides, where there is time for it.
    pub lasting: bool,
    /// Content of every environment whose specification says nothing else.
    pub inside: Inside,
    /// True when the demand of each command is counted, once, before the rounds.
    pub counts_demand: bool,
    /// Which processor everything runs on; any of them unless given.
    pub pin: Option<Pin>,
    /// A fresh one unless given.
    pub seed: Option<u64>,
    /// Path of the record; no file may be there.
    pub record: PathBuf,
    /// Conditions that the findings will be held against.
    pub conditions: Vec<Condition>,
    /// The cell of a fleet that it measures.
    pub fleet: Option<FleetCell>,
    /// Facts about this machine that its caller knows.
    pub host: Facts,
}

impl Request {
    /// Requests a session with nothing but what every session has.
    pub fn new(measured: Measured, baseline: &str, record: PathBuf) -> Request {
        Request {
            measured,
            until: None,
            environments: Vec::new(),
            baseline: baseline.to_owned(),
            compares_commands: false,
            controls: Vec::new(),
            only: Vec::new(),
            places: Vec::new(),
            peers: Vec::new(),
            hops: false,
            at_once: Vec::new(),
            neighbours: Vec::new(),
            size: None,
            margin: None,
            planted: false,
            ends_early: false,
            lasting: false,
            inside: Inside::default(),
            counts_demand: false,
            pin: None,
            seed: None,
            record,
            conditions: Vec::new(),
            fleet: None,
            host: Facts::default(),
        }
    }
}

/// Settings of a resumed session in place of its record's, or which a record cannot hold.
#[derive(Clone, Debug, Default)]
pub struct Overrides {
    /// Peers whose secrets the record does not hold.
    pub peers: Vec<String>,
    /// Time for the rest of the session; the plan's unless given.
    pub budget: Option<Duration>,
    /// Conditions that the findings will be held against.
    pub conditions: Vec<Condition>,
    /// True when a record that did not begin here may run the commands that it names.
    pub trust: bool,
}

/// Which processor everything of a session runs on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Pin {
    /// The last of those that are allowed: the first has the most interrupts.
    Last,
    Processor(usize),
}

/// Result of a session.
#[derive(Debug)]
pub struct Recorded {
    pub record: PathBuf,
    pub ending: Ending,
    /// Seconds that would settle what is open, where it ended early and they are known.
    pub rest_s: Option<f64>,
    /// Articles that its study names, to be shown beside it.
    pub published: Vec<String>,
}
