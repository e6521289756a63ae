//! What the mean cost says beside the typical one.

use tare_data::warning::Warning;

use crate::findings::Total;
use crate::statistics::ratio_of_means::RatioOfMeans;
use crate::verdicts::judge::{FEWEST_FOR_SAME, Judgement, is_within, total_edge};
use crate::verdicts::pairs::Pairs;

/// A round stalls where it is this many deviations slower than the median of the others.
const STALL_DEVIATIONS: f64 = 6.0;

pub(crate) fn ratio(total: RatioOfMeans) -> Total {
    Total {
        ratio: libm::exp(total.estimate),
        low: libm::exp(total.interval.low),
        high: libm::exp(total.interval.high),
    }
}

/// Why a cell that is typically the same is not the same: rounds that stall where such show, or else the mean cost.
pub(crate) fn warning(pairs: &Pairs, judgement: &Judgement, total: RatioOfMeans) -> Option<Warning> {
    if !is_within(judgement.typical) {
        return None;
    }
    stalls(pairs, judgement, total).or_else(|| {
        let Total { ratio, low, high } = ratio(total);
        let is_open = !is_within(judgement.verdict) && pairs.pairs.len() >= FEWEST_FOR_SAME;
        is_open.then_some(Warning::MeanCost { ratio, low, high })
    })
}

/// Rounds that took much longer than the others, where the cost is not the same in total.
fn stalls(pairs: &Pairs, judgement: &Judgement, total: RatioOfMeans) -> Option<Warning> {
    let edge = total_edge(judgement.margin);
    if total.estimate <= edge {
        return None;
    }
    let far = edge.max(STALL_DEVIATIONS * judgement.deviation);
    let off = pairs.pairs.iter().map(|pair| pair.d - judgement.median);
    let stalls: Vec<f64> = off.filter(|off| *off > far).map(libm::exp).collect();
    let mean = stalls.iter().sum::<f64>() / stalls.len() as f64;
    let one_in = (pairs.pairs.len() as f64 / stalls.len() as f64).round() as u32;
    (!stalls.is_empty()).then_some(Warning::Stalls { one_in, factor: mean })
}
