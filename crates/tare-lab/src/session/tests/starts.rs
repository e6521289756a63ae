//! Starts of an environment that take long, and the cases that need them.

use tare_analysis::findings::Verdict;

use super::fake_arena::FakeArena;
use super::{PlanRequest, findings, plan_request, planned, session, targets, verdicts};

#[test]
fn every_case_has_the_starts_of_a_verdict_in_little_time() {
    let folder = tempfile::tempdir().unwrap();
    let mut arena = FakeArena::new(&[1.0, 1.0, 3.0]);
    (arena.start_ns, arena.overhead_ns) = (vec![1_000_000, 1_000_000, 1_000_000_000], 5_000_000);
    let plan = plan_request(targets(1));
    let case = |number: u32| {
        let mut case = plan.selected[0].clone();
        case.case.parameters.0.insert("number".into(), number.to_string());
        case
    };
    let selected = (0..15).map(case).collect();
    let (record, _) =
        planned(&mut arena, folder.path(), PlanRequest { selected, budget_s: Some(26.0), ..plan });
    let all = verdicts(&findings(&record));
    assert!(all.iter().filter(|verdict| **verdict == Verdict::Slower).count() >= 14, "{all:?}");
}

#[test]
fn an_environment_with_expensive_starts_waits_until_the_others_are_decided() {
    let folder = tempfile::tempdir().unwrap();
    let mut arena = FakeArena::new(&[1.0, 1.0, 1.3, 3.0]);
    arena.start_ns = vec![1_000_000, 1_000_000, 1_000_000, 2_000_000_000];
    let (record, _) = session(&mut arena, folder.path(), None, Some(90.0));
    let session = tare_record::read_session(&record).unwrap().session;
    let list = |name: &str| -> Vec<u64> {
        session.trials.iter().filter(|trial| trial.target == name).map(|trial| trial.started_ns).collect()
    };
    let expensive_ns = list("layer1");
    let before = list("layer0").into_iter().filter(|started_ns| *started_ns < expensive_ns[0]).count();
    assert!(before >= 12 && arena.starts[3] >= 8, "{before} before, {} starts", arena.starts[3]);
    assert_eq!(verdicts(&findings(&record)), [Verdict::Slower; 2]);
}

#[test]
fn the_next_starts_are_entered_while_this_one_is_measured() {
    let folder = tempfile::tempdir().unwrap();
    let mut arena = FakeArena::new(&[1.0, 1.0, 3.0]);
    session(&mut arena, folder.path(), Some(20), None);
    assert_eq!(arena.ahead, arena.starts.iter().map(|starts| starts + 2).collect::<Vec<_>>());
}

#[test]
fn a_start_is_not_left_before_the_next_has_settled() {
    let starts = |settling_ns: u64| {
        let folder = tempfile::tempdir().unwrap();
        let mut arena = FakeArena::new(&[1.0, 1.0, 1.02]);
        (arena.start_ns, arena.settling_ns) = (vec![1_000_000; 3], settling_ns);
        session(&mut arena, folder.path(), None, Some(10.0));
        arena.starts[2]
    };
    assert!(starts(0) > 50, "{}", starts(0));
    // Three settle at once, in a second.
    assert!((24..=33).contains(&starts(1_000_000_000)), "{}", starts(1_000_000_000));
}
