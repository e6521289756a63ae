//! The comparison of a cell: its judgement in the units of people, with the doubts that its rounds raise.

use tare_data::warning::Warning;

use crate::findings::{Comparison, Interval, Level};
use crate::statistics::signed_ranks::{compute_median, sort_values};
use crate::verdicts::judge::Judgement;
use crate::verdicts::pairs::common_rounds;
use crate::verdicts::summary::Series;

/// Makes the comparison of a cell from its judgement and its series, without what needs its pairs.
pub(crate) fn make_comparison(
    level: Level,
    judgement: &Judgement,
    baseline: &Series,
    target: &Series,
) -> Comparison {
    let mut warnings = Vec::new();
    if judgement.skewed {
        let Judgement { hodges_lehmann, median, .. } = *judgement;
        warnings.push(Warning::SkewedTail { hodges_lehmann, median });
    }
    if judgement.groups.len() > 1 {
        warnings.push(Warning::Modal { groups: judgement.groups.clone() });
    }
    if judgement.has_blocks() {
        // Not those in which the environment rested.
        let rounds = (target.values.len() as f64 / judgement.units as f64).round() as u32;
        warnings.push(Warning::RoundsAlike {
            rounds,
            blocks: judgement.units as u32,
            state_s: judgement.state_s(),
        });
    }
    if target.failed > 0 {
        warnings.push(Warning::TrialsFailed { failed: target.failed, of: target.trials });
    }
    Comparison {
        level,
        rounds: 0,
        ratio: libm::exp(judgement.estimate),
        interval: Interval::from_logarithms(judgement.interval),
        interval_alone: Interval::from_logarithms(judgement.interval),
        total: None,
        signs: Interval::from_logarithms(judgement.signs),
        leading: judgement.leading,
        p: judgement.p,
        margin: libm::exp(judgement.margin.planned),
        verdict: judgement.verdict,
        decided_at: judgement.decided_at,
        needed: judgement.needed,
        smallest: None,
        difference: difference(baseline, target),
        starts: judgement.starts,
        warnings,
    }
}

/// Computes the median over paired rounds of environment minus baseline, in the metric's unit.
fn difference(baseline: &Series, target: &Series) -> f64 {
    let minus = common_rounds(baseline, target).map(|(baseline, target)| target.value - baseline.value);
    compute_median(&sort_values(&minus.collect::<Vec<_>>()))
}
