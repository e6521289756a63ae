//! The correction for many cells: which directions a session bears out.
//!
//! Headline cells of subjects are one family, their further metrics another. In each, a direction is a verdict only
//! where Benjamini and Hochberg's procedure keeps it; any other is unconfirmed.

use tare_data::session::{Plan, Role};

use crate::findings::{Comparison, Needed, Verdict};
use crate::statistics::level::ALPHA;
use crate::statistics::multiplicity::{FALSE_SHARE, benjamini_hochberg, select_by_holm};
use crate::verdicts::judge::Judgement;
use crate::verdicts::rows::{Judged, JudgedRow, Options};
use crate::verdicts::verdict::units_that_can;

/// Leaves the directions of subjects that their family bears out, and makes the others unconfirmed.
pub(crate) fn confirm_directions(rows: &mut [JudgedRow], plan: &Plan, options: &Options) {
    for headline in [true, false] {
        let mut family: Vec<(&mut Comparison, &Judgement)> = Vec::new();
        for row in rows.iter_mut().filter(|row| (row.metric == 0) == headline) {
            for (target, judged) in plan.targets.iter().zip(&mut row.targets) {
                if let (Role::Subject, Some(Judged { cell, judgement: Some(judgement), .. })) =
                    (target.role, judged)
                {
                    family.extend(cell.compared_mut().map(|comparison| (comparison, &*judgement)));
                }
            }
        }
        let p: Vec<f64> = family.iter().map(|(_, judgement)| judgement.p).collect();
        let kept =
            if options.strict { select_by_holm(&p, ALPHA) } else { benjamini_hochberg(&p, FALSE_SHARE) };
        let safe_p = FALSE_SHARE / p.len().max(1) as f64;
        for ((comparison, judgement), kept) in family.into_iter().zip(kept) {
            settle(comparison, judgement, kept, safe_p);
        }
    }
}

fn settle(comparison: &mut Comparison, judged: &Judgement, kept: bool, safe_p: f64) {
    if !kept && judged.verdict.side().is_some() {
        comparison.verdict = judged.verdict.to_unconfirmed();
    }
    match comparison.verdict {
        Verdict::SlowerUnconfirmed
        | Verdict::FasterUnconfirmed
        | Verdict::SlowerInFewStarts
        | Verdict::FasterInFewStarts => {
            comparison.decided_at = None;
            comparison.needed = Some(needed_to_confirm(judged, safe_p));
        }
        Verdict::Slower
        | Verdict::SlowerUnclear
        | Verdict::SlightlySlower
        | Verdict::Faster
        | Verdict::FasterUnclear
        | Verdict::SlightlyFaster
        | Verdict::TypicallySame
        | Verdict::Same
        | Verdict::Inconclusive => {}
    }
}

/// Estimates the rounds or starts that would confirm a direction.
fn needed_to_confirm(judged: &Judgement, safe_p: f64) -> Needed {
    if !judged.is_out_of_reach() {
        return judged.convert_units(judged.scatter().units_to_pass(safe_p));
    }
    // How many times larger than of a single look a p is, for the looks taken.
    let spent = Some(judged.least_p).filter(|p| *p < 1.0);
    let looks = spent.map_or(1.0, |p| (p * 2f64.powi(judged.units as i32 - 1)).max(1.0));
    judged
        .convert_units(Some(units_that_can(safe_p / looks).max(judged.fewest_units()).max(judged.units + 1)))
}
