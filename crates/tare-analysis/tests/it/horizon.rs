//! A plan may state more rounds than there is time for: what is lost by it, and that nothing false comes of it.

use tare_analysis::statistics::signed_ranks::Nulls;
use tare_analysis::verdicts::judge::{Judgement, judge};
use tare_analysis::verdicts::pairs::Pairs;
use tare_analysis::verdicts::stopping::{Schedule, planned_looks};
use tare_analysis::verdicts::verdict::{Margin, is_decided, smallest_effect};
use tare_analysis::{Options, findings};
use tare_data::session::Ending;

use crate::noise_models::{NoiseModel, SYMMETRIC, simulate};
use crate::promises::{Side, most_false, plain, raced_for, steady};
use crate::sessions::MARGIN;

/// Rounds for which there is time.
const TIME: u32 = 60;

/// A cell of a session whose plan has room for `most` rounds and whose time is up after [`TIME`]. It leaves at the
/// first planned look that decides it. `is_known` is whether the last look may spend what is left.
fn run(all: &Pairs, most: u32, is_known: bool, nulls: &mut Nulls) -> Judgement {
    let schedule = Schedule::new(&planned_looks(most), most);
    for look in planned_looks(most).into_iter().filter(|look| *look < TIME) {
        let so_far = Pairs { pairs: all.pairs[..look as usize].to_vec(), reached: look };
        let judgement = judge(&so_far, &schedule, Margin::plain(MARGIN), nulls).expect("there are rounds");
        if is_decided(judgement.verdict) {
            return judgement;
        }
    }
    let schedule = if is_known { schedule.over() } else { schedule };
    judge(all, &schedule, Margin::plain(MARGIN), nulls).expect("there are rounds")
}

#[test]
fn a_horizon_that_is_not_reached_finds_nothing_that_is_not_there() {
    const SESSIONS: u64 = 300;
    let mut nulls = Nulls::default();
    for times in [1, 4, 16] {
        for model in SYMMETRIC {
            let found = |seed: &u64| {
                run(&simulate(model, TIME, 0.0, *seed), TIME * times, true, &mut nulls).p <= 0.05
            };
            let found = (0..SESSIONS).filter(found).count() as f64 / SESSIONS as f64;
            println!("{model:?}, {times}x the horizon: {:.1} % false", 100.0 * found);
            assert!(found <= most_false(SESSIONS), "{model:?}, {times}x: {found}");
        }
    }
}

#[test]
fn a_horizon_that_is_not_reached_costs_little_power() {
    const SESSIONS: u64 = 500;
    let mut nulls = Nulls::default();
    // What 60 rounds find with 80 % power, at 2.8 % a round.
    let effect = smallest_effect(TIME as usize, 0.02 * 2f64.sqrt());
    let mut found = |times: u32, is_known: bool| {
        let is_found = |seed: &u64| {
            let pairs = simulate(NoiseModel::Gaussian, TIME, effect, *seed);
            run(&pairs, TIME * times, is_known, &mut nulls).p <= 0.05
        };
        (0..SESSIONS).filter(is_found).count() as f64 / SESSIONS as f64
    };
    let exact = found(1, true);
    for times in [4, 16] {
        let (known, so_far) = (found(times, true), found(times, false));
        println!("{times}x the horizon: {known:.3} found of {exact:.3}; {so_far:.3} without what is left");
        assert!(known >= exact - 0.02, "{times}x: {known} of {exact}");
        assert!(so_far < known - 0.12, "{times}x: {so_far} of {known}");
    }
}

#[test]
fn a_cell_that_left_is_judged_by_the_looks_that_it_took() {
    let noisy = |cost: f64| Side { within: 0.03, ..steady(cost) };
    let costs = [1.0, 1.01, 1.03, 1.1, 2.0, 1.02];
    let (mut left, mut stayed) = (0, 0);
    for seed in 0..20 {
        let side = |name: &str, case: usize| noisy(if name == "vm" { costs[case] } else { 1.0 });
        let session = raced_for(TIME, plain(costs.len(), 16 * TIME), seed, side);
        for case in session.plan.cases.clone() {
            let reached = session.trials.iter().filter(|trial| trial.case == case.id).count() as u32 / 2;
            let cell = |session: &_| {
                let found = findings(session, &Options::default());
                let row = found.rows.iter().find(|row| row.case == case.id).unwrap();
                row.cells[0].compared().unwrap().clone()
            };
            let mut running = session.clone();
            running.ending = Ending::BrokenOff;
            running.trials.retain(|trial| trial.round < reached);
            let (then, now) = (cell(&running), cell(&session));
            if reached < TIME {
                left += 1;
                assert_eq!((then.low, then.high, then.verdict), (now.low, now.high, now.verdict));
            } else {
                stayed += 1;
                let is_narrower = now.high / now.low < then.high / then.low;
                assert!(is_narrower || is_decided(then.verdict), "{then:?} {now:?}");
            }
        }
    }
    assert!(left >= 30 && stayed >= 30, "{left} left, {stayed} stayed");
}
