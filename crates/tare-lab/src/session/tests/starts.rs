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
fn the_next_start_is_entered_while_this_one_is_measured() {
    let folder = tempfile::tempdir().unwrap();
    let mut arena = FakeArena::new(&[1.0, 1.0, 3.0]);
    session(&mut arena, folder.path(), Some(20), None);
    assert_eq!(arena.ahead, arena.starts);
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
    assert!((8..=11).contains(&starts(1_000_000_000)), "{}", starts(1_000_000_000));
}
