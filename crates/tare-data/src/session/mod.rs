//! A session as a record holds it: its plan, the facts of its environments, and every trial. No conclusions.

pub mod declared;
pub mod demand;
pub mod identity;
pub mod lasting;
pub mod limits;
pub mod outcome;
pub mod sides;
pub mod specification;

use std::collections::BTreeMap;
use std::path::PathBuf;

use serde::{Deserialize, Serialize};

use crate::batch::Batches;
use crate::facts::Facts;
use crate::failure::Failure;
use crate::metric::Metric;
use crate::names::Case;
use crate::request::Amount;
use crate::warning::Warning;

use self::declared::Declared;
use self::demand::Counted;
use self::identity::{FleetCell, Identity};
use self::lasting::{LastingWork, Stretch};
use self::limits::LimitCounts;
use self::outcome::OutcomeRun;
pub use self::sides::{Role, SLOWER, Serving, Side, Sides};

/// Origin of a session: the tool, the machine and the time.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Header {
    /// Version of tare.
    pub tare: String,
    /// SHA-256 of the binary, which is also the agent, in hex.
    pub binary: String,
    /// RFC 3339 with offset.
    pub started: String,
    /// Arguments after the program's name, as they were typed but for secrets.
    pub command: Vec<String>,
    /// Facts of the machine that runs the session.
    pub host: Facts,
    /// None in records of other tools' figures.
    #[serde(flatten)]
    pub identity: Option<Identity>,
    /// None outside of fleets.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub fleet: Option<FleetCell>,
}

/// A case of a session, with all that is needed to read its samples without the probe.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct PlannedCase {
    /// `case.to_string()`: names the case in the rest of the record.
    pub id: String,
    pub case: Case,
    /// The heading of the row, e.g. `write+fdatasync 4 KiB`.
    pub label: String,
    /// The first is the headline.
    pub metrics: Vec<Metric>,
    /// Metrics, by name, whose verdicts must all be decided before an environment leaves; if empty, the
    /// headline's alone.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub decide: Vec<String>,
    /// Hash of the probe's definition and these parameters; figures of different ones are never compared.
    pub definition: String,
    pub declared: Declared,
    /// Amount of a trial that runs alone: alike in every environment.
    pub amount: Amount,
    /// Amounts of pairs, by the environment that is compared with its partner. One without an amount is measured alone.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub pairs: BTreeMap<String, Amount>,
    /// The largest ratio that still counts as the same, as ln: ln(1.02) unless the study sets another.
    pub margin: f64,
    /// Environments where this case cannot be measured, with the reason; found before the first round.
    pub missing: BTreeMap<String, Failure>,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Plan {
    pub study: String,
    pub seed: u64,
    /// Upper limit of a case's rounds: without a budget their number, with one a horizon beyond it.
    pub rounds: u32,
    /// Numbers of rounds after which the stopping rule looks; the last is `rounds`.
    pub looks: Vec<u32>,
    /// Time that the session may take, in seconds; none with `--rounds`.
    pub budget_s: Option<f64>,
    /// True where only decisions end the session: looks then have no horizon.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub until_decided: bool,
    /// The case and rounds of the planted environment; none in a plan without one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub planted: Option<Planted>,
    /// Controls run in the first rounds, and then in one of this many.
    pub control_every: u32,
    /// Environments that are slow to measure, by name: each takes part in one round of this many, until quicker ones have left. Where
    /// there are some, others rest as well when few of their cells are open.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub every: BTreeMap<String, u32>,
    /// Work that lasts, which the session measures beside its cases; none in a short session, or one of a number of rounds.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub lasting: Vec<LastingWork>,
    /// Root and work folder of every environment whose specification does not name others.
    #[serde(default, skip_serializing_if = "Inside::is_plain")]
    pub inside: Inside,
    /// Demand of each command in the baseline, by `PlannedCase::id`, where it was counted.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub demands: BTreeMap<String, Counted>,
    #[serde(flatten)]
    pub targets: Sides,
    pub cases: Vec<PlannedCase>,
}

