//! The planted cost: a session's verdict on an environment that is slower on purpose.

use tare_data::session::{Plan, Role};

use crate::findings::{PlantedCost, Trend};
use crate::statistics::level::ALPHA;
use crate::statistics::multiplicity::{FALSE_SHARE, benjamini_hochberg, select_by_holm};
use crate::verdicts::rows::{Judged, JudgedRow, Options};

/// Judges the planted cost as if it were among the headline cells of subjects, which it leaves as they are.
///
/// None where it was not found in fewer rounds than a subject had of its case: more rounds might have found
/// it.
pub(crate) fn judge_planted_cost(rows: &[JudgedRow], plan: &Plan, options: &Options) -> Option<PlantedCost> {
    let at = plan.targets.list_role(Role::Planted).next()?;
    let share = plan.targets[at].slower_share().filter(|share| share.is_finite())?;
    let headlines = || rows.iter().filter(|row| row.metric == 0);
    let row = headlines().find(|row| row.targets[at].is_some())?;
    let Some(Judged { cell, judgement: Some(judgement), .. }) = &row.targets[at] else { return None };
    let comparison = cell.comparison()?;
    let is_subject = |target: usize| plan.targets.role(target) == Role::Subject;
    let subjects = headlines().flat_map(|row| {
        let judged = row.targets.iter().enumerate().filter(|(target, _)| is_subject(*target));
        judged.filter_map(|(_, judged)| judged.as_ref()?.judgement.as_ref())
    });
    let p: Vec<f64> = subjects.map(|judged| judged.p).chain([judgement.p]).collect();
    let kept = if options.strict { select_by_holm(&p, ALPHA) } else { benjamini_hochberg(&p, FALSE_SHARE) };
    let found = kept.last() == Some(&true) && judgement.verdict.trend() == Some(Trend::Slower);
    let in_case = row.targets.iter().enumerate().filter(|(target, _)| is_subject(*target));
    let rounds = in_case.filter_map(|(_, judged)| Some(judged.as_ref()?.cell.comparison()?.rounds));
    let most = rounds.max().unwrap_or(0);
    (found || comparison.rounds >= most.max(1)).then(|| PlantedCost {
        case: plan.cases[row.case].id.clone(),
        share,
        rounds: comparison.rounds,
        ratio: comparison.ratio,
        interval: comparison.interval,
        found,
    })
}
