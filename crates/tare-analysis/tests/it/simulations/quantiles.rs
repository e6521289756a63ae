//! Quantiles near the edge of a tail: trials of a few hundred operations see one that is not there.

use tare_analysis::findings::{Comparison, Verdict};
use tare_analysis::{Options, compute_findings};
use tare_data::generator::Generator;
use tare_data::metric::Reading;

use crate::findings::expect_comparison;
use crate::sessions::{Outcome, make_case, make_metric, make_session, make_trial};
use crate::simulations::noise_models::draw_normal;
use crate::simulations::promises::most_false;

const SESSIONS: u64 = 40;
const ROUNDS: u32 = 120;
/// Operations of a trial: the fewest that give p99 an interval at all.
const OPERATIONS: u32 = 368;

fn draw_time(stalling: f64, generator: &mut Generator) -> f64 {
    let stall = if generator.draw_unit() < stalling { 10.0 } else { 1.0 };
    1e4 * stall * libm::exp(0.02 * draw_normal(generator))
}

/// Computes p99 of a great many operations.
fn compute_p99(stalling: f64) -> f64 {
    let mut generator = Generator::for_part(0, "p99");
    let mut times: Vec<f64> = (0..400_000).map(|_| draw_time(stalling, &mut generator)).collect();
    times.sort_by(f64::total_cmp);
    times[396_000 - 1]
}

/// Compares p99 of two sides of which these shares of operations stall for ten times as long.
fn run_session(seed: u64, stalling: [f64; 2]) -> Comparison {
    let case = make_case("net.rr", &[], None, vec![make_metric("p99", Reading::Quantile(0.99))]);
    let mut session = make_session(&["vm"], vec![case], ROUNDS);
    let case = session.plan.cases[0].id.clone();
    for round in 0..ROUNDS {
        for (target, stalling) in [("native", stalling[0]), ("vm", stalling[1])] {
            let mut generator = Generator::for_part(seed, &format!("{target} {round}"));
            let times = (0..OPERATIONS).map(|_| draw_time(stalling, &mut generator) as u64).collect();
            session.trials.push(make_trial(&case, target, round, Outcome::Times(times)));
        }
    }
    expect_comparison(&compute_findings(&session, &Options::default()).rows[0].cells[0]).clone()
}

fn run_sessions(stalling: [f64; 2]) -> Vec<Comparison> {
    (0..SESSIONS).map(|seed| run_session(seed, stalling)).collect()
}

#[test]
fn an_interval_holds_a_quantile_near_the_edge_of_a_tail() {
    for stalling in [[0.008, 0.012], [0.0095, 0.012], [0.0105, 0.0135], [0.005, 0.009]] {
        let truth = compute_p99(stalling[1]) / compute_p99(stalling[0]);
        let cells = run_sessions(stalling);
        let held = cells.iter().filter(|cell| cell.interval.contains(truth)).count();
        assert!(held as f64 >= (1.0 - most_false(SESSIONS)) * SESSIONS as f64, "{stalling:?}: {held}");
    }
}

#[test]
fn stalls_far_beyond_or_within_a_quantile_are_told() {
    let slower = run_sessions([0.002, 0.02]);
    assert!(slower.iter().all(|cell| cell.verdict == Verdict::Slower), "{slower:?}");
    let same = run_sessions([0.0, 0.0]).iter().filter(|cell| cell.verdict.is_within_margin()).count();
    assert!(same as f64 >= 0.95 * SESSIONS as f64, "{same} of {SESSIONS}");
}
