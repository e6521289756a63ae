//! Predecessors: what runs before a trial changes its time.

use tare_analysis::order::shuffle_targets;
use tare_analysis::{Options, compute_findings};
use tare_data::generator::Generator;
use tare_data::warning::Warning;

use crate::sessions::{Outcome, make_session, make_timed_case, make_trial};
use crate::simulations::noise_models::draw_normal;

const SESSIONS: u64 = 100;
const ROUNDS: u32 = 60;

/// Runs a session in which a trial that follows one of `vm` is slower, and reads what the warning says of it.
fn run_session(seed: u64, carried: f64) -> Option<f64> {
    let mut session = make_session(&["vm", "box"], vec![make_timed_case("sys.getppid")], ROUNDS);
    let mut generator = Generator::for_part(seed, "carry");
    let mut before = 0;
    for round in 0..ROUNDS {
        for target in shuffle_targets(seed, "case", (round, 0), &[0, 1, 2, 3]) {
            let carried = if before == 2 && target != 2 { carried } else { 0.0 };
            let ns = 1e4 * libm::exp(carried + 0.01 * draw_normal(&mut generator));
            let name = session.plan.targets[target].name.clone();
            session.trials.push(make_trial("sys.getppid", &name, round, Outcome::Time(ns)));
            before = target;
        }
    }
    compute_findings(&session, &Options::default()).warnings.into_iter().find_map(|of| match of {
        (Some(target), Warning::CarriesOver { ratio }) => {
            assert_eq!(target, "vm");
            Some(ratio)
        }
        _ => None,
    })
}

#[test]
fn a_trial_that_slows_the_next_one_down_is_named() {
    let found: Vec<f64> = (0..SESSIONS).filter_map(|seed| run_session(seed, 0.05)).collect();
    assert!(found.len() as u64 >= SESSIONS * 95 / 100, "{} of {SESSIONS}", found.len());
    assert!(found.iter().all(|ratio| (1.03..1.07).contains(ratio)), "{found:?}");
    let none = (0..SESSIONS).filter(|seed| run_session(*seed, 0.0).is_some()).count();
    assert!(none <= 2, "{none} of {SESSIONS} without any");
}
