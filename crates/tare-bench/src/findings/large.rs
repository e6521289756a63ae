//! A large session that nobody ran: many cases, environments and short rounds, with noise like a machine's.

use tare_analysis::verdicts::stopping::planned_looks;
use tare_data::batch::{Batch, Phase, Sample};
use tare_data::generator::Generator;
use tare_data::session::{Interference, PlannedCase, Role, Session, Trial};
use tare_specimen::{Outcome, make_plan, make_session, make_sides, make_timed_case, make_trial};

const CASES: usize = 100;
const ROUNDS: u32 = 2_000;
const TARGETS: [(&str, Role); 6] = [
    ("native", Role::Baseline),
    ("native again", Role::Control),
    ("container", Role::Subject),
    ("podman", Role::Subject),
    ("gvisor", Role::Subject),
    ("qemu", Role::Subject),
];
/// Batches of a trial.
const BATCHES: u64 = 2;

pub fn make_large_session() -> Session {
    let cases: Vec<PlannedCase> =
        (0..CASES).map(|number| make_timed_case(&format!("sys.call{number}"))).collect();
    let mut generator = Generator::new(1);
    let mut trials = Vec::with_capacity(CASES * TARGETS.len() * ROUNDS as usize);
    for round in 0..ROUNDS {
        for (at, case) in cases.iter().enumerate() {
            for target in 0..TARGETS.len() {
                // The first two subjects cost nothing, the others up to three times as much.
                let cost = if target < 4 { 1.0 } else { 1.0 + at as f64 / 50.0 };
                trials.push(trial(&case.id, target, round, cost, &mut generator));
            }
        }
    }
    let session = make_session(make_plan(make_sides(TARGETS), cases, planned_looks(2 * ROUNDS)));
    Session { facts: Vec::new(), trials, ..session }
}

fn trial(case: &str, target: usize, round: u32, cost: f64, generator: &mut Generator) -> Trial {
    let mut batch = |_| {
        let noise = (0..4).map(|_| generator.draw_unit() - 0.5).sum::<f64>();
        let elapsed_ns = (1e6 * cost * (1.0 + 0.05 * noise)) as u64;
        let sample = Sample::Throughput { operations: 10_000, bytes: 0, elapsed_ns };
        Batch { series: "work".into(), phase: Phase::Warm, started_ns: 0, sample }
    };
    Trial {
        position: target as u32,
        host_elapsed_ns: 3_000_000,
        agent_elapsed_ns: Some(2_900_000),
        batches: (0..BATCHES).map(&mut batch).collect::<Vec<_>>().into(),
        inside: Interference { canary_ns: Some(100_000), ..Interference::default() },
        ..make_trial(case, TARGETS[target].0, round, Outcome::Nothing)
    }
}
