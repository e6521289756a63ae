//! The planted cost: where it runs, what it takes, and what is reported of it.

use std::collections::BTreeSet;

use tare_analysis::Options;
use tare_data::session::{Session, Side};
use tare_record::read_session;

use super::fake_arena::FakeArena;
use super::{ON_THE_EDGE, plan_request, planned, rounds_of, rounds_with, targets};
use crate::session::plan::prepare::PlanRequest;

const PLANTED: &str = "native planted";

/// Runs a session of subjects with these costs, and of a planted environment that costs `planted`. Returns
/// its time too.
fn measured(subjects: &[f64], planted_cost: f64, noise: f64, budget_s: f64) -> (Session, f64) {
    let ratios: Vec<f64> = [1.0, 1.0].iter().chain(subjects).chain(&[planted_cost]).copied().collect();
    let mut arena = FakeArena::new(&ratios);
    arena.noise = vec![noise; ratios.len()];
    arena.start_ns = vec![1_000_000; ratios.len()];
    let mut targets = targets(subjects.len());
    let specification = "native?slower=5%".parse().unwrap();
    targets.add_planted(Side::new(PLANTED, specification));
    let folder = tempfile::tempdir().unwrap();
    let request = PlanRequest { budget_s: Some(budget_s), ..plan_request(targets) };
    let (record, _) = planned(&mut arena, folder.path(), request);
    (read_session(&record).unwrap().session, arena.now_ns as f64 / 1e9)
}

/// Tells whether the session reports that it found the cost; None where it reports nothing.
fn found(session: &Session) -> Option<bool> {
    tare_analysis::compute_findings(session, &Options::default())
        .certificate
        .planted
        .map(|planted| planted.found)
}

#[test]
fn a_planted_cost_is_found_and_leaves_while_others_go_on() {
    let (session, _) = measured(&[ON_THE_EDGE, 1.0], 1.05, 1.0, 60.0);
    assert_eq!(found(&session), Some(true));
    assert!(rounds_of(&session, PLANTED) <= 45, "{}", rounds_of(&session, PLANTED));
    assert!(rounds_of(&session, "layer0") > 500);
    let findings = tare_analysis::compute_findings(&session, &Options::default());
    assert_eq!(findings.subjects, ["layer0", "layer1"]);
    assert_eq!((findings.rows[0].cells.len(), findings.certificate.compared), (2, 2), "it is in no table");
}

#[test]
fn a_planted_cost_takes_both_places_in_its_pairs() {
    let (session, _) = measured(&[ON_THE_EDGE], 1.05, 6.0, 60.0);
    let of_planted = session.trials.iter().filter(|trial| trial.target == PLANTED);
    let positions: BTreeSet<u32> = of_planted.clone().map(|trial| trial.position).collect();
    assert_eq!(positions, [0, 1].into());
    let starts: BTreeSet<u32> = of_planted.map(|trial| trial.start).collect();
    assert!(starts.len() > 10, "it is started again like the others");
}

#[test]
fn a_cost_that_was_not_planted_is_not_found_and_takes_a_few_percent_of_the_time() {
    // The copy is no slower than the baseline: what it says must be that nothing was found, or nothing.
    let (session, _) = measured(&[1.0, 1.0], 1.0, 1.0, 60.0);
    assert_eq!(found(&session), Some(false));
    let planted_s: f64 = session
        .trials
        .iter()
        .filter(|trial| trial.target == PLANTED)
        .map(|trial| trial.host_elapsed_ns as f64 / 1e9)
        .sum();
    assert!(planted_s < 0.06 * 60.0, "{planted_s}");
}

#[test]
fn nothing_is_said_of_a_cost_that_had_less_time_than_the_others() {
    let (session, took_s) = measured(&[ON_THE_EDGE], 1.001, 20.0, 60.0);
    assert!(rounds_with(&session, PLANTED).len() < rounds_with(&session, "layer0").len());
    assert_eq!(found(&session), None);
    assert!((55.0..61.0).contains(&took_s), "{took_s}");
}

#[test]
fn a_short_session_has_no_planted_cost() {
    let (session, _) = measured(&[ON_THE_EDGE], 1.05, 1.0, 1.5);
    assert!(session.plan.planted.is_none() && session.plan.targets.len() == 3);
    assert_eq!(found(&session), None);
}
