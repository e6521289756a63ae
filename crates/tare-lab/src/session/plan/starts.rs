//! Starts: when an environment is entered afresh, and how many rounds share a start where that is slow.

use tare_analysis::verdicts::judge::FEWEST_STARTS;
use tare_analysis::verdicts::stopping::{rounds_before_look, units_to_leave};

/// The starts that a verdict needs come first where those of all environments take at most this share of the time.
const FIRST_STARTS_SHARE: f64 = 0.5;
/// Shortest trials of a round that starts are set against.
pub const SHORTEST_ROUND_S: f64 = 1e-3;

/// An environment's starts: how many there were, and what one more takes in seconds.
#[derive(Clone, Copy, Debug, Default)]
pub struct Start {
    pub made: u32,
    pub s: f64,
}

impl Start {
    /// Estimates the time of the starts that are still missing of a number.
    fn missing_s(&self, of: u32) -> f64 {
        f64::from(of.saturating_sub(self.made)) * self.s
    }
}

/// Computes how many rounds share a start from now on, environment by environment, where a round's trials
/// take `round_s` and `left_s` are left. Without a limit of time every round has its own starts.
///
/// The starts that a verdict needs come first, one a round. Beyond them, starts take no more of a round's
/// time than its trials do: more would pay where starts differ more than rounds do (Kalibera and Jones 2013),
/// but would leave the environments that start quickly too few rounds. Among themselves, environments share
/// that time by the roots of their starts' times, by which the sum of their variances is least. When
/// comparisons end and rounds become shorter, more rounds share a start; the number of starts grows all the
/// same, since half of the time goes into them.
pub fn rounds_a_start(starts: &[Start], round_s: f64, left_s: Option<f64>, cells: usize) -> Vec<u32> {
    let mut shared = vec![1; starts.len()];
    let Some(left_s) = left_s else { return shared };
    let come_first = come_first(starts, left_s, cells);
    let mut sharing: Vec<usize> = (0..starts.len()).filter(|at| !come_first[*at]).collect();
    sharing.sort_by(|a, b| starts[*a].s.total_cmp(&starts[*b].s));
    let root = |target: usize| starts[target].s.sqrt();
    let mut room_s = round_s.max(SHORTEST_ROUND_S);
    let mut roots: f64 = sharing.iter().map(|target| root(*target)).sum();
    for target in sharing {
        let share = (root(target) * roots / room_s).ceil().max(1.0) as u32;
        shared[target] = share;
        if share == 1 {
            // What quick starts leave of the room, slow ones have.
            room_s = (room_s - starts[target].s).max(SHORTEST_ROUND_S);
            roots -= root(target);
        }
    }
    shared
}

/// Selects the environments that get a start a round until they have as many as a verdict needs, or, better,
/// as the first look has rounds, or as a cell among all of these needs to leave at one of the next: the
/// quickest ones, as far as that takes half of the time.
fn come_first(starts: &[Start], left_s: f64, cells: usize) -> Vec<bool> {
    let mut come_first = vec![false; starts.len()];
    for wanted in [FEWEST_STARTS as u32, rounds_before_look(0), units_to_leave(cells)] {
        let mut by_need: Vec<usize> = (0..starts.len()).collect();
        by_need.sort_by(|a, b| starts[*a].missing_s(wanted).total_cmp(&starts[*b].missing_s(wanted)));
        let mut spent_s = 0.0;
        for target in by_need {
            spent_s += starts[target].missing_s(wanted);
            if spent_s > left_s * FIRST_STARTS_SHARE {
                break;
            }
            come_first[target] |= starts[target].missing_s(wanted) > 0.0;
        }
    }
    come_first
}

/// Computes how many rounds of `round_s` fit into the time that is left, with the starts that go with them.
pub fn rounds_with_starts(starts: &[Start], round_s: f64, left_s: f64) -> f64 {
    let round_s = round_s.max(SHORTEST_ROUND_S);
    let a_round_s = |starts_s: f64| starts_s.min(round_s);
    let first = come_first(starts, left_s, 1);
    let come_first_s: f64 =
        starts.iter().zip(first).filter(|(_, first)| *first).map(|(start, _)| start.s).sum();
    let beyond_s = FEWEST_STARTS as f64 * (come_first_s - round_s).max(0.0);
    (left_s - beyond_s).max(0.0) / (round_s + a_round_s(starts.iter().map(|start| start.s).sum()))
}

