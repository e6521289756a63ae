//! Starts: after how much time in trials an environment is entered afresh.

use tare_analysis::verdicts::judge::FEWEST_STARTS;
use tare_analysis::verdicts::stopping::units_to_leave;

/// Shortest trials of a round that starts are set against.
pub const SHORTEST_ROUND_S: f64 = 1e-3;
/// Where there is time for the starts that are wanted, starts take one part in this many and one of the session...
const TRIALS_A_START: f64 = 4.0;
/// ...and never more than half of it.
const FEWEST_TRIALS_A_START: f64 = 1.0;

/// An environment's starts: how many there were, and what one more takes in seconds.
#[derive(Clone, Copy, Debug, Default)]
pub struct Start {
    pub made: u32,
    pub s: f64,
}

/// Computes after how many seconds of trials each environment has its next start, in a session that has `whole_s` for both.
///
/// More starts pay where starts differ more than rounds do (Kalibera and Jones 2013), which is where trials take turns. Among
/// themselves, environments share the time of starts by its roots, by which the sum of their variances is least. Where the time is
/// short, it goes into the starts that a cell among so many needs to leave, up to half of it.
pub fn seconds_a_start(starts: &[Start], whole_s: Option<f64>, cells: usize) -> Vec<f64> {
    let roots: f64 = starts.iter().map(|start| start.s.sqrt()).sum();
    let wanted_s = whole_s.map(|whole_s| whole_s / f64::from(units_to_leave(cells) + 1));
    let share = |start: &Start| {
        let level_s = start.s.sqrt() * roots;
        let (least_s, most_s) = (FEWEST_TRIALS_A_START * level_s, TRIALS_A_START * level_s);
        wanted_s.map_or(most_s, |wanted_s| wanted_s.clamp(least_s, most_s))
    };
    starts.iter().map(share).collect()
}

/// Computes the share of the time that trials have beside starts.
fn trials_share(starts: &[Start], shares_s: &[f64]) -> f64 {
    let a_second = starts.iter().zip(shares_s).filter(|(_, share_s)| **share_s > 0.0);
    1.0 / (1.0 + a_second.map(|(start, share_s)| start.s / share_s).sum::<f64>())
}

/// Computes how many rounds of `round_s` fit into the time that is left, with the starts that go with them.
pub fn rounds_with_starts(starts: &[Start], round_s: f64, left_s: f64) -> f64 {
    let shares_s = seconds_a_start(starts, Some(left_s), 1);
    left_s * trials_share(starts, &shares_s) / round_s.max(SHORTEST_ROUND_S)
}

/// Finds the environments for whose verdicts the time has too few starts, and how many it has room for.
pub fn short_of_starts(starts: &[Start], left_s: f64) -> Vec<(usize, u32)> {
    let shares_s = seconds_a_start(starts, Some(left_s), 1);
    let trials_s = left_s * trials_share(starts, &shares_s);
    let made = shares_s.iter().map(|share_s| (trials_s / share_s).max(1.0) as u32);
    made.enumerate().filter(|(_, made)| *made < FEWEST_STARTS as u32).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn starts(seconds: &[f64]) -> Vec<Start> {
        seconds.iter().map(|s| Start { made: 0, s: *s }).collect()
    }

    fn near(values: Vec<f64>, expected: &[f64]) {
        assert_eq!(values.len(), expected.len());
        for (value, expected) in values.iter().zip(expected) {
            assert!((value / expected - 1.0).abs() < 0.01, "{values:?}");
        }
    }

    #[test]
    fn quick_starts_come_often_and_slow_ones_as_often_as_the_time_allows() {
        near(seconds_a_start(&starts(&[0.01, 0.04]), Some(60.0), 16), &[0.12, 0.24]);
        near(seconds_a_start(&starts(&[0.01, 0.04]), None, 16), &[0.12, 0.24]);
        near(seconds_a_start(&starts(&[0.01, 4.0]), Some(84.0), 16), &[0.84, 6.0]);
        near(seconds_a_start(&starts(&[4.0]), Some(10.0), 16), &[4.0]);
        near(seconds_a_start(&starts(&[4.0]), Some(1_000.0), 16), &[16.0]);
    }

    #[test]
    fn starts_take_a_fifth_of_the_time_or_up_to_half_of_it() {
        assert!((rounds_with_starts(&starts(&[0.01]), 1.0, 100.0) - 80.0).abs() < 1.0);
        assert!((rounds_with_starts(&starts(&[5.0]), 1.0, 10.0) - 5.0).abs() < 0.1);
        assert_eq!(rounds_with_starts(&[], 1.0, 100.0), 100.0);
    }

    #[test]
    fn environments_without_room_for_eight_starts_are_named() {
        assert_eq!(short_of_starts(&starts(&[0.001, 9.0]), 70.0), [(1, 3)]);
        assert_eq!(short_of_starts(&starts(&[0.001, 3.0]), 70.0), []);
    }
}