/// The root folder of an environment.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum RootFolder {
    /// Only the agent; in an environment that cannot be given a root, whatever is there.
    #[default]
    Empty,
    /// This machine's own programs and files. Whatever is written there is thrown away.
    Host,
    /// A folder of this machine. Whatever is written there is thrown away as well.
    Folder(PathBuf),
}

/// The folder that a command works in, under the same path inside.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Work {
    /// Absolute, without symbolic links.
    pub folder: PathBuf,
    /// True where writes reach the folder itself. Otherwise they are thrown away.
    pub shared: bool,
}

/// Root and work folder of every environment whose specification does not name others.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Inside {
    #[serde(default)]
    pub root: RootFolder,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub work: Option<Work>,
}

impl Inside {
    /// Recognises the root and the folder that environments have without being asked.
    pub fn is_plain(&self) -> bool {
        *self == Inside::default()
    }
}

/// The case in which a planted environment is measured, and for how long.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Planted {
    /// `PlannedCase::id`.
    pub case: String,
    /// Upper limit of its rounds.
    pub rounds: u32,
}

/// A fact of the host: the processor that everything of the session ran on; not there where any was allowed.
pub const PINNED: &str = "session.pinned_to";

/// An environment takes part at least in one round of this many.
pub const MOST_REST: u32 = 8;

/// Rounds before the first look: controls have a trial in every second of them, so that an environment that leaves there
/// has a control for comparison, with an interval.
const FIRST_ROUNDS: u32 = 12;

impl Plan {
    /// Tells whether controls have a trial in a round by plan; where one shows a difference, it has more.
    pub fn has_control(&self, round: u32) -> bool {
        let every = if round < FIRST_ROUNDS { self.control_every.min(2) } else { self.control_every };
        round.is_multiple_of(every.max(1))
    }

    /// Counts the headline cells of subjects that can be compared.
    pub fn count_comparisons(&self) -> usize {
        let subjects = self.targets.of_role(Role::Subject);
        let of_case =
            |case: &PlannedCase| subjects.clone().filter(|s| !case.missing.contains_key(&s.name)).count();
        self.cases.iter().map(of_case).sum()
    }

    /// Gives the n of "in one round of n", in which an environment takes part while quicker ones are open.
    pub fn round_interval(&self, target: usize) -> u32 {
        self.every.get(&self.targets[target].name).copied().unwrap_or(1).max(1)
    }

    /// Tells whether an environment is measured in a case by plan: a planted one is in a single case.
    pub fn is_measured(&self, case: usize, target: usize) -> bool {
        let is_planted = self.targets.role(target) == Role::Planted;
        !is_planted || self.planted.as_ref().is_some_and(|planted| planted.case == self.cases[case].id)
    }
}

/// Facts of an environment, taken at its first start.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct TargetFacts {
    #[serde(rename = "environment")]
    pub target: String,
    /// As the agent sees it.
    pub inside: Facts,
    /// As the host sees it: runtime and its version, flags.
    pub outside: Facts,
    /// Facts of each place, as the agent sees it.
    pub places: BTreeMap<String, Facts>,
}

/// A trial: a case in an environment in a round, in a fresh process.
#[derive(Clone, Debug, PartialEq)]
pub struct Trial {
    pub number: u64,
    pub case: String,
    pub target: String,
    pub round: u32,
    /// 0 for the first; a round that was disturbed is run again as a whole.
    pub attempt: u32,
    /// Place in the order of its round, from 0.
    pub position: u32,
    /// Which start of the environment it ran in, from 0.
    pub start: u32,
    /// The environment whose process alternated with this trial's; none where it ran alone.
    pub partner: Option<String>,
    /// By the host's monotonic clock, from the beginning of the session.
    pub started_ns: u64,
    /// From the trial's first frame to its last, by the host's clock as they arrived.
    pub host_elapsed_ns: u64,
    /// That stretch by the agent's clock; none when the trial ended without a last frame.
    pub agent_elapsed_ns: Option<u64>,
    pub batches: Batches,
    pub inside: Interference,
    pub outside: Interference,
    pub failure: Option<Failure>,
    /// Lines that were not frames.
    pub notes: Vec<String>,
}

