//! Sessions made up for tests: environments, cases and a rule for the outcome of each trial.

use std::collections::BTreeMap;

use tare_analysis::findings::Interval;
use tare_analysis::{Look, Options, Progress};
use tare_data::batch::{Batch, Histogram, Phase, Sample};
use tare_data::facts::Facts;
use tare_data::failure::Failure;
use tare_data::metric::{Metric, Reading};
use tare_data::names::{Case, Parameters};
use tare_data::request::Amount;
use tare_data::session::specification::Specification;
use tare_data::session::{
    Ending, Header, Interference, Plan, PlannedCase, Role, Session, Target, TargetFacts, Trial,
};
use tare_data::unit::{Direction, Unit};

/// ln 1.02.
pub const MARGIN: f64 = 0.019_802_627_296_179_71;

pub fn make_metric(name: &str, reading: Reading) -> Metric {
    let (unit, direction) = match reading {
        Reading::OperationsPerSecond => (Unit::PerSecond, Direction::Higher),
        _ => (Unit::Nanoseconds, Direction::Lower),
    };
    Metric { name: name.into(), series: "work".into(), reading, unit, direction }
}

pub fn make_case(
    probe: &str,
    parameters: &[(&str, &str)],
    place: Option<&str>,
    metrics: Vec<Metric>,
) -> PlannedCase {
    let parameters = parameters.iter().map(|(key, value)| (key.to_string(), value.to_string())).collect();
    let case = Case {
        probe: probe.into(),
        parameters: Parameters(parameters),
        place: place.map(Into::into),
        peer: None,
    };
    PlannedCase {
        pairs: std::collections::BTreeMap::new(),
        id: case.to_string(),
        label: probe.to_owned(),
        case,
        metrics,
        decide: Vec::new(),
        definition: String::new(),
        declared: Default::default(),
        amount: Amount::Calibrate,
        margin: MARGIN,
        missing: BTreeMap::new(),
    }
}

/// Plans a case whose headline is a time an operation.
pub fn make_timed_case(probe: &str) -> PlannedCase {
    make_case(probe, &[], None, vec![make_metric("time", Reading::TimePerOperation)])
}

/// Builds a session with environments `native` (baseline), `again` (control) and these subjects, and no
/// trials yet.
pub fn make_session(subjects: &[&str], cases: Vec<PlannedCase>, rounds: u32) -> Session {
    let target = |name: &str, role| Target::new(name, Specification::from_provider(name), role);
    let mut targets = vec![target("native", Role::Baseline), target("again", Role::Control)];
    targets.extend(subjects.iter().map(|name| target(name, Role::Subject)));
    let fact = |target: &Target| TargetFacts {
        target: target.name.clone(),
        inside: Facts::default(),
        outside: Facts::default(),
        places: BTreeMap::from([("own".to_string(), Facts::default())]),
    };
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
        facts: targets.iter().map(fact).collect(),
        plan: Plan {
            own_rounds: false,
            study: "test".into(),
            seed: 1,
            rounds,
            looks: tare_analysis::verdicts::stopping::planned_looks(rounds),
            budget_s: None,
            until_decided: false,
            planted: None,
            control_every: 1,
            every: Default::default(),
            inside: Default::default(),
            demands: Default::default(),
            targets,
            cases,
        },
        trials: Vec::new(),
        repeated: Vec::new(),
        ending: Ending::Complete,
        warnings: Vec::new(),
    }
}

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

fn batch(sample: Sample) -> Batch {
    Batch { series: "work".into(), phase: Phase::Warm, started_ns: 0, sample }
}

pub fn make_trial(case: &str, target: &str, round: u32, outcome: Outcome) -> Trial {
    let (batches, failure) = match outcome {
        // A million operations, so that a nanosecond's fraction survives the whole numbers.
        Outcome::Time(ns) => {
            let elapsed_ns = (ns * 1e6) as u64;
            (vec![batch(Sample::Throughput { operations: 1_000_000, bytes: 0, elapsed_ns })], None)
        }
        Outcome::Stretches(ns) => {
            let elapsed_ns = ns.iter().map(|ns| (ns * 1e6) as u64).collect();
            let (operations, bytes, histogram) = (1_000_000, 0, None);
            (vec![batch(Sample::Stretches { operations, bytes, elapsed_ns, histogram })], None)
        }
        Outcome::Gauge(value) => (vec![batch(Sample::Gauge { value })], None),
        Outcome::Times(times) => {
            let mut histogram = Histogram::new();
            times.iter().for_each(|ns| histogram.record(*ns));
            let elapsed_ns = times.iter().fold(0, |sum: u64, ns| sum.saturating_add(*ns));
            let operations = times.len() as u64;
            let sample = Sample::Latency { operations, bytes: 0, elapsed_ns, histogram: histogram.encode() };
            (vec![batch(sample)], None)
        }
        Outcome::Failed(failure) => (Vec::new(), Some(failure)),
        Outcome::Nothing => (Vec::new(), None),
    };
    Trial {
        partner: None,
        number: 0,
        case: case.into(),
        target: target.into(),
        round,
        attempt: 0,
        position: 0,
        start: round,
        started_ns: 0,
        host_elapsed_ns: 0,
        agent_elapsed_ns: None,
        batches: batches.into(),
        inside: Interference::default(),
        outside: Interference::default(),
        failure,
        notes: Vec::new(),
    }
}

/// Runs `rounds` rounds of every case in every environment; `measure` gives the outcome for (case,
/// environment, round).
pub fn run_rounds(session: &mut Session, rounds: u32, mut measure: impl FnMut(&str, &str, u32) -> Outcome) {
    let Session { plan, trials, .. } = session;
    for round in 0..rounds {
        for case in &plan.cases {
            for target in &plan.targets {
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
    let mut generator = tare_data::generator::Generator::for_part(u64::from(round), target);
    1.0 + 0.01 * (generator.draw_unit() - 0.5)
}

/// Finds the environments that need no more rounds of a case at a look; none do between looks.
pub fn find_finished(session: &Session, case: &str, rounds: u32) -> Vec<bool> {
    let options = Options::default();
    let look = Look::take(Progress::from_session(session), case, rounds, &options);
    look.map_or_else(|| vec![false; session.plan.targets.len()], |look| look.find_finished())
}

/// Reads the lower end of an interval.
pub fn low(interval: Interval) -> f64 {
    interval.ends(f64::from)[0]
}

/// Reads the higher end of an interval.
pub fn high(interval: Interval) -> f64 {
    interval.ends(f64::from)[1]
}
