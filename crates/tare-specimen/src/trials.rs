//! Trials that ran alone, by a rule for the outcome of each.

use tare_data::batch::{Batch, Histogram, Phase, Sample};
use tare_data::failure::Failure;
use tare_data::generator::Generator;
use tare_data::session::{Interference, Session, Trial};

/// Operations of a batch: enough for a nanosecond's fraction to survive in whole numbers.
const OPERATIONS: u64 = 1_000_000;
/// From the beginning of a round to that of the next.
const ROUND_NS: u64 = 1_000_000_000;

/// The outcome of a trial.
pub enum Outcome {
    /// A time an operation, in nanoseconds.
    Time(f64),
    /// Times an operation of several batches.
    Stretches(Vec<f64>),
    Gauge(f64),
    /// Times of single operations.
    Times(Vec<u64>),
    Failed(Failure),
    /// It never ran.
    Nothing,
}

impl Outcome {
    fn into_batches(self) -> (Vec<Batch>, Option<Failure>) {
        let sample = match self {
            Outcome::Time(ns) => {
                let elapsed_ns = (ns * OPERATIONS as f64) as u64;
                Sample::Throughput { operations: OPERATIONS, bytes: 0, elapsed_ns }
            }
            Outcome::Stretches(ns) => {
                let elapsed_ns = ns.iter().map(|ns| (ns * OPERATIONS as f64) as u64).collect();
                Sample::Stretches { operations: OPERATIONS, bytes: 0, elapsed_ns, histogram: None }
            }
            Outcome::Gauge(value) => Sample::Gauge { value },
            Outcome::Times(times) => {
                let mut histogram = Histogram::new();
                times.iter().for_each(|ns| histogram.record(*ns));
                let elapsed_ns = times.iter().fold(0, |sum: u64, ns| sum.saturating_add(*ns));
                let (operations, histogram) = (times.len() as u64, histogram.encode());
                Sample::Latency { operations, bytes: 0, elapsed_ns, histogram }
            }
            Outcome::Failed(failure) => return (Vec::new(), Some(failure)),
            Outcome::Nothing => return (Vec::new(), None),
        };
        (vec![Batch { series: "work".into(), phase: Phase::Warm, started_ns: 0, sample }], None)
    }
}

/// Makes a trial that ran alone, in a start of its own.
pub fn make_trial(case: &str, target: &str, round: u32, outcome: Outcome) -> Trial {
    let (batches, failure) = outcome.into_batches();
    Trial {
        partner: None,
        number: 0,
        case: case.into(),
        target: target.into(),
        round,
        attempt: 0,
        position: 0,
        start: round,
        started_ns: u64::from(round) * ROUND_NS,
        host_elapsed_ns: 0,
        agent_elapsed_ns: None,
        batches: batches.into(),
        inside: Interference::default(),
        outside: Interference::default(),
        failure,
        notes: Vec::new(),
    }
}

/// Runs `rounds` rounds of every case in every environment; `measure` gives the outcome for (case, environment, round).
pub fn run_rounds(session: &mut Session, rounds: u32, mut measure: impl FnMut(&str, &str, u32) -> Outcome) {
    let Session { plan, trials, .. } = session;
    for round in 0..rounds {
        for case in &plan.cases {
            for target in plan.targets.iter() {
                match measure(&case.id, &target.name, round) {
                    Outcome::Nothing => {}
                    outcome => trials.push(make_trial(&case.id, &target.name, round, outcome)),
                }
            }
        }
    }
}

/// Computes a repeatable spread of up to half a percent either way, another for every environment.
pub fn compute_jitter(target: &str, round: u32) -> f64 {
    let mut generator = Generator::for_part(u64::from(round), target);
    1.0 + 0.01 * (generator.draw_unit() - 0.5)
}
