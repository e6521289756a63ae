//! The request for a session: for a new one in full, for a resumed one what its record cannot hold.

use std::path::PathBuf;

use tare_analysis::gate::Condition;
use tare_data::facts::Facts;
use tare_data::names::Case;
use tare_data::session::identity::FleetCell;
use tare_probes::descriptions::USER_COMMAND;
use tare_probes::probe::Size;

use crate::error::LabError;
use crate::provider::root::Inside;
use crate::session::peers::{Peers, with_hops};
use crate::session::protocol::pinning::Pin;
use crate::session::startup;
use crate::study::{SelectedCase, Study, select};

/// Longest session in the quick size, unless a budget is given: five minutes.
const QUICK_S: f64 = 300.0;

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
    /// Measures starts as many at once, a case each; alone where none is given.
    pub at_once: Vec<u64>,
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

/// A study with the cases that a request selects of it.
pub(crate) struct Selection {
    pub(crate) study: Study,
    pub(crate) selected: Vec<SelectedCase>,
    pub(crate) peers: Peers,
    /// None where the number of rounds is fixed, or decisions end the session.
    pub(crate) budget_s: Option<f64>,
}

impl Request {
    pub(crate) fn select(&self) -> Result<Selection, LabError> {
        // --only without a study selects from all probes.
        let usual = match (self.at_once.is_empty(), self.only.is_empty()) {
            (false, _) => "startup",
            (true, true) => "quick",
            (true, false) => "full",
        };
        let study = match self.commands.as_ref().or(self.read.as_ref()) {
            Some(study) => study.clone(),
            None => Study::named(self.study.as_deref().unwrap_or(usual))?,
        };
        let places = (!self.places.is_empty()).then_some(self.places.as_slice());
        let selected = select(study.selected(places, self.size)?, &self.only)?;
        let peers = Peers::read(&self.peers)?;
        let selected = peers.instead(selected);
        let selected = if self.hops { with_hops(selected)? } else { selected };
        let mut selected = with_counts(selected, &self.at_once)?;
        selected.iter_mut().for_each(|case| case.margin = self.margin.unwrap_or(case.margin));
        // Each round of a command is one run of it.
        let once = self.commands.is_some() && self.rounds.is_some();
        selected.iter_mut().for_each(|case| case.once = once && case.probe.name == USER_COMMAND);
        let budget_s = match (self.rounds, self.budget_s) {
            _ if self.until_decided => None,
            (Some(_), _) => None,
            (None, Some(budget_s)) => Some(budget_s),
            (None, None) => Some(self.budget_of(&study)?),
        };
        Ok(Selection { study, selected, peers, budget_s })
    }

    fn budget_of(&self, study: &Study) -> Result<f64, LabError> {
        let budget_s = study.budget_s(self.size.map_or_else(|| study.size(), Ok)?)?;
        Ok(if self.size == Some(Size::Quick) { budget_s.min(QUICK_S) } else { budget_s })
    }
}

impl Selection {
    pub(crate) fn cases(&self) -> Vec<&Case> {
        self.selected.iter().map(|selected| &selected.case).collect()
    }
}

/// Each start among the cases as many times at once; the cases as they are where no counts are given.
fn with_counts(selected: Vec<SelectedCase>, counts: &[u64]) -> Result<Vec<SelectedCase>, LabError> {
    if counts.is_empty() {
        return Ok(selected);
    }
    if !selected.iter().any(|selected| startup::is_start(&selected.case)) {
        return Err(LabError::usage(format!(
            "--at-once is about starts, and there is no {} here",
            startup::PROBE.name
        ))
        .hint("tare run startup --at-once 1,10,50"));
    }
    let of_case = |selected: SelectedCase| {
        let with = |count: &u64| {
            let mut one = selected.clone();
            one.case.parameters.0.insert(startup::AT_ONCE.to_owned(), count.to_string());
            one
        };
        match startup::is_start(&selected.case) {
            true => counts.iter().map(with).collect(),
            false => vec![selected],
        }
    };
    Ok(selected.into_iter().flat_map(of_case).collect())
}
