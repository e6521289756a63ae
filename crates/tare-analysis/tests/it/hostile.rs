//! Records that no session wrote: the analysis says something, or nothing, but never panics or runs away.

use serde_json::{Value, json};
use tare_analysis::Options;
use tare_analysis::compute_findings;
use tare_data::generator::Generator;
use tare_data::metric::Reading;
use tare_data::session::{RepeatedRound, Session, Sides};
use tare_specimen::change_sides;

use crate::sessions::{
    Outcome, compute_jitter, find_finished, make_case, make_metric, make_session, make_timed_case,
    make_trial, run_rounds,
};

fn survives(session: &Session) {
    for strict in [false, true] {
        let options = Options { strict, ..Options::default() };
        let rows: usize = session.plan.cases.iter().map(|case| case.metrics.len()).sum();
        assert_eq!(compute_findings(session, &options).rows.len(), rows);
        for case in &session.plan.cases {
            let decided = find_finished(session, &case.id, 12);
            assert_eq!(decided.len(), session.plan.targets.len());
        }
    }
}

fn usual() -> Session {
    let mut session = make_session(&["environment"], vec![make_timed_case("sys.getppid")], 12);
    run_rounds(&mut session, 12, |_, target, round| Outcome::Time(100.0 * compute_jitter(target, round)));
    session
}

#[test]
fn plans_without_targets_cases_or_metrics() {
    let mut empty = usual();
    empty.plan.targets = Sides::default();
    survives(&empty);
    let mut no_cases = usual();
    no_cases.plan.cases.clear();
    survives(&no_cases);
    let mut no_metrics = usual();
    no_metrics.plan.cases[0].metrics.clear();
    survives(&no_metrics);
    let mut no_looks = usual();
    (no_looks.plan.looks, no_looks.plan.rounds) = (Vec::new(), 0);
    survives(&no_looks);
}

#[test]
fn comparisons_of_nothing_in_circles_and_equal_names() {
    let mut session = usual();
    let [native, again, environment] = ["native", "again", "environment"];
    for pairs in [vec![], vec![[native, native]], vec![[native, environment], [environment, native]]] {
        for repeats in [[None; 3], [Some(again); 3], [Some(environment), Some("nobody"), Some(native)]] {
            let side = |(name, repeats): (&str, Option<&str>)| json!({"name": name, "specification": name, "repeats": repeats, "short_description": ""});
            let sides: Vec<Value> = [native, again, environment].into_iter().zip(repeats).map(side).collect();
            let compared: Vec<Value> =
                pairs.iter().map(|[first, second]| json!({"first": first, "second": second})).collect();
            for planted in [native, environment, "nobody"] {
                let sides =
                    json!({"environments": sides, "comparisons": compared, "planted_environment": planted});
                session.plan.targets = serde_json::from_value(sides).unwrap();
                survives(&session);
            }
        }
    }
    change_sides(&mut session.plan.targets, |_, side| side.name = "one".into());
    survives(&session);
    session.plan.cases.push(session.plan.cases[0].clone());
    survives(&session);
}

#[test]
fn rounds_and_looks_at_the_end_of_the_numbers() {
    let mut session = usual();
    session.plan.rounds = u32::MAX;
    session.plan.looks = (0..5_000).map(|i| u32::MAX - i).collect();
    session.plan.cases[0].margin = f64::NAN;
    for (i, trial) in session.trials.iter_mut().enumerate() {
        trial.round = u32::MAX - (i / 3) as u32;
        trial.attempt = u32::MAX;
    }
    let repeated = RepeatedRound {
        case: "sys.getppid".into(),
        round: u32::MAX,
        attempt: u32::MAX,
        reason: String::new(),
    };
    session.repeated = vec![repeated; 3];
    survives(&session);
}

#[test]
fn a_thousand_rounds_go_beyond_the_exact_tables() {
    let mut session = make_session(&["environment"], vec![make_timed_case("sys.getppid")], 1_000);
    run_rounds(&mut session, 1_000, |_, target, round| {
        Outcome::Time(if target == "environment" { 101.0 } else { 100.0 } * compute_jitter(target, round))
    });
    survives(&session);
    let findings = compute_findings(&session, &Options::default());
    let cell = crate::findings::expect_comparison(&findings.rows[0].cells[0]);
    let [low, high] = cell.interval.ends(f64::from);
    assert!(cell.interval.contains(1.01) && high / low < 1.001, "{cell:?}");
}

#[test]
fn random_trials_of_random_names() {
    let metrics = vec![
        make_metric("gauge", Reading::Gauge),
        make_metric("time", Reading::TimePerOperation),
        make_metric("p50", Reading::Quantile(f64::NAN)),
        make_metric("max", Reading::Maximum),
    ];
    let values =
        [0.0, -0.0, 1.0, -1.0, f64::MIN_POSITIVE, f64::MAX, f64::MIN, f64::INFINITY, f64::NAN, 1e-300];
    let mut generator = Generator::new(41);
    for _ in 0..60 {
        let mut session =
            make_session(&["environment"], vec![make_case("cpu.primes", &[], None, metrics.clone())], 12);
        for _ in 0..200 {
            let target = ["native", "again", "environment", "nobody"][generator.draw_below(4) as usize];
            let case = ["cpu.primes", "other"][generator.draw_below(2) as usize];
            let outcome = match generator.draw_below(3) {
                0 => Outcome::Gauge(values[generator.draw_below(values.len() as u64) as usize]),
                1 => Outcome::Time(generator.draw_unit() * 1e3),
                _ => Outcome::Times(vec![generator.next_u64() >> generator.draw_below(64); 3]),
            };
            let mut trial = make_trial(case, target, generator.draw_below(20) as u32, outcome);
            trial.start = generator.draw_below(4) as u32;
            trial.inside.canary_ns = Some(generator.next_u64() >> generator.draw_below(64));
            trial.host_elapsed_ns = generator.next_u64();
            trial.agent_elapsed_ns = Some(generator.next_u64());
            session.trials.push(trial);
        }
        survives(&session);
    }
}
