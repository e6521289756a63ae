//! A large session that nobody ran: many cases, environments and short rounds, with noise like a machine's.

use std::collections::BTreeMap;

use tare_analysis::verdicts::stopping::planned_looks;
use tare_data::batch::{Batch, Phase, Sample};
use tare_data::facts::Facts;
use tare_data::generator::Generator;
use tare_data::metric::{Metric, Reading};
use tare_data::names::{Case, Parameters};
use tare_data::request::Amount;
use tare_data::session::specification::Specification;
use tare_data::session::{Ending, Header, Interference, Plan, PlannedCase, Role, Session, Target, Trial};
use tare_data::unit::{Direction, Unit};

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
    let cases: Vec<PlannedCase> = (0..CASES).map(case).collect();
    let target = |(name, role): (&str, Role)| Target::new(name, Specification::from_provider(name), role);
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
    Session {
        header: Header {
            tare: "0".into(),
            binary: String::new(),
            started: String::new(),
            command: Vec::new(),
            host: Facts::default(),
            identity: None,
            fleet: None,
        },
        plan: Plan {
            own_rounds: false,
            study: "large".into(),
            seed: 1,
            rounds: 2 * ROUNDS,
            looks: planned_looks(2 * ROUNDS),
            budget_s: None,
            control_every: 1,
            every: Default::default(),
            inside: Default::default(),
            demands: Default::default(),
            planted: Default::default(),
            until_decided: false,
            targets: TARGETS.into_iter().map(target).collect(),
            cases,
        },
        facts: Vec::new(),
        trials,
        repeated: Vec::new(),
        ending: Ending::Complete,
        warnings: Vec::new(),
    }
}

fn case(number: usize) -> PlannedCase {
    let case = Case {
        probe: format!("sys.call{number}"),
        parameters: Parameters(BTreeMap::new()),
        place: None,
        peer: None,
    };
    let time = Metric {
        name: "time".into(),
        series: "work".into(),
        reading: Reading::TimePerOperation,
        unit: Unit::Nanoseconds,
        direction: Direction::Lower,
    };
    PlannedCase {
        pairs: std::collections::BTreeMap::new(),
        id: case.to_string(),
        label: case.probe.clone(),
        case,
        metrics: vec![time],
        decide: Vec::new(),
        definition: String::new(),
        declared: Default::default(),
        amount: Amount::Calibrate,
        margin: libm::log(1.02),
        missing: BTreeMap::new(),
    }
}

fn trial(case: &str, target: usize, round: u32, cost: f64, generator: &mut Generator) -> Trial {
    let mut batch = |_| {
        let noise = (0..4).map(|_| generator.draw_unit() - 0.5).sum::<f64>();
        let elapsed_ns = (1e6 * cost * (1.0 + 0.05 * noise)) as u64;
        let sample = Sample::Throughput { operations: 10_000, bytes: 0, elapsed_ns };
        Batch { series: "work".into(), phase: Phase::Warm, started_ns: 0, sample }
    };
    Trial {
        partner: None,
        number: 0,
        case: case.into(),
        target: TARGETS[target].0.into(),
        round,
        attempt: 0,
        position: target as u32,
        start: round,
        started_ns: 0,
        host_elapsed_ns: 3_000_000,
        agent_elapsed_ns: Some(2_900_000),
        batches: (0..BATCHES).map(&mut batch).collect::<Vec<_>>().into(),
        inside: Interference { canary_ns: Some(100_000), ..Interference::default() },
        outside: Interference::default(),
        failure: None,
        notes: Vec::new(),
    }
}
