//! What a request selects: a study's cases, with peers, counts and margins in place of its own.

use tare_data::names::Case;
use tare_probes::descriptions::USER_COMMAND;
use tare_probes::probe::Size;

use crate::asked::{Request, startup};
use crate::error::LabError;
use crate::session::peers::{Peers, with_hops};
use crate::study::{SelectedCase, Study, select};

/// Longest session in the quick size, unless a budget is given: five minutes.
const QUICK_S: f64 = 300.0;

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
