//! Starts: after how much time in trials an environment is entered afresh.

use tare_analysis::findings::sameness::FEWEST_STARTS;
use tare_analysis::verdicts::stopping::{rounds_before_look, units_to_leave};

/// Shortest trials of a round that starts are set against.
pub const SHORTEST_ROUND_S: f64 = 1e-3;
/// The starts that a verdict needs come first where those of all environments take at most this share of the time.
const FIRST_STARTS_SHARE: f64 = 0.5;
/// Time of trials for each second of starts, where there is time for the starts that are wanted...
pub const TRIALS_A_START: f64 = 2.0;
/// ...where it is short...
const FEWEST_TRIALS_A_START: f64 = 1.0;
/// ...and where a start waits for cases that it has not had.
const MOST_TRIALS_A_START: f64 = 4.0;

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

/// Seconds of trials that an environment has between two starts.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Share {
    /// From these on the next start is due...
    pub least_s: f64,
    /// ...and until these it waits for the cases that are open and that the one before has not had: each of them needs starts, and
    /// one that all have had is as good as one for each.
    pub most_s: f64,
}

/// Computes after how many seconds of trials each environment has its next start, where `left_s` are left for both.
///
/// The starts that a verdict needs come first, each as soon as every open case has had the one before. Beyond them, more pay where
/// starts differ more than rounds do (Kalibera and Jones 2013), which is where trials take turns. Among themselves, environments
/// share the time of starts by its roots, by which the sum of their variances is least. Where the time is short, it goes into the
/// starts that a cell among all of them needs to leave, up to half of it.
pub fn seconds_a_start(starts: &[Start], left_s: Option<f64>, cells: usize) -> Vec<Share> {
    let roots: f64 = starts.iter().map(|start| start.s.sqrt()).sum();
    let come_first = come_first(starts, left_s, cells);
    let share = |(start, comes_first): (&Start, bool)| {
        let level_s = start.s.sqrt() * roots;
        let (least_s, most_s) = (FEWEST_TRIALS_A_START * level_s, TRIALS_A_START * level_s);
        let missing = f64::from(units_to_leave(cells).saturating_sub(start.made)).max(1.0);
        let wanted_s = left_s.map_or(most_s, |left_s| left_s / missing);
        Share {
            least_s: if comes_first { 0.0 } else { wanted_s.clamp(least_s, most_s) },
            most_s: MOST_TRIALS_A_START * level_s,
        }
    };
    starts.iter().zip(come_first).map(share).collect()
}

/// Selects the environments that get a start a round until they have as many as a verdict needs, or, better,
/// as the first look has rounds, or as a cell among all of these needs to leave at one of the next: the
/// quickest ones, as far as that takes half of the time.
fn come_first(starts: &[Start], left_s: Option<f64>, cells: usize) -> Vec<bool> {
    let mut come_first = vec![false; starts.len()];
    for wanted in [FEWEST_STARTS as u32, rounds_before_look(0), units_to_leave(cells)] {
        let mut by_need: Vec<usize> = (0..starts.len()).collect();
        by_need.sort_by(|a, b| starts[*a].missing_s(wanted).total_cmp(&starts[*b].missing_s(wanted)));
        let mut spent_s = 0.0;
        for target in by_need {
            spent_s += starts[target].missing_s(wanted);
            if left_s.is_some_and(|left_s| spent_s > left_s * FIRST_STARTS_SHARE) {
                break;
            }
            come_first[target] |= starts[target].missing_s(wanted) > 0.0;
        }
    }
    come_first
}

/// Computes the time that trials have of what is left, and the starts that each environment has beside them.
fn divide_time(starts: &[Start], left_s: f64) -> (f64, Vec<f64>) {
    let roots: f64 = starts.iter().map(|start| start.s.sqrt()).sum();
    let all_s: f64 = starts.iter().map(|start| start.s).sum();
    let wanted_s = f64::from(rounds_before_look(0)) * all_s;
    let starts_s = wanted_s.clamp(left_s / (1.0 + TRIALS_A_START), left_s * FIRST_STARTS_SHARE).min(left_s);
    let starts_s = if all_s > 0.0 { starts_s } else { 0.0 };
    let made = |start: &Start| starts_s * start.s.sqrt() / roots.max(1e-9) / start.s.max(1e-9);
    (left_s - starts_s, starts.iter().map(made).collect())
}

