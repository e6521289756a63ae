//! Partners: which trials of two environments are compared, where some ran alone and others took turns.

use tare_data::metric::Metric;
use tare_data::session::Trial;

use crate::verdicts::rows::Judge;
use crate::verdicts::summary::{Series, read_series_against};

/// A row's values before they are judged, environment by environment.
pub(crate) struct RowSeries {
    pub own: Vec<Series>,
    /// Values of the partner from trials that took turns with the environment's; none where none did.
    pub partner: Vec<Option<Series>>,
}

impl RowSeries {
    /// Returns the values that an environment's are compared with: its partner's, or those of another one's trials alone.
    pub fn against<'s>(&'s self, target: usize, other: &'s Series) -> &'s Series {
        self.partner[target].as_ref().unwrap_or(other)
    }
}

impl<'a> Judge<'a> {
    /// Finds the environment that another's trials took turns with, if any did.
    pub(crate) fn partner_of(&self, target: usize) -> Option<usize> {
        let plan = self.progress.plan;
        let partner = plan.partner_of(target)?;
        // Where another environment than the plan's is the baseline, no pair is with it.
        (self.baseline == plan.baseline_at() || Some(partner) != plan.baseline_at()).then_some(partner)
    }

    /// Reads the rows of a case, one for each metric.
    pub(crate) fn read_rows(&self, case: usize, metrics: &[Metric]) -> Vec<RowSeries> {
        let targets = self.progress.plan.targets.len();
        let mut own: Vec<Vec<Series>> = Vec::with_capacity(targets);
        let mut partners: Vec<Option<Vec<Series>>> = Vec::with_capacity(targets);
        for target in 0..targets {
            let partner = self.partner_of(target).filter(|partner| self.has_pairs(case, target, *partner));
            own.push(self.read_against(case, target, partner, metrics));
            partners.push(partner.map(|partner| self.read_against(case, partner, Some(target), metrics)));
        }
        let row = |at: usize| RowSeries {
            own: own.iter_mut().map(|series| std::mem::take(&mut series[at])).collect(),
            partner: partners
                .iter_mut()
                .map(|series| series.as_mut().map(|series| std::mem::take(&mut series[at])))
                .collect(),
        };
        (0..metrics.len()).map(row).collect()
    }

    fn has_pairs(&self, case: usize, target: usize, partner: usize) -> bool {
        let name = self.progress.plan.targets[partner].name.as_str();
        self.trials(case, target).iter().any(|trial| trial.partner.as_deref() == Some(name))
    }

    /// Reads an environment's values in a case from the trials that took turns with another one's, and those that ran alone; from all,
    /// one a round, where no other is named.
    fn read_against(
        &self,
        case: usize,
        target: usize,
        other: Option<usize>,
        metrics: &[Metric],
    ) -> Vec<Series> {
        let name = other.map(|other| self.progress.plan.targets[other].name.as_str());
        let is_wanted =
            |trial: &&Trial| name.is_none() || trial.partner.is_none() || trial.partner.as_deref() == name;
        let mut trials: Vec<&Trial> = self.trials(case, target).iter().copied().filter(is_wanted).collect();
        if name.is_some() {
            // Of a round that has both, the trial that took turns, which is sorted behind the one that ran alone.
            trials.reverse();
            trials.dedup_by_key(|trial| trial.round);
            trials.reverse();
        }
        let mut all = read_series_against(&trials, metrics, name);
        if !self.progress.plan.every.is_empty() {
            for series in all.iter_mut().filter(|series| series.trials > 0) {
                series.reached = self.schedule.with_rests(series.reached, self.begun[case]);
            }
        }
        all
    }
}