/// Disturbances during a trial, on one side of the boundary: counters over the trial. A counter that the
/// kernel does not report is absent, never zero.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Interference {
    /// Processor time that the hypervisor took, over all processors.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub steal_ns: Option<u64>,
    /// Time in which some task waited for a processor (PSI).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pressure_cpu_ns: Option<u64>,
    /// Time in which some task waited for a disk (PSI).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pressure_io_ns: Option<u64>,
    /// Context switches by which the trial gave up the processor itself.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub switches_voluntary: Option<u64>,
    /// Context switches that were forced on it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub switches_forced: Option<u64>,
    /// Time for which the trial's process could have run and waited for a processor: others had it, or a limit stopped it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub run_delay_ns: Option<u64>,
    /// Batches of a pair in which more context switches were forced on it than in its others: another program took the processor.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub batches_interrupted: Option<u64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub faults_minor: Option<u64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub faults_major: Option<u64>,
    /// Time of a fixed chain of dependent additions just before the trial; shows throttling and neighbours
    /// where no counter does.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub canary_ns: Option<u64>,
}

impl Interference {
    /// Tells whether nothing was reported, or nothing but noughts.
    pub fn is_nothing(&self) -> bool {
        let Interference { steal_ns, pressure_cpu_ns, pressure_io_ns, switches_voluntary, .. } = self;
        let Interference { switches_forced, batches_interrupted, faults_minor, faults_major, .. } = self;
        let disturbances =
            [steal_ns, pressure_cpu_ns, pressure_io_ns, switches_voluntary, &self.run_delay_ns];
        let others = [switches_forced, batches_interrupted, faults_minor, faults_major, &self.canary_ns];
        disturbances.into_iter().chain(others).all(|counter| counter.unwrap_or(0) == 0)
    }
}

/// A round of a case that broke an interference limit and was run again.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct RepeatedRound {
    pub case: String,
    pub round: u32,
    /// The attempt that was disturbed.
    pub attempt: u32,
    pub reason: String,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Ending {
    /// Every case was decided or had all its rounds, or the budget was spent.
    Complete,
    /// Nobody was to wait longer than until then: what is open needs more time than the session had taken.
    Early,
    Interrupted,
    /// The baseline failed in too many rounds in a row.
    BaselineFailed,
    /// Every other environment was given up.
    SubjectsFailed,
    /// The record stops without an end: kill, power, full disk.
    BrokenOff,
}

/// Everything that a record holds.
#[derive(Clone, Debug, PartialEq)]
pub struct Session {
    pub header: Header,
    pub plan: Plan,
    pub facts: Vec<TargetFacts>,
    /// In the order in which they ran.
    pub trials: Vec<Trial>,
    pub repeated: Vec<RepeatedRound>,
    /// In the order in which they were read.
    pub limits: Vec<LimitCounts>,
    /// In the order in which they ran.
    pub stretches: Vec<Stretch>,
    /// In the order in which they ran.
    pub outcomes: Vec<OutcomeRun>,
    pub ending: Ending,
    /// Doubts about the record itself, from its reader.
    pub warnings: Vec<Warning>,
}

impl Session {
    /// Begins a session that has a plan and nothing else yet.
    pub fn begin(header: Header, plan: Plan) -> Session {
        let (facts, trials, repeated, limits, stretches, outcomes, warnings) = Default::default();
        let ending = Ending::BrokenOff;
        Session { header, plan, facts, trials, repeated, limits, stretches, outcomes, ending, warnings }
    }

    pub fn baseline(&self) -> Option<&Side> {
        self.plan.targets.of_role(Role::Baseline).next()
    }

    /// Tells whether this attempt at a round counts: disturbed attempts do not.
    pub fn is_counted(&self, trial: &Trial) -> bool {
        !self
            .repeated
            .iter()
            .any(|r| r.case == trial.case && r.round == trial.round && r.attempt == trial.attempt)
    }
}
