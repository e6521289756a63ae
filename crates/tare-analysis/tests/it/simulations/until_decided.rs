//! Sessions without a horizon: stopping them at any moment adds no false findings.

use tare_analysis::statistics::signed_ranks::Nulls;
use tare_analysis::verdicts::judge::{Judgement, judge_pairs};
use tare_analysis::verdicts::pairs::Pairs;
use tare_analysis::verdicts::stopping::{Schedule, planned_looks};
use tare_analysis::verdicts::verdict::Margin;

use crate::sessions::{MARGIN, make_session, make_timed_case};
use crate::simulations::noise_models::{NoiseModel, simulate_pairs};
use crate::simulations::promises::most_false;

const ROUNDS: u32 = 300;

fn endless() -> Schedule {
    let mut session = make_session(&["vm"], vec![make_timed_case("sys.getppid")], 1_000_000);
    session.plan.until_decided = true;
    Schedule::from_plan(&session.plan)
}

/// Judges at each look, up to the last one that these rounds reach.
fn at_looks(all: &Pairs, schedule: &Schedule, nulls: &mut Nulls) -> Vec<Judgement> {
    let looks = planned_looks(1_000_000).into_iter().take_while(|look| *look <= all.reached);
    looks
        .map(|look| {
            let so_far = Pairs { pairs: all.pairs[..look as usize].to_vec(), reached: look, resolution: 0.0 };
            judge_pairs(&so_far, schedule, Margin::from_planned(MARGIN), nulls).expect("there are rounds")
        })
        .collect()
}

#[test]
fn a_person_who_stops_at_any_look_finds_no_more_that_is_not_there() {
    const SESSIONS: u64 = 300;
    let (schedule, mut nulls) = (endless(), Nulls::default());
    for model in [NoiseModel::Gaussian, NoiseModel::HeavyTails, NoiseModel::Drift] {
        let found = |seed: &u64| {
            let looks = at_looks(&simulate_pairs(model, ROUNDS, 0.0, *seed), &schedule, &mut nulls);
            looks.iter().any(|judged| judged.p <= 0.05)
        };
        let found = (0..SESSIONS).filter(found).count() as f64 / SESSIONS as f64;
        println!("{model:?}: {:.1} % of sessions find a direction at some look", 100.0 * found);
        assert!(found <= most_false(SESSIONS), "{model:?}: {found}");
    }
}

#[test]
fn between_looks_nothing_changes() {
    let (schedule, mut nulls) = (endless(), Nulls::default());
    let all = simulate_pairs(NoiseModel::Gaussian, 68, 0.01, 1);
    let mut at = |rounds: u32| {
        let so_far = Pairs { pairs: all.pairs[..rounds as usize].to_vec(), reached: rounds, resolution: 0.0 };
        judge_pairs(&so_far, &schedule, Margin::from_planned(MARGIN), &mut nulls).unwrap()
    };
    let (at_look, later) = (at(45), at(67));
    assert_eq!((at_look.interval, at_look.p), (later.interval, later.p));
    assert_ne!(at(68).interval, later.interval);
}

#[test]
fn what_is_there_is_found_in_not_many_more_rounds() {
    const SESSIONS: u64 = 60;
    let (schedule, mut nulls) = (endless(), Nulls::default());
    let fixed = Schedule::new(&planned_looks(ROUNDS), ROUNDS);
    let mut median = |schedule: &Schedule, effect: f64| {
        let rounds = |seed: u64| {
            let looks =
                at_looks(&simulate_pairs(NoiseModel::Gaussian, ROUNDS, effect, seed), schedule, &mut nulls);
            looks.iter().find(|judged| judged.verdict.is_settled()).map_or(ROUNDS, |judged| judged.reached)
        };
        let mut rounds: Vec<u32> = (0..SESSIONS).map(rounds).collect();
        rounds.sort_unstable();
        rounds[SESSIONS as usize / 2]
    };
    for effect in [0.0, 0.05, 0.035] {
        let (without, with) = (median(&schedule, effect), median(&fixed, effect));
        println!("{effect}: decided after {without} rounds without a horizon, {with} with one of {ROUNDS}");
        assert!(f64::from(without) <= 1.6 * f64::from(with), "{effect}: {without} {with}");
    }
}
