//! The correction for many cells: which directions a session bears out, and the intervals that it shows of them.
//!
//! Headline cells of subjects are one family, their further metrics another. In each, a direction is a verdict only
//! where Benjamini and Hochberg's procedure keeps it; any other is unconfirmed. Because directions were chosen among m cells by what
//! they show, their own intervals miss the truth too often. Of R that are kept, each has its interval at level 1 - 0.05 R / m, so that
//! at most 5 % of these are expected to miss it (Benjamini and Yekutieli 2005). One that is not kept has the interval of the level at
//! which it would have been the next: it reaches "no effect".

use tare_data::session::{Plan, Role};

use crate::findings::{self, Comparison, Needed, Verdict};
use crate::statistics::level::ALPHA;
use crate::statistics::multiplicity::{FALSE_SHARE, benjamini_hochberg, select_by_holm};
use crate::statistics::signed_ranks::{Interval, Nulls};
use crate::verdicts::judge::Judgement;
use crate::verdicts::rows::{Judged, JudgedRow, Options};
use crate::verdicts::verdict::units_that_can;

/// Leaves the directions of subjects that their family bears out, and makes the others unconfirmed.
pub(crate) fn confirm_directions(rows: &mut [JudgedRow], plan: &Plan, options: &Options) {
    let mut nulls = Nulls::default();
    for headline in [true, false] {
        let mut family: Vec<(&mut Comparison, &Judgement)> = Vec::new();
        for row in rows.iter_mut().filter(|row| (row.metric == 0) == headline) {
            for (target, judged) in row.targets.iter_mut().enumerate() {
                if let (Role::Subject, Some(Judged { cell, judgement: Some(judgement), .. })) =
                    (plan.targets.role(target), judged)
                {
                    family.extend(cell.compared_mut().map(|comparison| (comparison, &*judgement)));
                }
            }
        }
        let p: Vec<f64> = family.iter().map(|(_, judgement)| judgement.p).collect();
        let kept =
            if options.strict { select_by_holm(&p, ALPHA) } else { benjamini_hochberg(&p, FALSE_SHARE) };
        let cells = p.len().max(1) as f64;
        let all_kept = kept.iter().filter(|kept| **kept).count();
        for ((comparison, judgement), kept) in family.into_iter().zip(kept) {
            let of_all = if options.strict { 1 } else { all_kept + usize::from(!kept) };
            settle(comparison, judgement, (kept, of_all as f64 / cells), FALSE_SHARE / cells, &mut nulls);
        }
    }
}

/// Gives a cell its interval among all, at a share of the level, and the verdict that this leaves.
fn settle(
    comparison: &mut Comparison,
    judged: &Judgement,
    (kept, share): (bool, f64),
    safe_p: f64,
    nulls: &mut Nulls,
) {
    if judged.verdict.trend().is_none() {
        if let Verdict::SlowerInFewStarts | Verdict::FasterInFewStarts = judged.verdict {
            comparison.needed = Some(needed_to_pass(judged, 0.0, safe_p));
        }
        return;
    }
    if !judged.verdict.is_within_margin() {
        let interval = judged.interval_at(share, nulls);
        let shown = if kept { interval } else { interval.hull(Interval { low: 0.0, high: 0.0 }) };
        comparison.interval = findings::Interval::from_logarithms(shown);
        comparison.verdict = judged.weaken(shown);
    }
    let is_kept = kept && comparison.verdict.trend().is_some();
    if !is_kept {
        comparison.verdict = judged.verdict.to_unconfirmed();
    }
    if !comparison.verdict.is_settled() && (!is_kept || judged.verdict.is_settled()) {
        let edge = if is_kept { judged.margin.difference_edge() } else { 0.0 };
        comparison.decided_at = None;
        comparison.needed = Some(needed_to_pass(judged, edge, safe_p));
    }
}

/// Estimates the rounds or starts that would show a direction beyond an edge, whatever the other cells show.
fn needed_to_pass(judged: &Judgement, edge: f64, safe_p: f64) -> Needed {
    if !judged.is_out_of_reach() {
        return judged.convert_units(judged.scatter().units_to_pass(safe_p, edge));
    }
    // The looks taken make p larger than a single look would, by this factor.
    let spent = Some(judged.least_p).filter(|p| *p < 1.0);
    let looks = spent.map_or(1.0, |p| (p * 2f64.powi(judged.units as i32 - 1)).max(1.0));
    judged
        .convert_units(Some(units_that_can(safe_p / looks).max(judged.fewest_units()).max(judged.units + 1)))
}
