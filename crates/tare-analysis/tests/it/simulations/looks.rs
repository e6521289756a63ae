//! The promises, kept under noise: how often a difference is found where there is none, how often the interval holds
//! the truth, how often a difference that is there is found. Seeds are fixed, so that the counts are facts.

use tare_analysis::statistics::signed_ranks::{
    Nulls, compute_hodges_lehmann_interval, compute_median, sort_values,
};
use tare_analysis::verdicts::judge::{Judgement, judge_pairs};
use tare_analysis::verdicts::pairs::Pairs;
use tare_analysis::verdicts::stopping::{Schedule, planned_looks};
use tare_analysis::verdicts::verdict::Margin;
use tare_analysis::verdicts::verdict::smallest_effect;

use crate::sessions::MARGIN;
use crate::simulations::noise_models::{NoiseModel, SYMMETRIC, fixed_order, simulate_pairs};

const ROUNDS: u32 = 60;
const SESSIONS: u64 = 1_500;

/// Adds three standard errors of a share over that number of sessions to the nominal 5 %.
fn most_false() -> usize {
    let sessions = SESSIONS as f64;
    (sessions * (0.05 + 3.0 * (0.05 * 0.95 / sessions).sqrt())) as usize
}

/// Judges a session in which the environment stays to the end, whatever is decided.
fn run_whole(all: &Pairs, nulls: &mut Nulls) -> Judgement {
    let schedule = Schedule::new(&planned_looks(ROUNDS), ROUNDS);
    judge_pairs(all, &schedule, Margin::from_planned(MARGIN), nulls).expect("there are rounds")
}

/// Runs a session as it is run: at each planned look, the environment leaves if the verdict is decided.
fn run(all: &Pairs, nulls: &mut Nulls) -> Judgement {
    let schedule = Schedule::new(&planned_looks(ROUNDS), ROUNDS);
    let mut last = None;
    for look in planned_looks(ROUNDS) {
        let so_far = Pairs { pairs: all.pairs[..look as usize].to_vec(), reached: look, resolution: 0.0 };
        let judgement =
            judge_pairs(&so_far, &schedule, Margin::from_planned(MARGIN), nulls).expect("there are rounds");
        let is_decided = judgement.verdict.is_settled();
        last = Some(judgement);
        if is_decided {
            break;
        }
    }
    last.expect("there are looks")
}

fn count(model: NoiseModel, effect: f64, mut matches: impl FnMut(&Judgement) -> bool) -> usize {
    let mut nulls = Nulls::default();
    (0..SESSIONS)
        .filter(|seed| matches(&run(&simulate_pairs(model, ROUNDS, effect, *seed), &mut nulls)))
        .count()
}

#[test]
fn sessions_rarely_find_what_is_not_there() {
    let mut nulls = Nulls::default();
    for model in SYMMETRIC {
        let (mut raced, mut whole) = (0, 0);
        for seed in 0..SESSIONS {
            let pairs = simulate_pairs(model, ROUNDS, 0.0, seed);
            for (found, judgement) in
                [(&mut raced, run(&pairs, &mut nulls)), (&mut whole, run_whole(&pairs, &mut nulls))]
            {
                assert_eq!(judgement.p <= 0.05, !judgement.interval.contains(0.0), "{judgement:?}");
                *found += usize::from(judgement.p <= 0.05);
            }
        }
        let percent = |found| 100.0 * found as f64 / SESSIONS as f64;
        println!("{model:?}: {:.2} % false, {:.2} % to the end", percent(raced), percent(whole));
        assert!(raced.max(whole) <= most_false(), "{model:?}: {raced}, {whole} of {SESSIONS} are false");
    }
}

#[test]
fn intervals_hold_the_truth() {
    let truth = libm::log(1.03);
    for model in SYMMETRIC {
        let held = count(model, truth, |judgement| judgement.interval.contains(truth));
        println!("{model:?}: {:.2} % held", 100.0 * held as f64 / SESSIONS as f64);
        assert!(held as f64 >= 0.935 * SESSIONS as f64, "{model:?}: {held} of {SESSIONS}");
    }
}