/// Computes how many rounds of `round_s` fit into the time that is left, with the starts that go with them.
pub fn rounds_with_starts(starts: &[Start], round_s: f64, left_s: f64) -> f64 {
    divide_time(starts, left_s).0 / round_s.max(SHORTEST_ROUND_S)
}

/// Finds the environments for whose verdicts the time has too few starts, and how many it has room for. One that was not entered
/// has no starts to be short of.
pub fn short_of_starts(starts: &[Start], left_s: f64) -> Vec<(usize, u32)> {
    let made = divide_time(starts, left_s).1.into_iter().map(|made| made.max(1.0) as u32);
    let is_short = |(target, made): &(usize, u32)| starts[*target].s > 0.0 && *made < FEWEST_STARTS as u32;
    made.enumerate().filter(is_short).collect()
}

/// Says that a budget has room for fewer starts of an environment than a verdict needs.
pub fn describe_few_starts(name: &str, starts: u32) -> String {
    let starts = if starts == 1 { "1 start".to_owned() } else { format!("{starts} starts") };
    format!(
        "{name}: the budget has room for {starts}, and a verdict needs {FEWEST_STARTS}; a longer --budget gives it more"
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    fn starts(made: u32, seconds: &[f64]) -> Vec<Start> {
        seconds.iter().map(|s| Start { made, s: *s }).collect()
    }

    fn near(values: Vec<f64>, expected: &[f64]) {
        assert_eq!(values.len(), expected.len());
        for (value, expected) in values.iter().zip(expected) {
            assert!((value / expected - 1.0).abs() < 0.01, "{values:?}");
        }
    }

    fn seconds_a_start(starts: &[Start], left_s: Option<f64>, cells: usize) -> Vec<f64> {
        super::seconds_a_start(starts, left_s, cells).iter().map(|share| share.least_s).collect()
    }

    #[test]
    fn a_start_waits_for_cases_as_long_as_it_is_worth() {
        let [quick, slow] = super::seconds_a_start(&starts(3, &[0.01, 4.0]), Some(60.0), 16)[..] else {
            panic!()
        };
        assert_eq!((quick.least_s, slow.least_s), (0.0, 0.0), "both come first");
        near(vec![quick.most_s, slow.most_s], &[0.84, 16.8]);
    }

    #[test]
    fn the_starts_that_a_verdict_needs_come_first_and_later_ones_take_a_third_of_the_time() {
        near(seconds_a_start(&starts(20, &[0.01, 0.04]), Some(60.0), 16), &[0.06, 0.12]);
        near(seconds_a_start(&starts(20, &[0.01, 0.04]), None, 16), &[0.06, 0.12]);
        assert_eq!(seconds_a_start(&starts(3, &[0.01, 0.04]), Some(60.0), 16), [0.0, 0.0]);
        assert_eq!(
            seconds_a_start(&starts(3, &[0.01, 9.0]), Some(60.0), 16)[0],
            0.0,
            "one without room takes none away"
        );
    }

    #[test]
    fn slow_starts_have_up_to_half_of_a_time_that_is_short() {
        near(seconds_a_start(&starts(8, &[4.0]), Some(10.0), 16), &[4.0]);
        near(seconds_a_start(&starts(20, &[4.0]), Some(1_000.0), 16), &[8.0]);
        near(seconds_a_start(&starts(8, &[0.01, 4.0]), Some(30.0), 16)[1..].to_vec(), &[6.0]);
    }

    #[test]
    fn rounds_have_the_time_that_starts_leave() {
        assert!((rounds_with_starts(&starts(0, &[0.01]), 1.0, 100.0) - 66.7).abs() < 1.0);
        assert!((rounds_with_starts(&starts(0, &[5.0]), 1.0, 10.0) - 5.0).abs() < 0.1);
        assert_eq!(rounds_with_starts(&[], 1.0, 100.0), 100.0);
    }

    #[test]
    fn environments_without_room_for_eight_starts_are_named() {
        assert_eq!(short_of_starts(&starts(0, &[0.001, 9.0]), 70.0), [(1, 3)]);
        assert_eq!(short_of_starts(&starts(0, &[0.001, 3.0]), 70.0), []);
        assert_eq!(short_of_starts(&starts(0, &[0.001, 0.0]), 70.0), [], "one that cannot be entered");
    }
}
