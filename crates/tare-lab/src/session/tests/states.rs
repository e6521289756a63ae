//! States of one environment that last for many rounds, through whole sessions.

use tare_data::generator::Generator;

use tare_analysis::findings::Verdict;
use tare_record::read_session;

use super::fake_arena::FakeArena;
use super::{PlanRequest, findings, plan_request, planned, session, targets};

const SESSIONS: u64 = 30;
const BUDGET_S: f64 = 10.0;

/// Draws when an environment changes between two states that last this long on average.
fn draw_changes(seed: u64, lasting_s: f64) -> Vec<u64> {
    let mut generator = Generator::for_part(seed, "states");
    let mut at_s = 0.0;
    let mut next = || {
        at_s -= lasting_s * libm::log(1.0 - generator.draw_unit());
        at_s
    };
    let changes = std::iter::repeat_with(&mut next).take_while(|at_s| *at_s < 2.0 * BUDGET_S);
    changes.map(|at_s| (at_s * 1e9) as u64).collect()
}

/// Counts the sessions with a direction, of an environment that is now 5 % slower and now 5 % faster.
fn count_directions(lasting_s: f64) -> usize {
    let has_direction = |seed: &u64| {
        let folder = tempfile::tempdir().unwrap();
        let mut arena = FakeArena::new(&[1.0, 1.0, 1.0]);
        arena.generator = Generator::new(*seed);
        arena.start_ns = vec![1_000_000; 3];
        let (changes, first) = (draw_changes(*seed, lasting_s), *seed as usize);
        arena.state = Box::new(move |target, now_ns| {
            let is_slow = (first + changes.partition_point(|at| *at <= now_ns)) % 2 == 0;
            if target < 2 {
                1.0
            } else if is_slow {
                1.05
            } else {
                1.0 / 1.05
            }
        });
        let (record, _) = session(&mut arena, folder.path(), None, Some(BUDGET_S));
        findings(&record).rows[0].cells[0].comparison().unwrap().verdict.trend().is_some()
    };
    (0..SESSIONS).filter(has_direction).count()
}

#[test]
fn states_that_come_and_go_make_no_direction() {
    // Three deviations of a share of 5 %.
    let most = (0.05 + 3.0 * (0.05f64 * 0.95 / SESSIONS as f64).sqrt()) * SESSIONS as f64;
    // A round takes a fiftieth of the longest.
    for lasting_s in [0.4, 1.0] {
        let directions = count_directions(lasting_s);
        println!("states of {lasting_s} s: {directions} of {SESSIONS} sessions have a direction");
        assert!(directions as f64 <= most, "{lasting_s} s: {directions} of {SESSIONS}");
    }
}

/// Runs a session of a minute with a quick case and one that stays open; the state of the environment is a multiple of its costs at
/// a moment. Returns the verdict of the quick case, and the seconds at which it was measured there.
fn watch(state: impl Fn(f64) -> f64 + 'static) -> (Verdict, Vec<f64>) {
    let folder = tempfile::tempdir().unwrap();
    let mut arena = FakeArena::new(&[1.0, 1.0, 1.0]);
    (arena.start_ns, arena.slow_ns) = (vec![1_000_000; 3], 800_000_000);
    arena.state = Box::new(move |target, now_ns| if target < 2 { 1.0 } else { state(now_ns as f64 / 1e9) });
    let plan = plan_request(targets(1));
    let mut slow = plan.selected[0].clone();
    slow.case.parameters.0.insert("slow".into(), "yes".into());
    let selected = [plan.selected.clone(), vec![slow]].concat();
    let (record, _) =
        planned(&mut arena, folder.path(), PlanRequest { selected, budget_s: Some(60.0), ..plan });
    let session = read_session(&record).unwrap().session;
    let of_quick = session.trials.iter().filter(|trial| trial.case == "null" && trial.target == "layer0");
    let at_s = of_quick.map(|trial| trial.started_ns as f64 / 1e9).collect();
    (findings(&record).rows[0].cells[0].comparison().unwrap().verdict, at_s)
}

#[test]
fn a_direction_that_was_a_state_is_taken_back() {
    let (verdict, at_s) = watch(|now_s| if now_s < 25.0 { 1.05 } else { 1.0 / 1.05 });
    let decided = at_s.windows(2).position(|at_s| at_s[1] - at_s[0] > 0.9).unwrap();
    assert!(at_s[decided] < 25.0, "decided in its first state, at {} s", at_s[decided]);
    assert!(!verdict.is_settled(), "{verdict:?}");
}

#[test]
fn a_direction_that_lasts_is_watched_in_little_time() {
    let (verdict, at_s) = watch(|_| 1.05);
    assert_eq!(verdict, Verdict::Slower);
    let late = at_s.iter().filter(|at_s| **at_s > 30.0).count();
    assert!((10..=30).contains(&late), "{late} times in half a minute");
    let (verdict, at_s) = watch(|_| 2.0);
    assert_eq!(verdict, Verdict::Slower);
    assert!(*at_s.last().unwrap() < 30.0, "no state makes it twice as slow");
}
