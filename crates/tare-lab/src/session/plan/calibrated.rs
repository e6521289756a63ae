//! A case once it is calibrated: the amounts of its trials and pairs, and the time that they take.

use std::collections::BTreeMap;

use tare_data::failure::Failure;
use tare_data::metric::Reading;
use tare_data::peer::LOOPBACK;
use tare_data::request::Amount;
use tare_data::session::declared::{Alternation, Declared};
use tare_data::session::{PlannedCase, Role, Sides};
use tare_probes::descriptions::{USER, USER_COMMAND};

use crate::session::plan::amount::{Pace, Wanted, amount_of_time, compute_passes, cost_ns};
use crate::study::SelectedCase;
use crate::study::label::make_row_label;
use crate::study::startup;

/// Time of an operation of a command that takes as good as none.
pub(crate) const QUICKEST_NS: f64 = 1.0;

/// A case with the pace of every environment, or why it has none there.
#[derive(Clone)]
pub(crate) struct Calibrated {
    pub selected: SelectedCase,
    pub paces: Vec<Result<Pace, Failure>>,
    /// For each environment, if its trials can take turns with its partner's.
    pub takes_turns: Vec<bool>,
}

impl Calibrated {
    /// Tells whether the case measures starts, so that each trial is one start.
    pub fn is_start(&self) -> bool {
        startup::is_start(&self.selected.case)
    }

    /// Returns the time of a run in the baseline, where there is one.
    pub fn baseline_ns(&self) -> Option<f64> {
        Some(self.paces.first()?.as_ref().ok()?.operation_ns)
    }

    /// Tells whether the case runs the user's own command, whose time nobody knows beforehand.
    pub fn is_command(&self) -> bool {
        self.selected.probe.name == USER_COMMAND
    }

    /// Takes a command for the quickest that there can be, in these environments: their starts take time all the same.
    pub fn assume_quickest(mut self, is_in: impl Fn(usize) -> bool) -> Calibrated {
        let quickest = Pace { operation_ns: QUICKEST_NS, overhead_ns: 0.0, fixed_ns: None };
        if self.is_command() {
            let paces = self.paces.iter_mut().enumerate();
            paces.filter(|(at, _)| is_in(*at)).for_each(|(_, pace)| *pace = Ok(quickest));
        }
        self
    }

    /// Computes the amount at a scale: from the baseline's pace, or the slowest environment's where the
    /// baseline has none.
    fn amount(&self, scale: f64) -> Option<Amount> {
        let known: Vec<Pace> = self.paces.iter().flatten().copied().collect();
        let baseline = self.paces.first()?.as_ref().ok().or(known.first())?;
        let SelectedCase { probe, case, .. } = &self.selected;
        Some(match self.selected.seconds {
            _ if self.selected.once => Amount::Operations { batch: 1, batches: 1 },
            Some(seconds) => amount_of_time(*baseline, &known, seconds),
            // Alone, a trial of a fixed amount is one pass.
            None if known.iter().any(|pace| pace.fixed_ns.is_some()) => {
                Amount::Operations { batch: 1, batches: 1 }
            }
            None => {
                let Declared { batching, .. } = probe.declare_case(&case.parameters);
                Wanted { batching, metrics: &probe.metrics(), scale }.compute_amount(*baseline, &known)
            }
        })
    }

    /// Computes the amount of a pair of an environment and its partner at a scale; none where the case is measured alone there.
    pub fn pair_amount(&self, scale: f64, target: usize) -> Option<Amount> {
        let SelectedCase { probe, case, .. } = &self.selected;
        let Declared { batching, alternation, .. } = probe.declare_case(&case.parameters);
        // A peer serves one trial at a time.
        let has_peer = case.peer.as_deref().is_some_and(|peer| peer != LOOPBACK);
        let is_alone = alternation == Alternation::Alone || self.is_start() || self.selected.once;
        if is_alone || has_peer || self.selected.seconds.is_some() {
            return None;
        }
        let paces = [self.paces.first()?.as_ref().ok()?, self.paces.get(target)?.as_ref().ok()?];
        let is_fixed = paces.iter().any(|pace| pace.fixed_ns.is_some());
        let wanted = Wanted { batching, metrics: &probe.metrics(), scale };
        Some(match is_fixed {
            true => compute_passes(*paces[0], *paces[1]),
            false => wanted.compute_pair_amount(*paces[0], *paces[1]),
        })
    }

