//! The ratio tare/tool over rounds, with the interval that a session would give it, and the requirement on it.

use tare_analysis::findings::sameness::MARGIN;
use tare_analysis::statistics::signed_ranks::{Nulls, compute_median, sort_values};
use tare_analysis::verdicts::judge::judge_pairs;
use tare_analysis::verdicts::pairs::{Pair, Pairs};
use tare_analysis::verdicts::stopping::Schedule;
use tare_analysis::verdicts::verdict::Margin;

/// Requirement on a ratio tare/tool.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Requirement {
    /// tare reaches this share of the tool's figure.
    AtLeast(f64),
    /// The ratio is 1 to within this share.
    Within(f64),
    /// Only shown.
    Shown,
}

/// Result of a requirement.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Holds {
    /// The whole interval is within.
    Yes,
    /// The interval is partly within and partly outside.
    Reached,
    /// The whole interval is outside.
    No,
    /// Nothing is required.
    NotRequired,
}

/// A ratio tare/tool over rounds.
#[derive(Clone, Debug, PartialEq)]
pub struct Ratio {
    pub tare: f64,
    pub tool: f64,
    pub estimate: f64,
    pub low: f64,
    pub high: f64,
    pub rounds: usize,
}

impl Ratio {
    /// Compares rounds of (tare, tool) by the engine of a session with one look; none without a round that counts.
    pub fn from_rounds(rounds: &[(f64, f64)]) -> Option<Ratio> {
        let counts = |(tare, tool): &&(f64, f64)| *tare > 0.0 && *tool > 0.0;
        if rounds.is_empty() || !rounds.iter().all(|round| counts(&round)) {
            return None;
        }
        let pair = |(at, (tare, tool)): (usize, &(f64, f64))| {
            // Each run of either side is a new process: every round is a start.
            let round = at as u32;
            Pair::from_difference(round, libm::log(*tare) - libm::log(*tool))
        };
        let reached = rounds.len() as u32;
        let pairs = Pairs { pairs: rounds.iter().enumerate().map(pair).collect(), reached, resolution: 0.0 };
        let schedule = Schedule::new(&[reached], reached);
        let judged = judge_pairs(&pairs, &schedule, Margin::from_planned(MARGIN), &mut Nulls::default())?;
        let middle = |side: fn(&(f64, f64)) -> f64| {
            compute_median(&sort_values(&rounds.iter().map(side).collect::<Vec<_>>()))
        };
        Some(Ratio {
            tare: middle(|round| round.0),
            tool: middle(|round| round.1),
            estimate: libm::exp(judged.estimate),
            low: libm::exp(judged.interval.low),
            high: libm::exp(judged.interval.high),
            rounds: rounds.len(),
        })
    }

    /// Checks a requirement.
    pub fn check_requirement(&self, requirement: Requirement) -> Holds {
        let (from, to) = match requirement {
            Requirement::AtLeast(least) => (least, f64::INFINITY),
            Requirement::Within(share) => (1.0 - share, 1.0 + share),
            Requirement::Shown => return Holds::NotRequired,
        };
        match (self.low, self.high) {
            (low, high) if low >= from && high <= to => Holds::Yes,
            (low, high) if high >= from && low <= to => Holds::Reached,
            _ => Holds::No,
        }
    }

    /// Formats `1.003 [0.998, 1.009]`; too few rounds leave the interval open.
    pub fn to_text(&self) -> String {
        if self.low > 0.0 && self.high.is_finite() {
            format!("{:.3} [{:.3}, {:.3}]", self.estimate, self.low, self.high)
        } else {
            format!("{:.3}, no interval", self.estimate)
        }
    }
}

impl Requirement {
    pub fn to_text(self) -> String {
        match self {
            Requirement::AtLeast(least) => format!("at least {least:.2}"),
            Requirement::Within(share) if share < 0.01 => format!("1 within {:.1} %", share * 100.0),
            Requirement::Within(share) => format!("1 within {:.0} %", share * 100.0),
            Requirement::Shown => "-".into(),
        }
    }
}

impl Holds {
    pub fn to_text(self) -> &'static str {
        match self {
            Holds::Yes => "yes",
            Holds::Reached => "reached",
            Holds::No => "**no**",
            Holds::NotRequired => "-",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ratio(low: f64, high: f64) -> Ratio {
        Ratio { tare: 1.0, tool: 1.0, estimate: (low + high) / 2.0, low, high, rounds: 12 }
    }

    #[test]
    fn a_constant_ratio_is_found_whatever_drifts() {
        let rounds: Vec<(f64, f64)> = (1..=12).map(|i| (2.0 * f64::from(i), f64::from(i))).collect();
        let found = Ratio::from_rounds(&rounds).unwrap();
        assert!((found.estimate - 2.0).abs() < 1e-12 && (found.high / found.low - 1.0).abs() < 1e-12);
        assert_eq!((found.tare, found.tool, found.rounds), (13.0, 6.5, 12));
        assert_eq!(Ratio::from_rounds(&[]), None);
        assert_eq!(Ratio::from_rounds(&[(1.0, 1.0), (0.0, 1.0)]), None);
    }

    #[test]
    fn three_rounds_have_no_interval_and_decide_nothing() {
        let few = Ratio::from_rounds(&[(1.0, 2.0); 3]).unwrap();
        assert_eq!(few.check_requirement(Requirement::AtLeast(0.98)), Holds::Reached);
        assert_eq!(few.to_text(), "0.500, no interval");
    }

    #[test]
    fn at_least_holds_when_the_interval_reaches_it() {
        let required = Requirement::AtLeast(0.98);
        assert_eq!(ratio(0.99, 1.4).check_requirement(required), Holds::Yes);
        assert_eq!(ratio(0.95, 0.985).check_requirement(required), Holds::Reached);
        assert_eq!(ratio(0.95, 0.979).check_requirement(required), Holds::No);
    }

    #[test]
    fn within_holds_on_both_sides() {
        let required = Requirement::Within(0.03);
        assert_eq!(ratio(0.98, 1.02).check_requirement(required), Holds::Yes);
        assert_eq!(ratio(0.98, 1.04).check_requirement(required), Holds::Reached);
        assert_eq!(ratio(1.04, 1.05).check_requirement(required), Holds::No);
        assert_eq!(ratio(1.04, 1.05).check_requirement(Requirement::Shown), Holds::NotRequired);
    }
}
