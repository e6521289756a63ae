//! A plan may state more rounds than there is time for: that costs little, and adds no false findings.

use tare_analysis::findings::Comparison;
use tare_analysis::statistics::signed_ranks::Nulls;
use tare_analysis::verdicts::judge::{Judgement, judge_pairs};
use tare_analysis::verdicts::leaving::is_beyond_reach;
use tare_analysis::verdicts::pairs::Pairs;
use tare_analysis::verdicts::stopping::{Schedule, planned_looks};
use tare_analysis::verdicts::verdict::{Margin, smallest_effect};
use tare_analysis::{Look, Options, Progress, compute_findings};
use tare_data::session::Ending;

use crate::sessions::{MARGIN, high, low};
use crate::simulations::noise_models::{NoiseModel, SYMMETRIC, simulate_pairs};
use crate::simulations::promises::{Side, make_plain_session, make_steady_side, most_false, raced_for};

/// Rounds for which there is time.
const TIME: u32 = 60;

/// Judges a cell of a session whose plan has room for `most` rounds and whose time is up after [`TIME`]. It
/// leaves at the first planned look that decides it. `is_known` is true if the last look may spend the rest.
fn run(all: &Pairs, most: u32, is_known: bool, nulls: &mut Nulls) -> Judgement {
    let schedule = Schedule::new(&planned_looks(most), most);
    for look in planned_looks(most).into_iter().filter(|look| *look < TIME) {
        let so_far = Pairs { pairs: all.pairs[..look as usize].to_vec(), reached: look, resolution: 0.0 };
        let judgement =
            judge_pairs(&so_far, &schedule, Margin::from_planned(MARGIN), nulls).expect("there are rounds");
        if judgement.verdict.is_settled() {
            return judgement;
        }
    }
    let schedule = if is_known { schedule.with_time_over() } else { schedule };
    judge_pairs(all, &schedule, Margin::from_planned(MARGIN), nulls).expect("there are rounds")
}

