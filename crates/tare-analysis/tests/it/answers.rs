//! Every answer that a cell can have, from sessions of known costs.

use tare_analysis::findings::{Cell, Kind};
use tare_analysis::verdicts::stopping::planned_looks;
use tare_analysis::{Options, compute_findings};
use tare_data::session::{Role, Session};
use tare_specimen::{Cost, Work, make_plan, make_session, make_sides, make_timed_case, run_paired};

const ROUNDS: u32 = 40;

/// Environments with the factor, spread and drift of their costs, and the answer to each. One has no trials.
const ENVIRONMENTS: [(&str, [f64; 3], Kind); 7] = [
    ("slow", [2.0, 0.01, 0.0], Kind::Slower),
    ("fast", [0.5, 0.01, 0.0], Kind::Faster),
    ("alike", [1.0, 0.005, 0.0], Kind::Same),
    ("nearly", [1.0, 0.05, 0.0], Kind::AtMost),
    ("noisy", [NOISY.factor, NOISY.spread, 0.0], Kind::NotSure),
    ("drifting", [3.0, 0.01, 1.5], Kind::AtLeast),
    ("away", [1.0, 0.0, 0.0], Kind::None),
];

/// Cost of which nothing is known after all rounds.
const NOISY: Cost = Cost { factor: 1.0, spread: 1.5, drift: 0.0, rounds: ROUNDS };

/// Runs pairs of a case in each environment that is there, and of four cases of which nothing will be known: one of many cells is
/// judged more strictly.
fn run_pairs() -> Session {
    let subjects = ENVIRONMENTS.iter().map(|(name, ..)| (*name, Role::Subject));
    let targets = make_sides([("native", Role::Baseline)].into_iter().chain(subjects));
    let cases = ["sys.getppid", "sys.read", "ipc.pipe", "ipc.unix", "mem.map"].map(make_timed_case);
    let mut session = make_session(make_plan(targets, cases.into(), planned_looks(ROUNDS)));
    let cost = |case: &str, target: &str| {
        let there = |(name, _, kind): &&(&str, _, _)| *name == target && *kind != Kind::None;
        let (_, [factor, spread, drift], _) = *ENVIRONMENTS.iter().find(there)?;
        Some(if case == "sys.getppid" { Cost { factor, spread, drift, ..NOISY } } else { NOISY })
    };
    run_paired(&mut session, |_| Work { series_ns: &[("work", 100.0)], amount: (10_000, 20) }, cost);
    session
}

#[test]
fn pairs_have_the_answers_of_their_costs() {
    let session = run_pairs();
    assert!(session.trials.iter().all(|trial| trial.partner.is_some()));
    let findings = compute_findings(&session, &Options::default());
    let kind = |cell: &Cell| cell.comparison().map_or(Kind::None, |found| found.answer().kind());
    let found: Vec<Kind> = findings.rows[0].cells.iter().map(kind).collect();
    assert_eq!(found, ENVIRONMENTS.map(|(.., kind)| kind));
    assert!(Kind::ALL.iter().all(|kind| found.contains(kind)), "every answer");
}
