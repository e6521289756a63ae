//! Both sides of a comparison: sessions whose spread is measured, or one of each.

use crate::change::costs::{Cost, Factor, Value};
use crate::findings::Interval;
use crate::statistics::level::ALPHA;
use crate::statistics::student;

/// Compares the costs of a cell in the records of both sides; none where a side has none. `spread` is that between sessions, for one
/// a side.
pub(super) fn compare_costs(old: &[Cost], new: &[Cost], spread: f64) -> Option<(Cost, Cost, Option<Factor>)> {
    let (first_old, first_new) = (old.first()?, new.first()?);
    if let ([old], [new]) = (old, new) {
        return Some((*old, *new, Factor::from_costs(old, new, spread)));
    }
    let values = [old, new].map(|costs| costs.iter().map(Cost::value).collect::<Option<Vec<Value>>>());
    let [Some(of_old), Some(of_new)] = values else { return Some((*first_old, *first_new, None)) };
    let known = Known::from_sides(&of_old, &of_new);
    let (old, new) = (known.join(&of_old, old), known.join(&of_new, new));
    Some((old, new, Some(known.divide(&of_old, &of_new))))
}

fn mean(values: &[Value]) -> f64 {
    values.iter().map(|value| value.ln).sum::<f64>() / values.len() as f64
}

/// The spread between sessions as several of them show it, that of both sides taken as one.
struct Known {
    variance: f64,
    degrees: u32,
}

impl Known {
    /// Measures the spread: at least what the sessions themselves state as their errors, which few of them may miss by chance.
    fn from_sides(old: &[Value], new: &[Value]) -> Known {
        let squares = |values: &[Value]| {
            let mean = mean(values);
            values.iter().map(|value| (value.ln - mean).powi(2)).sum::<f64>()
        };
        let sessions = old.len() + new.len();
        let degrees = sessions as u32 - 2;
        let stated = old.iter().chain(new).map(|value| value.error.powi(2)).sum::<f64>() / sessions as f64;
        let measured = (squares(old) + squares(new)) / f64::from(degrees);
        Known { variance: measured.max(stated), degrees }
    }

    /// Computes the half width of a mean whose variance is this many times that of a session.
    fn half_width(&self, times: f64) -> f64 {
        student::find_two_sided_quantile(1.0 - ALPHA, self.degrees) * (self.variance * times).sqrt()
    }

    /// Joins the costs of one side.
    fn join(&self, values: &[Value], costs: &[Cost]) -> Cost {
        let (mean, half) = (mean(values), self.half_width(1.0 / values.len() as f64));
        let rounds = costs.iter().map(|cost| cost.rounds).sum();
        let [ratio, low, high] = [mean, mean - half, mean + half].map(libm::exp);
        Cost { ratio, interval: Interval::new(low, high), rounds, answer: None }
    }

    fn divide(&self, old: &[Value], new: &[Value]) -> Factor {
        let change = mean(new) - mean(old);
        let half = self.half_width(1.0 / old.len() as f64 + 1.0 / new.len() as f64);
        let [ratio, low, high] = [change, change - half, change + half].map(libm::exp);
        Factor { ratio, interval: Interval::new(low, high), degrees: Some(self.degrees) }
    }
}
