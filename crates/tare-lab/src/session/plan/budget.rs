//! Room in a budget: how long trials are, and how many rounds there may be at most.

use tare_analysis::findings::sameness::FEWEST_STARTS;
use tare_analysis::verdicts::stopping::rounds_before_look;
use tare_data::budget::name_budget;
use tare_data::session::{Role, Sides};

use crate::session::plan::amount::LEAST_SCALE;
use crate::session::plan::calibrated::Calibrated;
use crate::session::plan::starts::{SHORTEST_ROUND_S, Start, rounds_with_starts};

/// Trials are made shorter, step by step, until the budget has room for the first look.
const SHORTER: [f64; 4] = [1.0, 0.5, 0.25, LEAST_SCALE];
/// A trial may take this long however little time is left.
const SHORTEST_DEADLINE_MS: u64 = 1_000;
/// Time is what ends a session, and the number of rounds in its plan a horizon that it should not meet: this many times
/// the rounds that the quickest comparison could have if it had all the time alone, because a calibration may have
/// met a slow moment. A horizon that is twice as far costs an interim look some 4 % of its interval's width, and the look at
/// the end nothing; one that is met would leave time unused.
const SPARE: f64 = 1.5;

/// A session is over before it has taken this many times its budget.
const MOST_TIMES: f64 = 2.0;

/// Computes the moment that nothing may outlast, from that at which a budget is spent.
pub(crate) fn last_moment_ns(until_ns: u64) -> u64 {
    (until_ns as f64 * MOST_TIMES) as u64
}

/// Cuts the deadline of a trial that begins now to what a budget leaves of the time that nothing may outlast.
pub(crate) fn cut_deadline_ms(deadline_ms: u64, until_ns: Option<u64>, now_ns: u64) -> u64 {
    let left_ms = until_ns.map(|until_ns| last_moment_ns(until_ns).saturating_sub(now_ns) / 1_000_000);
    left_ms.map_or(deadline_ms, |left_ms| deadline_ms.min(left_ms.max(SHORTEST_DEADLINE_MS)))
}

/// Estimates the seconds that a session needs until the first look at all of its `of` cases, of which these are calibrated now.
pub(crate) fn estimate_needed_s(
    (cases, of): (&[Calibrated], usize),
    targets: &Sides,
    starts_s: f64,
    now_s: f64,
) -> f64 {
    let share = of as f64 / cases.len().max(1) as f64;
    let trials_s = add_up_trials(cases, targets.len(), LEAST_SCALE);
    // A control has a part of the rounds.
    let is_compared = |(at, _): &(usize, &f64)| targets.role(*at) != Role::Control;
    let round_s: f64 = trials_s.iter().enumerate().filter(is_compared).map(|(_, s)| s).sum();
    let before_s = starts_s + (now_s - starts_s).max(0.0) * share;
    before_s + FEWEST_STARTS as f64 * starts_s + f64::from(rounds_before_look(0)) * round_s * share
}

/// Says that a budget is too short for the first look at everything, and which one would do.
pub(crate) fn describe_short_budget(needed_s: f64) -> String {
    let (rounds, budget) = (rounds_before_look(0), name_budget(needed_s));
    format!("the budget is too short to decide everything: {budget} has room for {rounds} rounds of it")
}

/// Time of a round in trials, in seconds.
#[derive(Clone, Copy, Debug)]
pub struct RoundTime {
    /// Time of all cases in all environments.
    pub all_s: f64,
    /// Time of the quickest comparison alone.
    pub quickest_s: f64,
}

impl RoundTime {
    /// Estimates the time of a round of these cases at a scale.
    pub(crate) fn estimate_round(cases: &[Calibrated], targets: &Sides, scale: f64) -> RoundTime {
        let mut time = RoundTime { all_s: 0.0, quickest_s: f64::INFINITY };
        for case in cases {
            let trials = case.trials_ns(scale);
            let of_baseline = |(target, _): &&(usize, f64)| targets.role(*target) == Role::Baseline;
            let baseline_s = trials.iter().find(of_baseline).map_or(0.0, |(_, ns)| ns / 1e9);
            for (target, ns) in &trials {
                time.all_s += ns / 1e9;
                if targets.role(*target) != Role::Baseline {
                    time.quickest_s = time.quickest_s.min(baseline_s + ns / 1e9);
                }
            }
        }
        time
    }
}

/// Adds up the trials of a round at a scale for each environment, in seconds.
pub(crate) fn add_up_trials(cases: &[Calibrated], targets: usize, scale: f64) -> Vec<f64> {
    let mut trials_s = vec![0.0; targets];
    for (target, ns) in cases.iter().flat_map(|case| case.trials_ns(scale)) {
        trials_s[target] += ns / 1e9;
    }
    trials_s
}

/// Finds the largest scale of trials at which the budget has room for the first look, and the horizon of its
/// rounds. `round` estimates a round at a scale.
pub fn rounds_within(left_s: f64, starts: &[Start], round: impl Fn(f64) -> RoundTime) -> (f64, u32) {
    let table = |scale: &f64| rounds_with_starts(starts, round(*scale).all_s, left_s);
    let has_room = |scale: &f64| table(scale) >= f64::from(rounds_before_look(0));
    let scale = SHORTER.into_iter().find(has_room).unwrap_or(LEAST_SCALE);
    let rounds = left_s * SPARE / round(scale).quickest_s.max(SHORTEST_ROUND_S);
    (scale, (rounds as u32).max(rounds_before_look(0)))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Plans rounds that take this long at scale 1, and the quickest comparison a tenth of it.
    fn planned(left_s: f64, start_s: f64, all_s: f64) -> (f64, u32) {
        let round = |scale| RoundTime { all_s: all_s * scale, quickest_s: all_s * scale / 10.0 };
        rounds_within(left_s, &[Start { made: 0, s: start_s }], round)
    }

    #[test]
    fn trials_are_shortened_until_there_is_room_for_the_first_look() {
        assert_eq!(planned(100.0, 0.0, 1.0).0, 1.0);
        assert_eq!(planned(100.0, 0.0, 10.0).0, 0.5);
        assert_eq!(planned(100.0, 0.0, 20.0).0, 0.25);
        assert_eq!(planned(100.0, 0.0, 1000.0).0, 0.1, "nothing fits");
        assert_eq!(planned(100.0, 5.0, 4.5).0, 0.5, "starts of five seconds have half of the time");
    }

    #[test]
    fn a_trial_ends_before_twice_the_budget() {
        let second = 1_000_000_000;
        assert_eq!(cut_deadline_ms(60_000, None, 5 * second), 60_000);
        assert_eq!(cut_deadline_ms(60_000, Some(16 * second), 5 * second), 27_000);
        assert_eq!(cut_deadline_ms(60_000, Some(16 * second), 50 * second), 1_000);
        assert_eq!(cut_deadline_ms(5_000, Some(u64::MAX), 0), 5_000);
    }

    #[test]
    fn the_horizon_lies_beyond_what_the_last_open_comparison_could_reach() {
        assert_eq!(planned(100.0, 0.0, 1.0), (1.0, 1_500));
        assert_eq!(planned(100.0, 0.0, 0.1), (1.0, 15_000));
        assert_eq!(planned(1.0, 0.0, 1000.0), (0.1, 12));
    }
}
