//! Planting: in which case a hidden copy of the baseline is slower on purpose, and for how many rounds.
//!
//! The session reports whether it found that cost, as it would report one of the same size elsewhere. It costs a few
//! percent of the time, or there is none.

use tare_analysis::verdicts::stopping::rounds_before_look;
use tare_data::generator::Generator;

/// By how much the copy works longer.
pub const PLANTED: &str = "5%";
/// Planted cost as a factor.
const FACTOR: f64 = 1.05;
/// Share of the time that the copy may take, with the baseline's trials where nothing else needs them any more.
const MOST_TIME: f64 = 0.05;
/// The case is drawn among those whose trials take at most this many times the cheapest one's: were it the quietest of
/// all, it would say little of the others.
const CHEAP: f64 = 1.5;
/// Fewest rounds that are worth it: those of the second look.
const FEWEST: u32 = rounds_before_look(1);
/// Limit on the rounds where nothing limits the session's time.
const MOST: u32 = rounds_before_look(8);

/// Room of a session for it.
pub struct Room {
    /// Time of a trial in the baseline, for each case; None where nothing can be planted.
    pub trials_s: Vec<Option<f64>>,
    /// Time of a start of the baseline.
    pub start_s: f64,
    /// Time of all trials of a round.
    pub round_s: f64,
    /// Number of rounds, where that is fixed.
    pub rounds: Option<u32>,
    /// Time of the session, where that is limited.
    pub left_s: Option<f64>,
}

impl Room {
    /// Chooses the case and the number of rounds; None where there is no room.
    pub fn choose_planting(&self, seed: u64) -> Option<(usize, u32)> {
        let known: Vec<(usize, f64)> =
            self.trials_s.iter().enumerate().filter_map(|(case, s)| Some((case, (*s)?))).collect();
        let cheapest = known.iter().map(|(_, s)| *s).reduce(f64::min)?;
        let cheap: Vec<(usize, f64)> = known.into_iter().filter(|(_, s)| *s <= CHEAP * cheapest).collect();
        let drawn = Generator::for_part(seed, "planted").draw_below(cheap.len() as u64);
        let (case, trial_s) = *cheap.get(drawn as usize)?;
        let rounds = match (self.rounds, self.left_s) {
            (Some(rounds), _) => {
                let is_cheap = trial_s + self.start_s <= MOST_TIME * self.round_s;
                if is_cheap { rounds } else { 0 }
            }
            (None, Some(left_s)) => (left_s * MOST_TIME / (2.0 * (trial_s + self.start_s)).max(1e-6)) as u32,
            (None, None) => MOST,
        };
        (rounds >= FEWEST).then_some((case, rounds))
    }

    /// Estimates the time of a trial of the copy.
    pub fn trial_ns(&self, case: usize) -> f64 {
        self.trials_s[case].unwrap_or(0.0) * FACTOR * 1e9
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn room(rounds: Option<u32>, left_s: Option<f64>) -> Room {
        let trials_s = vec![None, Some(0.02), Some(0.1), Some(0.025), Some(0.02)];
        Room { trials_s, start_s: 0.005, round_s: 1.0, rounds, left_s }
    }

    #[test]
    fn a_cheap_case_is_drawn_by_the_seed() {
        let mut drawn = [0; 5];
        for seed in 0..300 {
            drawn[room(None, Some(60.0)).choose_planting(seed).unwrap().0] += 1;
        }
        assert_eq!((drawn[0], drawn[2]), (0, 0));
        assert!([1, 3, 4].iter().all(|case| (70..130).contains(&drawn[*case])), "{drawn:?}");
    }

    #[test]
    fn it_takes_a_twentieth_of_the_time_or_there_is_none() {
        let (case, rounds) = room(None, Some(60.0)).choose_planting(1).unwrap();
        let trial_s = room(None, None).trials_s[case].unwrap();
        assert_eq!(rounds, (3.0 / (2.0 * (trial_s + 0.005))) as u32);
        assert_eq!(room(None, Some(10.0)).choose_planting(1), None);
        assert_eq!(Room { start_s: 3.0, ..room(None, Some(180.0)) }.choose_planting(1), None, "a slow start");
        assert_eq!(Room { trials_s: vec![None], ..room(None, Some(600.0)) }.choose_planting(1), None);
        assert_eq!(room(Some(40), None).choose_planting(1).unwrap().1, 40);
        assert_eq!(
            Room { round_s: 0.1, ..room(Some(40), None) }.choose_planting(1),
            None,
            "it would be a third of the work"
        );
        assert_eq!(room(Some(12), None).choose_planting(1), None);
        assert_eq!(room(None, None).choose_planting(1).unwrap().1, 345);
    }
}
