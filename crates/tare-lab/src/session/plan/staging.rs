//! Staging: which environments a budget leaves out, so that the others are decided.

use tare_analysis::verdicts::judge::FEWEST_STARTS;
use tare_analysis::verdicts::stopping::rounds_before_look;

/// Time that an environment needs until its first look, in seconds.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Floor {
    pub target: usize,
    pub s: f64,
}

impl Floor {
    /// Estimates the floor of an environment from the times of its trials in a round of all cases, and of a start.
    pub fn from_round(target: usize, round_s: f64, start_s: f64) -> Floor {
        Floor { target, s: f64::from(rounds_before_look(0)) * round_s + FEWEST_STARTS as f64 * start_s }
    }
}

/// Chooses the environments that are left out, each with the seconds that it lacks: of those in this order the first stays, and
/// each other one for which those that stay leave time.
pub fn choose_left_out(floors: &[Floor], left_s: f64) -> Vec<Floor> {
    let (mut spent_s, mut left_out) = (0.0, Vec::new());
    for (at, floor) in floors.iter().enumerate() {
        let lacking_s = spent_s + floor.s - left_s;
        if at == 0 || lacking_s <= 0.0 {
            spent_s += floor.s;
        } else {
            left_out.push(Floor { s: lacking_s, ..*floor });
        }
    }
    left_out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_budget_has_no_time_for_is_left_out_and_what_comes_first_stays() {
        let floor = |(target, s): (usize, f64)| Floor { target, s };
        let left_out = |floors: &[(usize, f64)], left_s: f64| -> Vec<(usize, f64)> {
            let floors: Vec<Floor> = floors.iter().copied().map(floor).collect();
            choose_left_out(&floors, left_s).iter().map(|floor| (floor.target, floor.s)).collect()
        };
        assert_eq!(left_out(&[(2, 10.0), (3, 20.0)], 30.0), []);
        assert_eq!(left_out(&[(2, 10.0), (3, 90.0), (4, 15.0)], 30.0), [(3, 70.0)]);
        assert_eq!(left_out(&[(2, 100.0), (3, 1.0)], 30.0), [(3, 71.0)]);
    }

    #[test]
    fn a_floor_is_the_first_look_and_the_starts_of_a_verdict() {
        assert_eq!(Floor::from_round(1, 0.5, 2.0).s, 22.0);
    }
}
