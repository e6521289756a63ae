//! The selection of a request: a study's cases, with the request's peers, counts and margins.

use std::time::Duration;

use tare_data::names::{Case, Parameters};
use tare_probes::descriptions::USER_COMMAND;
use tare_probes::probe::Size;

use crate::asked::{Measured, Request, Until};
use crate::error::LabError;
use crate::session::peers::{Peers, with_hops};
use crate::session::protocol::command_sides::divide_commands;
use crate::study::{SelectedCase, Study, select_cases};
use crate::study::{calls, startup};

/// Longest session in the short size, unless a budget is given: five minutes.
const SHORT: Duration = Duration::from_secs(300);
/// Parameters of a command in company.
const COPIES: &str = "copies";
const NEIGHBOUR: &str = "neighbour";

/// A study, and the cases of it that a request selects.
pub(crate) struct Selection {
    pub(crate) study: Study,
    pub(crate) selected: Vec<SelectedCase>,
    pub(crate) peers: Peers,
    pub(crate) until: Until,
    /// The commands that are sides, by the parameters that are theirs alone; none where environments are compared.
    pub(crate) commands: Vec<Parameters>,
    /// See `Request::counts_demand`.
    pub(crate) counts_demand: bool,
}

impl Request {
    pub(crate) fn make_selection(&self) -> Result<Selection, LabError> {
        let study = match &self.measured {
            Measured::Named(name) => Study::from_name(name)?,
            Measured::Read(study) | Measured::Commands(study) => study.clone(),
        };
        let places = (!self.places.is_empty()).then_some(self.places.as_slice());
        let selected = select_cases(study.expand_cases(places, self.size)?, &self.only)?;
        let peers = Peers::from_texts(&self.peers)?;
        let selected = peers.replace_peers(selected);
        let selected = if self.hops { with_hops(selected)? } else { selected };
        let selected = with_counts(selected, &self.at_once)?;
        let mut selected = with_neighbours(selected, &self.neighbours)?;
        selected.iter_mut().for_each(|case| case.margin = self.margin.unwrap_or(case.margin));
        // Each round of a command is one run of it.
        let once = matches!((&self.measured, self.until), (Measured::Commands(_), Some(Until::Rounds(_))));
        selected.iter_mut().for_each(|case| case.once = once && case.probe.name == USER_COMMAND);
        let until = self.until.unwrap_or_else(|| Until::Budget(self.budget_of(&study)));
        let (selected, commands) = match self.compares_commands {
            true => divide_commands(selected),
            false => (selected, Vec::new()),
        };
        Ok(Selection { study, selected, peers, until, commands, counts_demand: self.counts_demand })
    }

    fn budget_of(&self, study: &Study) -> Duration {
        let budget = study.budget_in(self.size.unwrap_or(study.size));
        if self.size == Some(Size::Short) { budget.min(SHORT) } else { budget }
    }
}

impl Selection {
    pub(crate) fn cases(&self) -> Vec<&Case> {
        self.selected.iter().map(|selected| &selected.case).collect()
    }
}

/// Repeats each start and each command with each of these counts at once. Without counts, leaves the cases as
/// they are.
fn with_counts(selected: Vec<SelectedCase>, counts: &[u64]) -> Result<Vec<SelectedCase>, LabError> {
    let key = |selected: &SelectedCase| match () {
        () if startup::is_start(&selected.case) => Some(startup::AT_ONCE),
        () if calls::is_call(&selected.case) => Some(startup::AT_ONCE),
        () if selected.probe.name == USER_COMMAND => Some(COPIES),
        () => None,
    };
    if counts.is_empty() {
        return Ok(selected);
    }
    if !selected.iter().any(|selected| key(selected).is_some()) {
        return Err(LabError::usage_error(format!(
            "--at-once is about starts and commands, and there is no {} here",
            startup::PROBE.name
        ))
        .with_hint("tare run startup --at-once 1,10,50"));
    }
    Ok(each(selected, key, counts))
}

/// Repeats each command with each of the neighbours.
fn with_neighbours(
    selected: Vec<SelectedCase>,
    neighbours: &[String],
) -> Result<Vec<SelectedCase>, LabError> {
    let key = |selected: &SelectedCase| (selected.probe.name == USER_COMMAND).then_some(NEIGHBOUR);
    if !neighbours.is_empty() && !selected.iter().any(|selected| key(selected).is_some()) {
        return Err(LabError::usage_error("--neighbour is about commands, and there is none here")
            .with_hint("tare run --neighbour none,burn -- COMMAND"));
    }
    Ok(each(selected, key, neighbours))
}

/// Repeats the cases that have the parameter with each of the values, and leaves the others as they are.
fn each<T: ToString>(
    selected: Vec<SelectedCase>,
    key: impl Fn(&SelectedCase) -> Option<&'static str>,
    values: &[T],
) -> Vec<SelectedCase> {
    let of_case = |selected: SelectedCase| match key(&selected) {
        Some(key) if !values.is_empty() => {
            let with = |value: &T| {
                let mut one = selected.clone();
                one.case.parameters.0.insert(key.to_owned(), value.to_string());
                one
            };
            values.iter().map(with).collect()
        }
        _ => vec![selected],
    };
    selected.into_iter().flat_map(of_case).collect()
}
