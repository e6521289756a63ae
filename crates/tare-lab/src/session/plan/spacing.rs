//! Spacing: in one of how many rounds an environment takes part whose rounds take long.

use tare_analysis::verdicts::stopping::rounds_before_look;
use tare_data::session::MOST_REST;

use crate::session::plan::starts::SHORTEST_ROUND_S;

/// Time of a round in seconds, starts included.
#[derive(Clone, Debug)]
pub struct RoundTimes<'a> {
    pub baseline_s: f64,
    /// Time of each environment that is compared with it.
    pub subjects_s: &'a [f64],
    pub left_s: f64,
}

impl RoundTimes<'_> {
    /// Computes for each environment in one of how many rounds it takes part.
    ///
    /// Environments share the time by the roots of their rounds' times, by which the sum of their variances
    /// is least: where every round waited for the slowest, all others would have as few rounds as it. None
    /// has fewer than the first look needs, where there is time for these.
    pub fn compute_spacing(&self) -> Vec<u32> {
        let quickest_s = self.subjects_s.iter().copied().fold(f64::INFINITY, f64::min);
        let quickest_s = (self.baseline_s + quickest_s).max(SHORTEST_ROUND_S);
        let root = |round_s: &f64| (round_s / quickest_s).sqrt().clamp(1.0, f64::from(MOST_REST)) as u32;
        let mut spacing: Vec<u32> = self.subjects_s.iter().map(root).collect();
        loop {
            let widest = (self.rounds(&spacing) / f64::from(rounds_before_look(0))).max(1.0) as u32;
            let Some(every) = spacing.iter_mut().max().filter(|every| **every > widest) else {
                return spacing;
            };
            *every -= 1;
        }
    }

    /// Estimates the rounds that there is time for.
    fn rounds(&self, spacing: &[u32]) -> f64 {
        let subjects_s = self.subjects_s.iter().zip(spacing).map(|(s, every)| s / f64::from(*every));
        self.left_s / (self.baseline_s + subjects_s.sum::<f64>()).max(SHORTEST_ROUND_S)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn spacing(left_s: f64, subjects_s: &[f64]) -> Vec<u32> {
        RoundTimes { baseline_s: 0.25, subjects_s, left_s }.compute_spacing()
    }

    #[test]
    fn what_takes_much_longer_than_the_quickest_takes_part_less_often() {
        assert_eq!(
            spacing(176.0, &[0.25, 0.95, 5.8]),
            [1, 1, 3],
            "a container, gVisor and an emulated guest"
        );
        assert_eq!(spacing(1000.0, &[0.25, 0.25, 2.5]), [1, 1, 2]);
        assert_eq!(spacing(1e6, &[0.25, 1e3]), [1, MOST_REST]);
    }

    #[test]
    fn what_takes_about_as_long_takes_part_in_every_round() {
        assert_eq!(spacing(176.0, &[0.25, 0.4, 1.0]), [1, 1, 1]);
        assert_eq!(spacing(176.0, &[5.8]), [1]);
        assert_eq!(spacing(176.0, &[0.0, 0.0]), [1, 1]);
        assert!(spacing(176.0, &[]).is_empty());
    }

    #[test]
    fn each_has_the_rounds_of_the_first_look_where_there_is_time_for_them() {
        assert_eq!(spacing(60.0, &[0.25, 0.95, 5.8]), [1, 1, 1]);
        assert_eq!(spacing(110.0, &[0.25, 0.95, 5.8]), [1, 1, 2]);
    }
}
