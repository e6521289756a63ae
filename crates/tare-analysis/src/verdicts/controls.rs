//! Differences that the controls of a case show while its session runs.

use tare_data::session::Role;

use crate::statistics::signed_ranks::Nulls;
use crate::verdicts::judge::judge_pairs;
use crate::verdicts::pairs::pair_rounds;
use crate::verdicts::rows::{Judge, Options, Progress};
use crate::verdicts::verdict::Margin;

/// Tells whether any control of a case differs, after `rounds` rounds, from the environment that it repeats:
/// the baseline, or a subject.
pub fn control_differs(progress: Progress<'_>, case: &str, rounds: u32, options: &Options) -> bool {
    let plan = progress.plan;
    let Some(at) = plan.cases.iter().position(|planned| planned.id == case) else { return false };
    let Some(headline) = plan.cases[at].metrics.first() else { return false };
    let session = Judge::new(progress, options, |trial| trial.case == case && trial.round < rounds);
    let read = session.read_rows(at, std::slice::from_ref(headline));
    let Some(row) = read.first() else { return false };
    let mut nulls = Nulls::default();
    let mut differs = |control: usize| -> Option<bool> {
        let of_partner = row.against(control, &row.own[plan.control_of(control)?]);
        let pairs = pair_rounds(of_partner, &row.own[control], headline.direction).ok()?;
        let margin = Margin::from_planned(plan.cases[at].margin);
        let judged = judge_pairs(&pairs, &session.schedule.without_correction(), margin, &mut nulls)?;
        Some(!judged.interval.contains(0.0))
    };
    let is_control = |target: &usize| plan.targets[*target].role == Role::Control;
    (0..plan.targets.len()).filter(is_control).any(|control| differs(control) == Some(true))
}