    /// Returns the amount of a pair where an environment takes turns.
    fn planned_pair(&self, scale: f64, target: usize) -> Option<Amount> {
        self.takes_turns.get(target).filter(|takes_turns| **takes_turns)?;
        self.pair_amount(scale, target)
    }

    /// Estimates the time of a trial, or a pair, at a scale, by environment, wherever there is a pace. The baseline has trials for
    /// those that are measured alone.
    pub fn trials_ns(&self, scale: f64) -> Vec<(usize, f64)> {
        let Some(amount) = self.amount(scale) else { return Vec::new() };
        let Some(Ok(baseline)) = self.paces.first() else { return Vec::new() };
        let is_alone = |target: usize| self.planned_pair(scale, target).is_none();
        let others = (1..self.paces.len()).filter(|target| self.paces[*target].is_ok());
        let has_alone = self.paces.len() == 1 || others.clone().any(is_alone);
        let of_baseline = if has_alone { cost_ns(*baseline, amount) } else { 0.0 };
        let of_other = |target: usize| {
            let pace = self.paces[target].as_ref().ok()?;
            Some((
                target,
                match self.planned_pair(scale, target) {
                    Some(pair) => cost_ns(*baseline, pair) + cost_ns(*pace, pair),
                    None => cost_ns(*pace, amount),
                },
            ))
        };
        [(0, of_baseline)].into_iter().chain(others.filter_map(of_other)).collect()
    }

    /// Estimates the time of a trial in the baseline, in seconds, where a cost can be planted: where work
    /// that needs no place and no peer is timed.
    pub fn plantable_s(&self, scale: f64) -> Option<f64> {
        let SelectedCase { probe, case, .. } = &self.selected;
        let is_timed = probe.metrics().first().is_some_and(|headline| {
            matches!(headline.reading, Reading::TimePerOperation | Reading::OperationsPerSecond)
        });
        let is_plain = case.place.is_none() && case.peer.is_none() && !case.probe.starts_with(USER);
        let pace = self.paces.first()?.as_ref().ok()?;
        let can_be = is_timed && is_plain && !self.is_start() && pace.fixed_ns.is_none();
        let amount = self.pair_amount(scale, 0).or_else(|| self.amount(scale)).filter(|_| can_be)?;
        Some(cost_ns(*pace, amount) / 1e9)
    }

    pub fn plan(&self, scale: f64, targets: &Sides, brief: &BTreeMap<String, String>) -> PlannedCase {
        let SelectedCase { probe, case, margin, decide, .. } = &self.selected;
        let failures = targets.iter().zip(&self.paces);
        let failures = failures.filter_map(|(target, pace)| Some((target, pace.as_ref().err()?)));
        PlannedCase {
            id: case.to_string(),
            case: case.clone(),
            label: make_row_label(probe, case, brief),
            metrics: probe.metrics(),
            decide: decide.clone(),
            definition: probe.definition_hash(&case.parameters),
            declared: probe.declare_case(&case.parameters),
            amount: self.amount(scale).unwrap_or(Amount::Operations { batch: 1, batches: 1 }),
            pairs: targets
                .iter()
                .enumerate()
                .filter(|(at, _)| targets.role(*at) != Role::Baseline)
                .filter_map(|(at, target)| Some((target.name.clone(), self.planned_pair(scale, at)?)))
                .collect(),
            margin: *margin,
            missing: failures.map(|(target, failure)| (target.name.clone(), failure.clone())).collect(),
        }
    }
}
