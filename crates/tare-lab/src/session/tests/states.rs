//! States of one environment that last for many rounds, through whole sessions.

use tare_data::generator::Generator;

use super::fake_arena::FakeArena;
use super::{findings, session};

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
        findings(&record).rows[0].cells[0].comparison().unwrap().verdict.side().is_some()
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
