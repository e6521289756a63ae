//! States of one environment that last for many rounds, through whole sessions.

use tare_analysis::findings::Verdict;
use tare_record::read_session;

use super::fake_arena::FakeArena;
use super::{PlanRequest, findings, plan_request, planned, targets, with_slow_case};

/// Runs a session of a minute with a quick case and one that stays open; the state of the environment is a multiple of its costs at
/// a moment. Returns the verdict of the quick case, the seconds at which it was measured there, and for how long each time.
fn watch(state: impl Fn(f64) -> f64 + 'static) -> (Verdict, Vec<f64>, Vec<f64>) {
    let folder = tempfile::tempdir().unwrap();
    let mut arena = FakeArena::new(&[1.0, 1.0, 1.0]);
    (arena.start_ns, arena.slow_ns) = (vec![1_000_000; 3], 800_000_000);
    arena.state = Box::new(move |target, now_ns| if target < 2 { 1.0 } else { state(now_ns as f64 / 1e9) });
    let plan = plan_request(targets(1));
    let selected = with_slow_case(&plan);
    let (record, _) =
        planned(&mut arena, folder.path(), PlanRequest { selected, budget_s: Some(60.0), ..plan });
    let session = read_session(&record).unwrap().session;
    let of_quick = session.trials.iter().filter(|trial| trial.case == "null" && trial.target == "layer0");
    let times = of_quick.map(|trial| {
        let timed = trial.batches.to_vec();
        let took_ns: u64 = timed.iter().flat_map(|of| of.sample.iter_timed()).map(|of| of.elapsed_ns).sum();
        (trial.started_ns as f64 / 1e9, took_ns as f64 / 1e9)
    });
    let (at_s, took_s) = times.unzip();
    (findings(&record).rows[0].cells[0].comparison().unwrap().verdict, at_s, took_s)
}

#[test]
fn a_direction_that_was_a_state_is_taken_back() {
    let (verdict, at_s, _) = watch(|now_s| if now_s < 25.0 { 1.05 } else { 1.0 / 1.05 });
    let decided = at_s.windows(2).position(|at_s| at_s[1] - at_s[0] > 0.9).unwrap();
    assert!(at_s[decided] < 25.0, "decided in its first state, at {} s", at_s[decided]);
    assert!(!verdict.is_settled(), "{verdict:?}");
}

#[test]
fn a_direction_that_lasts_is_watched_in_little_time() {
    let (verdict, at_s, took_s) = watch(|_| 1.05);
    assert_eq!(verdict, Verdict::Slower);
    let late = at_s.iter().filter(|at_s| **at_s > 30.0).count();
    // Both sides of a pair, of which this is one.
    let share = 2.0 * took_s[took_s.len() - late..].iter().sum::<f64>() / 30.0;
    assert!(late >= 10 && share <= 0.05, "{late} times in half a minute, {share} of it");
    let (verdict, at_s, _) = watch(|_| 2.0);
    assert_eq!(verdict, Verdict::Slower);
    assert!(*at_s.last().unwrap() < 30.0, "no state makes it twice as slow");
}