#[test]
fn the_median_of_a_skewed_target_is_held_by_its_signs() {
    // The median of the environment's difference, from 20,000 rounds of it.
    let long = simulate_pairs(NoiseModel::SkewedTarget, 20_000, 0.0, u64::MAX);
    let truth = compute_median(&sort_values(&long.pairs.iter().map(|pair| pair.d).collect::<Vec<_>>()));
    let held = count(NoiseModel::SkewedTarget, 0.0, |j| j.signs.contains(truth));
    println!("SkewedTarget: {:.2} % held by signs", 100.0 * held as f64 / SESSIONS as f64);
    assert!(held as f64 >= 0.935 * SESSIONS as f64, "{held} of {SESSIONS}");
}

#[test]
fn differences_that_are_there_are_found() {
    let mut nulls = Nulls::default();
    let schedule = Schedule::new(&planned_looks(ROUNDS), ROUNDS);
    let mut found = |effect: f64| {
        let (mut found, mut rounds) = (0, 0);
        for seed in 0..SESSIONS {
            let pairs = simulate_pairs(NoiseModel::Gaussian, ROUNDS, effect, seed);
            let first = planned_looks(ROUNDS).into_iter().find(|look| {
                let so_far =
                    Pairs { pairs: pairs.pairs[..*look as usize].to_vec(), reached: *look, resolution: 0.0 };
                let judgement = judge_pairs(&so_far, &schedule, Margin::from_planned(MARGIN), &mut nulls);
                judgement.is_some_and(|judgement| judgement.p <= 0.05)
            });
            found += usize::from(first.is_some());
            rounds += first.unwrap_or(ROUNDS);
        }
        (100.0 * found as f64 / SESSIONS as f64, f64::from(rounds) / SESSIONS as f64)
    };
    let (two, rounds) = found(libm::log(1.02));
    let (one, _) = found(libm::log(1.01));
    // The planning formula promises 80 % at this size; noise in this model has a deviation of 2.8 % a round.
    let (planned, _) = found(smallest_effect(ROUNDS as usize, 0.02 * 2f64.sqrt()));
    println!("the planned effect is found {planned:.1} % of the time");
    assert!((68.0..92.0).contains(&planned), "{planned} %");
    println!("2 % found {two:.1} % of the time after {rounds:.1} rounds, 1 % found {one:.1} %");
    assert!(two >= 97.5 && (20.0..32.0).contains(&rounds), "{two} % after {rounds} rounds");
    assert!((50.0..75.0).contains(&one), "{one} %");
}

#[test]
fn a_fixed_order_would_turn_position_into_a_finding() {
    let mut nulls = Nulls::default();
    let found = (0..200)
        .filter(|seed| run(&fixed_order(ROUNDS, *seed), &mut nulls).verdict.trend().is_some())
        .count();
    assert!(found >= 170, "{found} of 200");
}

#[test]
fn rounds_of_one_start_taken_as_separate_would_promise_too_much() {
    let truth = 0.0;
    let mut nulls = Nulls::default();
    let schedule = Schedule::new(&[ROUNDS], ROUNDS);
    let mut held = |as_rounds: bool| {
        (0..SESSIONS)
            .filter(|seed| {
                let pairs = simulate_pairs(NoiseModel::Instance, ROUNDS, truth, *seed);
                if as_rounds {
                    let d = sort_values(&pairs.pairs.iter().map(|pair| pair.d).collect::<Vec<_>>());
                    return compute_hodges_lehmann_interval(&d, nulls.get_null(d.len()), 0.05)
                        .contains(truth);
                }
                let judgement = judge_pairs(&pairs, &schedule, Margin::from_planned(MARGIN), &mut nulls);
                judgement.is_some_and(|judgement| judgement.interval.contains(truth))
            })
            .count() as f64
            / SESSIONS as f64
    };
    let (by_start, by_round) = (held(false), held(true));
    println!("by start {by_start:.3}, by round {by_round:.3}");
    assert!(by_start >= 0.935 && by_round < 0.85, "by start {by_start}, by round {by_round}");
}
