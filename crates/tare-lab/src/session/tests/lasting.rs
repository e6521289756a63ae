//! Work that lasts, beside the cases of a session.

use tare_analysis::findings::{Kind, Outcome, Reach};
use tare_data::generator::Generator;
use tare_data::session::lasting::{LastingWork, Stretch};

use super::*;
use crate::session::rounds::lasting::{Lasting, Wanted};

/// Runs a session that measures work that lasts, and reads it.
fn lasting_session(arena: &mut FakeArena, folder: &Path, budget_s: f64) -> Session {
    let plan = plan_request(targets(arena.ratios.len() - 2));
    planned(arena, folder, PlanRequest { budget_s: Some(budget_s), lasting: true, ..plan });
    read_session(&folder.join("session.tare")).unwrap().session
}

fn rounds_with_stretches<'a>(session: &'a Session, target: &'a str) -> Vec<u32> {
    let of_target = session.stretches.iter().filter(|stretch| stretch.target == target);
    let mut rounds: Vec<u32> = of_target.map(|stretch| stretch.round).collect();
    rounds.sort_unstable();
    rounds
}

#[test]
fn every_environment_has_its_stretches_while_all_others_are_left() {
    for (ratio, start_ms, budget_s) in [(ON_THE_EDGE, 1, 36.0), (3.0, 1, 100.0), (ON_THE_EDGE, 900, 60.0)] {
        let folder = tempfile::tempdir().unwrap();
        let mut arena = FakeArena::new(&[1.0, 1.0, ratio]);
        arena.start_ns = vec![1_000_000, 1_000_000, start_ms * 1_000_000];
        let session = lasting_session(&mut arena, folder.path(), budget_s);
        for target in ["native", "layer0"] {
            let expected: Vec<u32> = (0..8).collect();
            assert_eq!(rounds_with_stretches(&session, target), expected, "{target} {start_ms}");
        }
        assert_eq!(arena.beside, 0, "another environment was entered during a stretch");
        assert!(session.stretches.iter().all(|stretch| stretch.work == LastingWork::Arithmetic));
        assert!(arena.now_ns as f64 <= budget_s * 1.02e9, "{}", arena.now_ns);
        let share = session.trials.last().unwrap().started_ns as f64 / 1e9 / budget_s;
        assert!(ratio > 2.0 || share > 0.6, "rounds have the rest: {share}");
    }
}

#[test]
fn an_environment_that_fails_or_takes_long_to_enter_has_none() {
    let folder = tempfile::tempdir().unwrap();
    let mut arena = FakeArena::new(&[1.0, 1.0, ON_THE_EDGE, ON_THE_EDGE, ON_THE_EDGE]);
    arena.start_ns[2] = 9_000_000_000;
    arena.lasting[3] = 0.0;
    let session = lasting_session(&mut arena, folder.path(), 100.0);
    let counts = ["native", "layer0", "layer1", "layer2"].map(|of| rounds_with_stretches(&session, of).len());
    assert_eq!(counts, [8, 0, 0, 8]);
}

#[test]
fn a_session_that_is_resumed_goes_on_with_the_stretches_that_are_missing() {
    let folder = tempfile::tempdir().unwrap();
    let mut arena = FakeArena::new(&[1.0, 1.0, 1.3]);
    let whole = lasting_session(&mut arena, folder.path(), 36.0);
    let half = whole.stretches.iter().filter(|stretch| stretch.round < 4).cloned();
    let left = |stretches: Vec<Stretch>| Lasting::new(&whole.plan.lasting, &stretches);
    let done = |stretches: Vec<Stretch>| left(stretches).count_missing();
    assert_eq!([done(Vec::new()), done(half.collect()), done(whole.stretches.clone())], [2, 1, 0]);
    let due = |at_ns| left(Vec::new()).find_next(at_ns, Some(90_000_000_000), Wanted::Due).is_some();
    assert_eq!([59, 60].map(|at_s| due(at_s * 1_000_000_000)), [false, true], "the first half is for rounds");
}

/// Counts sessions of half a minute with an answer that is plainly the same, with a long ratio that holds the truth, and with a sign of
/// lasting work.
fn count_sessions(lasting: f64) -> [u32; 3] {
    let mut counts = [0; 3];
    for seed in 0..30 {
        let folder = tempfile::tempdir().unwrap();
        let mut arena = FakeArena::new(&[1.0; 3]);
        (arena.generator, arena.start_ns) = (Generator::new(seed), vec![1_000_000; 3]);
        arena.lasting[2] = lasting;
        lasting_session(&mut arena, folder.path(), 30.0);
        let found = findings(&folder.path().join("session.tare"));
        let answer = found.rows[0].cells[0].comparison().unwrap().answer();
        let cost = &found.lasting[0];
        counts[0] += u32::from(answer.kind() == Kind::Same && answer.reach() == Reach::Lasting);
        counts[1] += u32::from(cost.ratio.unwrap().interval.contains(lasting));
        counts[2] += u32::from(cost.outcome == Some(Outcome::Differs));
    }
    counts
}

#[test]
fn what_short_turns_do_not_meet_is_never_plainly_the_same() {
    let [plain, holds, signs] = count_sessions(1.0);
    assert!(plain >= 24 && holds >= 24 && signs <= 5, "alike: {plain} {holds} {signs}");
    // A quota of a fifth; helpers that take a fifth of what there is.
    for lasting in [5.0, 1.25] {
        let [plain, holds, signs] = count_sessions(lasting);
        assert!(plain == 0 && holds >= 24 && signs == 30, "{lasting}: {plain} {holds} {signs}");
    }
}