#[test]
fn a_horizon_that_is_not_reached_finds_nothing_that_is_not_there() {
    const SESSIONS: u64 = 300;
    let mut nulls = Nulls::default();
    for times in [1, 4, 16] {
        for model in SYMMETRIC {
            let found = |seed: &u64| {
                run(&simulate_pairs(model, TIME, 0.0, *seed), TIME * times, true, &mut nulls).p <= 0.05
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
    // The effect that 60 rounds find with 80 % power, at 2.8 % a round.
    let effect = smallest_effect(TIME as usize, 0.02 * 2f64.sqrt());
    let mut found = |times: u32, is_known: bool| {
        let is_found = |seed: &u64| {
            let pairs = simulate_pairs(NoiseModel::Gaussian, TIME, effect, *seed);
            run(&pairs, TIME * times, is_known, &mut nulls).p <= 0.05
        };
        (0..SESSIONS).filter(is_found).count() as f64 / SESSIONS as f64
    };
    let exact = found(1, true);
    for times in [4, 16] {
        let (known, so_far) = (found(times, true), found(times, false));
        println!("{times}x the horizon: {known:.3} found of {exact:.3}; {so_far:.3} without what is left");
        assert!(known >= exact - 0.02, "{times}x: {known} of {exact}");
        assert!(so_far < known - 0.1, "{times}x: {so_far} of {known}");
    }
}

#[test]
fn a_cell_that_left_is_judged_by_the_looks_that_it_took() {
    let noisy = |cost: f64| Side { within: 0.03, ..make_steady_side(cost) };
    let costs = [1.0, 1.01, 1.03, 1.1, 2.0, 1.02];
    let (mut left, mut stayed) = (0, 0);
    for seed in 0..20 {
        let side = |name: &str, case: usize| noisy(if name == "vm" { costs[case] } else { 1.0 });
        let session = raced_for(TIME, make_plain_session(costs.len(), 16 * TIME), seed, side);
        for case in session.plan.cases.clone() {
            let reached = session.trials.iter().filter(|trial| trial.case == case.id).count() as u32 / 2;
            let cell = |session: &_| {
                let found = compute_findings(session, &Options::default());
                let row = found.rows.iter().find(|row| row.case == case.id).unwrap();
                row.cells[0].comparison().unwrap().clone()
            };
            let mut running = session.clone();
            running.ending = Ending::BrokenOff;
            running.trials.retain(|trial| trial.round < reached);
            let (then, now) = (cell(&running), cell(&session));
            if reached < TIME {
                left += 1;
                let alone =
                    |cell: &Comparison| (low(cell.interval_alone), high(cell.interval_alone), cell.verdict);
                assert_eq!(alone(&then), alone(&now));
            } else {
                stayed += 1;
                let width = |cell: &Comparison| high(cell.interval_alone) / low(cell.interval_alone);
                let is_narrower = low(then.interval_alone) == 0.0 || width(&now) < width(&then);
                assert!(is_narrower || then.verdict.is_settled(), "{then:?} {now:?}");
            }
        }
    }
    assert!(left >= 15 && stayed >= 30, "{left} left, {stayed} stayed");
}

/// Runs a cell that is given up where it is beyond reach within `time` rounds; returns its last judgement,
/// and true if it was given up.
fn run_until_hopeless(all: &Pairs, time: u32, nulls: &mut Nulls) -> (Judgement, bool) {
    let schedule = Schedule::new(&planned_looks(4 * time), 4 * time);
    for look in planned_looks(4 * time).into_iter().filter(|look| *look < time) {
        let so_far = Pairs { pairs: all.pairs[..look as usize].to_vec(), reached: look, resolution: 0.0 };
        let judgement =
            judge_pairs(&so_far, &schedule, Margin::from_planned(MARGIN), nulls).expect("there are rounds");
        let is_lost = is_beyond_reach(&judgement, time);
        if judgement.verdict.is_settled() || is_lost {
            return (judgement, is_lost);
        }
    }
    (
        judge_pairs(all, &schedule.with_time_over(), Margin::from_planned(MARGIN), nulls)
            .expect("there are rounds"),
        false,
    )
}

#[test]
fn cells_that_time_cannot_decide_are_given_up_and_few_others() {
    const SESSIONS: u64 = 100;
    const LONG: u32 = 200;
    let mut nulls = Nulls::default();
    // A trial varies by 2 %, a round by 2.8 %: a cost within 0.8 % of the edge cannot be decided in 200
    // rounds.
    for (cost, hopeless) in [(1.0, false), (1.004, false), (1.02, true), (1.023, true), (1.04, false)] {
        let truth = libm::log(cost);
        let (mut given_up, mut missed, mut rounds, mut wrong) = (0, 0, 0.0, 0);
        for seed in 0..SESSIONS {
            let pairs = simulate_pairs(NoiseModel::Gaussian, LONG, truth, seed);
            let (judgement, is_lost) = run_until_hopeless(&pairs, LONG, &mut nulls);
            given_up += u64::from(is_lost);
            rounds += f64::from(judgement.reached) / SESSIONS as f64;
            wrong += u64::from(!judgement.interval.contains(truth));
            if is_lost {
                let whole = judge_pairs(
                    &pairs,
                    &Schedule::new(&[LONG], LONG),
                    Margin::from_planned(MARGIN),
                    &mut nulls,
                );
                missed += u64::from(whole.unwrap().verdict.is_settled());
            }
        }
        println!("{cost}: {given_up} given up ({missed} wrongly), after {rounds:.0} rounds, {wrong} miss");
        assert!(wrong as f64 / SESSIONS as f64 <= most_false(SESSIONS), "{cost}: {wrong}");
        if hopeless {
            assert!(given_up >= 60 && rounds < 0.75 * f64::from(LONG), "{cost}: {given_up}, {rounds}");
        } else {
            assert!(missed <= 5, "{cost}: {given_up} given up, {missed} wrongly");
        }
    }
}

#[test]
fn the_running_session_is_told_at_looks_which_cells_to_give_up() {
    let costs = [1.0, 1.02, 2.0];
    let noisy = |cost: f64| Side { within: 0.03, ..make_steady_side(cost) };
    let side = |name: &str, case: usize| noisy(if name == "vm" { costs[case] } else { 1.0 });
    let session = raced_for(45, make_plain_session(costs.len(), 16 * TIME), 3, side);
    let lost = |case: usize, rounds, reachable| {
        let id = &session.plan.cases[case].id;
        let options = Options::default();
        let look = Look::take(Progress::from_session(&session), id, rounds, &options);
        look.map_or_else(|| vec![false; 2], |look| look.find_beyond_reach(|_| Some(reachable)))
    };
    assert_eq!(lost(1, 45, TIME), [false, true]);
    assert_eq!(lost(1, 45, 100 * TIME), [false, false], "there is time for it");
    assert_eq!(lost(1, 30, TIME), [false, false], "too early to know");
    assert_eq!(lost(1, 44, TIME), [false, false], "no look");
    assert_eq!(lost(0, 45, 4 * TIME), [false, false]);
    assert_eq!(lost(2, 45, TIME), [false, false], "it is decided");
}
