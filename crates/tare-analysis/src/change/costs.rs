//! Costs of a layer in two sessions, and the factor between them.

use serde::Serialize;

use crate::findings::{Answer, Interval};
use crate::statistics::level::ALPHA;
use crate::statistics::normal::{Z_975, upper_tail};
use crate::statistics::{signed_ranks, student};

/// A layer's cost on one side.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Cost {
    pub ratio: f64,
    #[serde(flatten)]
    pub interval: Interval,
    pub rounds: u32,
    /// The answer of the record's cell; none where several records are joined.
    pub answer: Option<Answer>,
}

/// A session's value: the logarithm of its ratio, and the standard error that the session states.
#[derive(Clone, Copy, Debug)]
pub struct Value {
    pub ln: f64,
    pub error: f64,
}

impl Cost {
    /// Reads the value of a cost; none where it has no interval.
    pub(crate) fn value(&self) -> Option<Value> {
        let signed_ranks::Interval { low, high } = self.interval.logarithms();
        let is_known = low.is_finite() && high.is_finite() && self.ratio > 0.0;
        is_known.then(|| Value { ln: libm::log(self.ratio), error: (high - low) / (2.0 * Z_975) })
    }
}

/// The new slowdown over the old one, with its 95 % interval.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Factor {
    pub ratio: f64,
    #[serde(flatten)]
    pub interval: Interval,
    /// Degrees of freedom of the spread between sessions; none where it is not measured.
    #[serde(skip)]
    pub degrees: Option<u32>,
}

impl Factor {
    /// Divides the costs of two sessions that differ by chance by a `spread`, a standard deviation of logarithms; None where one has
    /// no interval.
    pub fn from_costs(old: &Cost, new: &Cost, spread: f64) -> Option<Factor> {
        let is_interval = |cost: &Cost| cost.interval.is_bounded() && cost.interval.contains(cost.ratio);
        if !is_interval(old) || !is_interval(new) {
            return None;
        }
        let change = libm::log(new.ratio / old.ratio);
        let between = Z_975 * std::f64::consts::SQRT_2 * spread;
        let join = |one: f64, other: f64| libm::hypot(libm::hypot(libm::log(one), libm::log(other)), between);
        let [[old_low, old_high], [new_low, new_high]] = [old, new].map(|cost| cost.interval.bounds());
        let below = join(new.ratio / new_low, old_high / old.ratio);
        let above = join(new_high / new.ratio, old.ratio / old_low);
        Some(Factor {
            ratio: libm::exp(change),
            interval: Interval::new(libm::exp(change - below), libm::exp(change + above)),
            degrees: None,
        })
    }

    /// Computes the two-sided p of "the slowdown has changed by no more than this", which is the logarithm of
    /// a ratio.
    pub(super) fn p_beyond(&self, edge: f64) -> f64 {
        let change = libm::log(self.ratio);
        let [low, high] = self.interval.bounds();
        let side = if change > 0.0 { self.ratio / low } else { high / self.ratio };
        let beyond = change.abs() - edge;
        let half = libm::log(side).max(f64::MIN_POSITIVE);
        match self.degrees {
            None => (2.0 * upper_tail(beyond * Z_975 / half)).min(1.0),
            Some(_) if beyond <= 0.0 => 1.0,
            Some(degrees) => {
                let t = beyond * student::find_two_sided_quantile(1.0 - ALPHA, degrees) / half;
                1.0 - student::compute_two_sided_chance(t, degrees)
            }
        }
    }
}
