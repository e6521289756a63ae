//! Carry-over: trials of one environment that change the time of the trial after them.

use std::collections::{BTreeMap, BTreeSet};

use tare_data::session::{PlannedCase, Trial};
use tare_data::unit::Direction;

use crate::statistics::signed_ranks::{compute_median, sort_values};
use crate::verdicts::summary::read_values;

/// Fewest trials that follow an environment's, and others', from which a difference between them is known.
const FEWEST: usize = 12;
/// Standard errors beyond which chance puts one environment in a thousand.
const BEYOND: f64 = 3.29;
/// Values further from their median than this many deviations count as that far.
const FARTHEST: f64 = 3.0;

/// A trial that ran alone after another one.
struct Follower<'a> {
    after: &'a str,
    target: &'a str,
    /// The logarithm of its cost, from the median of its case and environment.
    cost: f64,
}

/// Costs of trials that follow an environment's, compared with those of trials that follow others'.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Carry {
    /// Logarithm of a ratio of costs.
    pub added: f64,
    /// Share of the trials that follow its own, by which a comparison with it is off at most.
    pub share: f64,
}

/// Estimates what a trial of each environment adds to the next one, where that is too much for chance. Trials that took turns meet the same
/// state on both sides, and are not counted.
pub(crate) fn estimate_carry<'a>(trials: &'a [Trial], cases: &[PlannedCase]) -> BTreeMap<&'a str, Carry> {
    let followers = list_followers(trials, cases);
    let mut found = BTreeMap::new();
    let names: BTreeSet<&str> = followers.iter().map(|follower| follower.after).collect();
    for name in names {
        let others = || followers.iter().filter(|follower| follower.target != name);
        let costs = |is_after: bool| -> Vec<f64> {
            let wanted = others().filter(|follower| (follower.after == name) == is_after);
            wanted.map(|follower| follower.cost).collect()
        };
        let (after, not_after) = (costs(true), costs(false));
        if after.len() < FEWEST || not_after.len() < FEWEST {
            continue;
        }
        let (one, other) = (mean_and_error(&after), mean_and_error(&not_after));
        let (added, error) = (one.0 - other.0, libm::hypot(one.1, other.1));
        if added.abs() > BEYOND * error {
            let share = after.len() as f64 / (after.len() + not_after.len()) as f64;
            found.insert(name, Carry { added, share });
        }
    }
    found
}

fn mean_and_error(values: &[f64]) -> (f64, f64) {
    let count = values.len() as f64;
    let mean = values.iter().sum::<f64>() / count;
    let squares: f64 = values.iter().map(|value| (value - mean).powi(2)).sum();
    (mean, (squares / (count - 1.0) / count).sqrt())
}

fn list_followers<'a>(trials: &'a [Trial], cases: &[PlannedCase]) -> Vec<Follower<'a>> {
    let mut cells: BTreeMap<(&str, &str), Vec<(&str, f64)>> = BTreeMap::new();
    for pair in trials.windows(2) {
        let [before, trial] = pair else { continue };
        let metric = cases.iter().find(|case| case.id == trial.case).and_then(|case| case.metrics.first());
        let (Some(metric), None, None) = (metric, &trial.failure, &trial.partner) else { continue };
        let value = read_values(trial, std::slice::from_ref(metric)).into_iter().next().flatten();
        if let Some(value) = value.filter(|value| value.value > 0.0) {
            let cost = match metric.direction {
                Direction::Lower => libm::log(value.value),
                Direction::Higher => -libm::log(value.value),
            };
            let cell = cells.entry((&trial.case, &trial.target)).or_default();
            cell.push((&before.target, cost));
        }
    }
    let centred = |((_, target), values): ((&str, &'a str), Vec<(&'a str, f64)>)| {
        let costs: Vec<f64> = values.iter().map(|(_, cost)| *cost).collect();
        let median = compute_median(&sort_values(&costs));
        let sizes: Vec<f64> = costs.iter().map(|cost| (cost - median).abs()).collect();
        let farthest = FARTHEST * 1.4826 * compute_median(&sort_values(&sizes));
        let limit = move |cost: f64| (cost - median).clamp(-farthest, farthest);
        values.into_iter().map(move |(after, cost)| Follower { after, target, cost: limit(cost) })
    };
    cells.into_iter().flat_map(centred).collect()
}
