//! A clock that ticks: intervals hold the true ratio whatever the steps make of a batch.

use tare_analysis::findings::{Comparison, Verdict};
use tare_analysis::{Options, compute_findings};
use tare_data::batch::{Batch, Phase, Sample};
use tare_data::generator::Generator;
use tare_data::warning::Warning;

use crate::findings::expect_comparison;
use crate::sessions::{Outcome, make_trial};
use crate::simulations::noise_models::draw_normal;
use crate::simulations::promises::{make_plain_session, most_false};

const SESSIONS: u64 = 100;
const ROUNDS: u32 = 40;
const BATCHES: usize = 33;

/// Time of a batch in the baseline, in nanoseconds.
const BATCH_NS: f64 = 250_000.0;

/// Measures a stretch with a clock of this step, which it meets at any moment of a tick.
fn read_clock(ns: f64, step_ns: u64, generator: &mut Generator) -> u64 {
    let step = step_ns as f64;
    let began = generator.draw_unit() * step;
    ((began + ns) / step).floor() as u64 * step_ns
}

/// Compares an environment of this cost whose clock ticks, or shows a step that is only what a read takes.
fn run_session(seed: u64, cost: f64, step_ns: u64, is_ticking: bool) -> Comparison {
    let mut session = make_plain_session(1, ROUNDS);
    session.facts[2].inside.add_fact("clock.step_ns", step_ns.to_string());
    let case = session.plan.cases[0].id.clone();
    for round in 0..ROUNDS {
        for (target, cost, step_ns) in
            [("native", 1.0, 1), ("vm", cost, if is_ticking { step_ns } else { 1 })]
        {
            let mut generator = Generator::for_part(seed, &format!("{target} {round}"));
            let of_process = BATCH_NS * cost * libm::exp(0.003 * draw_normal(&mut generator));
            let elapsed_ns = (0..BATCHES).map(|_| read_clock(of_process, step_ns, &mut generator)).collect();
            let sample = Sample::Stretches { operations: 1_000, bytes: 0, elapsed_ns, histogram: None };
            let mut trial = make_trial(&case, target, round, Outcome::Nothing);
            trial.batches.push(Batch { series: "work".into(), phase: Phase::Warm, started_ns: 0, sample });
            session.trials.push(trial);
        }
    }
    expect_comparison(&compute_findings(&session, &Options::default()).rows[0].cells[0]).clone()
}

#[test]
fn an_interval_holds_the_truth_by_a_clock_that_ticks() {
    for step_ns in [10_000, 30_000, 100_000] {
        for cost in [1.0, 1.013, 1.07, 1.23] {
            let cells: Vec<_> = (0..SESSIONS).map(|seed| run_session(seed, cost, step_ns, true)).collect();
            let held = cells.iter().filter(|cell| cell.interval.contains(cost)).count() as f64;
            assert!(held >= (1.0 - most_false(SESSIONS)) * SESSIONS as f64, "{step_ns} ns, {cost}: {held}");
            let false_words = cells.iter().filter(|cell| match cell.verdict.trend() {
                Some(side) => (side == tare_analysis::findings::Trend::Slower) != (cost > 1.0),
                None => cell.verdict == Verdict::Same && cost > 1.02,
            });
            assert!(
                false_words.count() as f64 <= most_false(SESSIONS) * SESSIONS as f64,
                "{step_ns}, {cost}"
            );
        }
    }
    let coarse = run_session(1, 1.0, 30_000, true);
    assert!(coarse.warnings.contains(&Warning::CoarseClock { step_ns: 30_000 }), "{:?}", coarse.warnings);
}

#[test]
fn a_read_that_takes_long_is_no_tick() {
    let (slow, fine) = (run_session(1, 1.0, 4_577, false), run_session(1, 1.0, 20, false));
    assert_eq!((slow.interval, slow.p), (fine.interval, fine.p));
    assert_eq!(slow.verdict, Verdict::Same);
    let ticks = run_session(1, 1.5, 10_000, true);
    assert!(ticks.verdict == Verdict::Slower && ticks.p < 1e-4, "{ticks:?}");
}
