//! The two sides of a cell: the trials that are compared, and doubts that only all of them together raise.

use tare_data::metric::{Metric, Reading};
use tare_data::session::Trial;

use crate::findings::Comparison;
use crate::verdicts::doubts::ends::{self, RunPairs};
use crate::verdicts::doubts::failures::FailedTrials;
use crate::verdicts::doubts::ticks::{Ticks, find_ticks};
use crate::verdicts::judge::Judgement;
use crate::verdicts::pairs::{Pairs, select_trials};
use crate::verdicts::rows::Judge;
use crate::verdicts::summary::read_times;

/// Operations of a trial beyond a quantile from which its value is that of all trials together, or nearly.
const FEWEST_BEYOND: f64 = 30.0;

impl<'a> Judge<'a> {
    /// Finds the environment whose trials of a case took turns with another's. Against another baseline than the plan's there are none.
    pub(crate) fn find_turn_partner(&self, case: usize, target: usize) -> Option<usize> {
        let plan = self.progress.plan;
        let partner = plan.partner_of(target).filter(|_| self.baseline == plan.baseline_at())?;
        let name = Some(plan.targets[partner].name.as_str());
        self.trials(case, target).iter().any(|trial| trial.partner.as_deref() == name).then_some(partner)
    }

    /// Selects the trials of a case that are compared: of the other side, and of the environment that is judged.
    pub(crate) fn select_sides(&self, case: usize, target: usize) -> Option<[Vec<&'a Trial>; 2]> {
        let name = |target: usize| self.progress.plan.targets[target].name.as_str();
        if Some(target) == self.baseline {
            return None;
        }
        let partner = self.find_turn_partner(case, target);
        let own = select_trials(self.trials(case, target), partner.map(name));
        let others = match partner {
            Some(partner) => select_trials(self.trials(case, partner), Some(name(target))),
            None => self.trials(case, self.baseline?).to_vec(),
        };
        Some([others, own])
    }

    /// Pairs the runs of a command in an environment with those that they are compared with.
    pub(crate) fn pair_runs(&self, case: usize, target: usize, metrics: &[Metric]) -> Option<RunPairs> {
        let name = |target: usize| self.progress.plan.targets[target].name.as_str();
        let partner = self.find_turn_partner(case, target);
        let [others, own] = self.select_sides(case, target)?;
        let names = partner.map(|partner| [name(partner), name(target)]);
        ends::pair_runs(&self.progress.plan.cases[case], [others, own], metrics, names)
    }

    /// Forgets when pairs of a record of schema 1 began, which has the rules of its time.
    pub(crate) fn forget_old_times(&self, mut pairs: Pairs) -> Pairs {
        if !self.progress.plan.own_rounds {
            pairs.pairs.iter_mut().for_each(|pair| pair.at_s = None);
        }
        pairs
    }

    /// Finds the ticks of both clocks in what is compared: the other side's, and those of the environment that is judged.
    pub(crate) fn find_ticks(&self, (case, target): (usize, usize), metric: &Metric) -> [Option<Ticks>; 2] {
        let Some([others, own]) = self.select_sides(case, target) else { return [None; 2] };
        let other = self.find_turn_partner(case, target).or(self.baseline);
        let of_other = other.and_then(|other| find_ticks(&others, metric, self.find_facts(other)));
        [of_other, find_ticks(&own, metric, self.find_facts(target))]
    }

    /// Returns why an answer cannot stand where trials fail more often on one side.
    pub(crate) fn find_failure_objection(
        &self,
        (case, target): (usize, usize),
        comparison: &Comparison,
    ) -> Option<String> {
        let [others, own] = self.select_sides(case, target)?;
        FailedTrials::count_failed([&others, &own]).find_objection(comparison.verdict, comparison.answer())
    }

    /// Widens the interval of a quantile that few of a trial's operations exceed to what the operations of all trials hold.
    pub(crate) fn limit_to_quantiles(
        &self,
        judgement: Judgement,
        (case, target): (usize, usize),
        metric: &Metric,
        operations: u64,
    ) -> Judgement {
        let Reading::Quantile(q) = metric.reading else { return judgement };
        let are_few = operations as f64 * (1.0 - q).min(q) < FEWEST_BEYOND;
        match self.select_sides(case, target).filter(|_| are_few) {
            Some(sides) => judgement.limit_to_quantiles(q, &sides.map(|trials| read_times(&trials, metric))),
            None => judgement,
        }
    }
}
