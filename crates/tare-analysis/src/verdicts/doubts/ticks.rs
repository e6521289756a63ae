//! Ticks: clocks that move in steps which a batch is not long against.

use tare_data::batch::{Phase, Timed};
use tare_data::facts::keys::CLOCK_STEP_NS;
use tare_data::metric::Metric;
use tare_data::session::{TargetFacts, Trial};
use tare_data::warning::Warning;

use crate::statistics::signed_ranks::{compute_median, sort_values};
use crate::verdicts::summary::reads_single_operations;

/// Steps below this are what two reads of a clock take.
const FINE_NS: u64 = 100;
/// Batches of a clock that ticks last whole steps, to within this share of one...
const NEAR: f64 = 0.1;
/// ...in this share of them. Of other batches, a fifth do.
const MOST: f64 = 0.9;
/// Fewest batches that show it.
const FEWEST: usize = 8;

/// A clock whose ticks show in batches.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Ticks {
    pub step_ns: u64,
    /// A step by what is timed: the relative error of a value is below it.
    pub share: f64,
}

impl Ticks {
    pub fn warn(self) -> Warning {
        Warning::CoarseClock { step_ns: self.step_ns }
    }
}

/// Finds the ticks of an environment's clock in its batches of a metric.
///
/// The smallest step that was seen between two reads may be what a read takes. Only where batches last whole steps are these the
/// clock's.
pub(crate) fn find_ticks(trials: &[&Trial], metric: &Metric, facts: Option<&TargetFacts>) -> Option<Ticks> {
    let step_ns = facts?.inside.get_integer(CLOCK_STEP_NS).filter(|step| *step >= FINE_NS)?;
    let step = step_ns as f64;
    let batches = trials.iter().flat_map(|trial| trial.batches.iter_series(&metric.series));
    let warm: Vec<_> = batches.filter(|batch| batch.phase == Phase::Warm).collect();
    let timed = || warm.iter().flat_map(|batch| batch.sample.iter_timed());
    let elapsed: Vec<f64> = timed().map(|timed| timed.elapsed_ns as f64).collect();
    let is_whole = |ns: &&f64| (**ns / step - (**ns / step).round()).abs() <= NEAR;
    let whole = elapsed.iter().filter(is_whole).count();
    if elapsed.len() < FEWEST || (whole as f64) < MOST * elapsed.len() as f64 {
        return None;
    }
    let each = |timed: Timed| timed.elapsed_ns as f64 / timed.operations.max(1) as f64;
    let lengths = if reads_single_operations(metric.reading) { timed().map(each).collect() } else { elapsed };
    let typical = compute_median(&sort_values(&lengths));
    (typical > 0.0).then(|| Ticks { step_ns, share: step / typical })
}