/// Finds the environments for whose verdicts the time has too few starts, and how many it has room for.
pub fn short_of_starts(starts: &[Start], round_s: f64, left_s: f64) -> Vec<(usize, u32)> {
    let shared = rounds_a_start(starts, round_s, Some(left_s), 1);
    let rounds = rounds_with_starts(starts, round_s, left_s);
    let made = |shared: u32| (rounds / f64::from(shared)).max(1.0) as u32;
    let short =
        shared.iter().enumerate().filter(|(_, shared)| **shared > 1 && made(**shared) < FEWEST_STARTS as u32);
    short.map(|(target, shared)| (target, made(*shared))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn first(seconds: &[f64]) -> Vec<Start> {
        seconds.iter().map(|s| Start { made: 0, s: *s }).collect()
    }

    fn later(seconds: &[f64]) -> Vec<Start> {
        seconds.iter().map(|s| Start { made: 12, s: *s }).collect()
    }

    #[test]
    fn quick_starts_are_fresh_every_round_and_slow_ones_are_shared() {
        assert_eq!(rounds_a_start(&later(&[0.001, 0.15, 0.15]), 1.0, Some(100.0), 1), [1, 1, 1]);
        assert_eq!(rounds_a_start(&later(&[0.001, 0.15, 3.0]), 1.0, Some(100.0), 1), [1, 1, 4]);
        assert_eq!(rounds_a_start(&later(&[0.04, 0.04, 4.0]), 0.1, Some(100.0), 1), [5, 5, 48]);
        assert_eq!(rounds_a_start(&later(&[3.0, 3.0]), 1.0, Some(100.0), 1), [6, 6]);
        assert_eq!(rounds_a_start(&later(&[0.001, 90.0]), 1.0, None, 1), [1, 1]);
        assert_eq!(rounds_a_start(&later(&[0.0, 0.0]), 0.0, Some(1.0), 1), [1, 1]);
    }

    #[test]
    fn starts_that_a_verdict_needs_come_first_where_half_of_the_time_has_room_for_them() {
        assert_eq!(rounds_a_start(&first(&[0.001, 3.0]), 0.5, Some(50.0), 1), [1, 1]);
        assert_eq!(rounds_a_start(&first(&[0.001, 3.0]), 0.5, Some(40.0), 1), [1, 6]);
        let almost = [Start { made: 12, s: 0.001 }, Start { made: 6, s: 3.0 }];
        assert_eq!(rounds_a_start(&almost, 0.5, Some(14.0), 1), [1, 1]);
        assert_eq!(
            rounds_a_start(&first(&[0.001, 3.0, 90.0]), 0.5, Some(100.0), 1),
            [1, 1, 180],
            "environments that cannot have starts take none from the others"
        );
    }

    #[test]
    fn among_many_cells_more_starts_come_first() {
        let starts = [Start { made: 30, s: 0.001 }, Start { made: 13, s: 3.0 }];
        assert_eq!(rounds_a_start(&starts, 0.5, Some(50.0), 1), [1, 7]);
        assert_eq!(rounds_a_start(&starts, 0.5, Some(50.0), 45), [1, 1]);
    }

    #[test]
    fn environments_without_room_for_eight_starts_are_named() {
        assert_eq!(short_of_starts(&first(&[0.001, 9.0]), 1.0, 70.0), [(1, 3)]);
        assert_eq!(short_of_starts(&first(&[0.001, 3.0]), 1.0, 70.0), []);
        assert_eq!(short_of_starts(&first(&[0.001, 0.5]), 9.0, 20.0), [], "rounds with starts of their own");
    }

    #[test]
    fn starts_take_their_part_of_the_rounds() {
        assert_eq!(rounds_with_starts(&first(&[0.0]), 1.0, 100.0), 100.0);
        assert_eq!(rounds_with_starts(&first(&[0.25]), 1.0, 100.0), 80.0);
        assert_eq!(rounds_with_starts(&first(&[5.0]), 1.0, 100.0), 34.0, "eight of five seconds come first");
        assert_eq!(rounds_with_starts(&first(&[5.0]), 1.0, 10.0), 5.0);
    }
}
