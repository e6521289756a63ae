//! The rounds that a further session would take to find an effect, from the spread and the trial times of one
//! that was measured.

use std::collections::BTreeMap;

use tare_data::session::{Role, Session, Trial};

use crate::statistics::signed_ranks::{Nulls, compute_median, sort_values};
use crate::verdicts::rows::{Judge, Options, Progress};
use crate::verdicts::verdict::{Margin, Scatter};

/// Rounds and time that one comparison would take.
#[derive(Clone, Debug, PartialEq)]
pub struct Forecast {
    pub case: String,
    pub label: String,
    pub target: String,
    /// Rounds compared, and their spread as the standard deviation of the logarithm of their ratios.
    pub measured: u32,
    pub deviation: f64,
    /// Rounds with which one look finds the effect with 80 % power; none where it is at the edge of the
    /// margin.
    pub rounds: Option<u32>,
    /// Time of these rounds: trials of the environment, the baseline and a third of a control, and the pauses
    /// between them.
    pub s: Option<f64>,
}

/// Forecasts for the headline of each case in each subject, for an effect as the logarithm of a ratio. Cells of fewer than
/// six rounds have none, nor have those that cannot be compared.
pub fn compute_forecasts(session: &Session, effect: f64, options: &Options) -> Vec<Forecast> {
    let plan = &session.plan;
    let judge = Judge::new(Progress::from_session(session), options, |_| true);
    let times = Times::of(session);
    let (mut forecasts, mut nulls) = (Vec::new(), Nulls::default());
    for (at, case) in plan.cases.iter().enumerate() {
        let row = judge.judge_rows(at, 1, &BTreeMap::new(), &mut nulls).pop();
        let judged = row.map(|row| row.targets).unwrap_or_default();
        for (place, (target, judged)) in plan.targets.iter().zip(judged).enumerate() {
            let Some(judgement) = judged.and_then(|judged| judged.judgement) else { continue };
            if plan.targets.role(place) != Role::Subject || judgement.units < FEWEST {
                continue;
            }
            let margin = Margin::from_planned(options.margin.unwrap_or(case.margin));
            let scatter = judgement.scatter();
            let a_unit = f64::from(judgement.reached) / judgement.units as f64;
            let rounds = units_for(scatter, effect, margin).map(|units| (units * a_unit).ceil());
            forecasts.push(Forecast {
                case: case.id.clone(),
                label: case.label.clone(),
                target: target.name.clone(),
                measured: judgement.reached,
                deviation: judgement.deviation * a_unit.sqrt(),
                rounds: rounds.map(|rounds| rounds as u32),
                s: rounds.map(|rounds| rounds * times.round_s(session, &case.id, &target.name)),
            });
        }
    }
    forecasts
}

/// Fewest units that have a spread worth planning with.
const FEWEST: usize = 6;

/// Computes the units that find an effect with 80 % power: beyond the margin it is a difference, within it a
/// slight one.
fn units_for(scatter: Scatter, effect: f64, margin: Margin) -> Option<f64> {
    let effect = effect.abs();
    let distance = match effect > margin.planned {
        true => effect - margin.planned,
        false => effect.min(margin.planned - effect),
    };
    // Fewer than the first look has, no session decides with.
    (distance > margin.planned * AT_EDGE).then(|| scatter.units_for(distance).max(FIRST_LOOK))
}

/// A distance from the edge of the margin that is none, as a share of the margin: 2 % at a margin of 2 %, however both were
/// rounded.
const AT_EDGE: f64 = 1e-3;

/// Rounds at the first look.
const FIRST_LOOK: f64 = 12.0;

/// Times of a session's trials, by case and environment, and the time of the whole over their sum.
struct Times<'a> {
    trials_s: BTreeMap<(&'a str, &'a str), f64>,
    with_rest: f64,
}

impl<'a> Times<'a> {
    fn of(session: &'a Session) -> Self {
        let mut trials: BTreeMap<(&str, &str), Vec<f64>> = BTreeMap::new();
        for trial in &session.trials {
            let times = trials.entry((trial.case.as_str(), trial.target.as_str())).or_default();
            times.push(trial.host_elapsed_ns as f64 / 1e9);
        }
        let timed_s: f64 = trials.values().flatten().sum();
        let end_ns = |trial: &Trial| trial.started_ns.saturating_add(trial.host_elapsed_ns);
        let (first, last) = (session.trials.first(), session.trials.last());
        let span_ns =
            first.zip(last).map_or(0, |(first, last)| end_ns(last).saturating_sub(first.started_ns));
        let trials_s =
            trials.into_iter().map(|(cell, times)| (cell, compute_median(&sort_values(&times)))).collect();
        Times { trials_s, with_rest: (span_ns as f64 / 1e9 / timed_s.max(1e-9)).max(1.0) }
    }

    /// Estimates the time of a round of one comparison alone.
    fn round_s(&self, session: &Session, case: &str, target: &str) -> f64 {
        let targets = &session.plan.targets;
        let share = |at: usize| match targets.role(at) {
            Role::Baseline => 1.0,
            Role::Control => 1.0 / 3.0,
            Role::Subject if targets[at].name == target => 1.0,
            Role::Subject | Role::Planted => 0.0,
        };
        let trial_s = |name: &str| self.trials_s.get(&(case, name)).copied().unwrap_or(0.0);
        (0..targets.len()).map(|at| share(at) * trial_s(&targets[at].name)).sum::<f64>() * self.with_rest
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn units(effect: f64, margin: f64) -> Option<f64> {
        let scatter = Scatter { units: 18, estimate: 0.0, deviation: 0.04 };
        units_for(scatter, effect, Margin::from_planned(margin)).map(f64::ceil)
    }

    #[test]
    fn the_distance_to_the_edge_says_how_many_and_at_the_edge_none_do() {
        let margin = libm::log(1.02);
        // 1.35 (2.8 * 0.04 / 0.03)^2, and so on.
        assert_eq!(units(margin + 0.03, margin), Some(19.0));
        assert_eq!(units(-(margin + 0.03), margin), Some(19.0));
        assert_eq!(units(0.5, margin), Some(12.0), "no session decides before its first look");
        assert_eq!(units(libm::log1p(0.02), margin), None, "2 % at a margin of 2 %");
        assert_eq!(units(libm::log1p(0.01), libm::log1p(0.005)), Some(689.0), "a narrower margin finds less");
        assert_eq!(units(0.0, margin), None);
    }
}
