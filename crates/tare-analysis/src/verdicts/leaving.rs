//! When a cell needs no more rounds.

use tare_data::session::{Plan, Role};

use crate::findings::Verdict;
use crate::statistics::multiplicity::FALSE_SHARE;
use crate::verdicts::judge::Judgement;
use crate::verdicts::verdict::is_decided;

/// The p with which a cell passes the correction whatever the other cells show: the procedure's share over the
/// headline cells that the plan can compare.
pub(crate) fn safe_p(plan: &Plan) -> f64 {
    let subjects = || plan.targets.iter().filter(|target| target.role == Role::Subject);
    let measured =
        plan.cases.iter().map(|case| subjects().filter(|s| !case.missing.contains_key(&s.name)).count());
    FALSE_SHARE / measured.sum::<usize>().max(1) as f64
}

/// Whether an environment may leave a case with this judgement: one that is decided and would stay a verdict whatever
/// the other cells show. `safe_p` is that of the plan; none for the control, which is not corrected.
pub(crate) fn may_leave(judged: &Judgement, safe_p: Option<f64>) -> bool {
    match judged.verdict {
        // Within the margin it is the same, whether or not a slight difference is confirmed.
        Verdict::Same | Verdict::SlightlySlower | Verdict::SlightlyFaster => true,
        verdict => is_decided(verdict) && safe_p.is_none_or(|safe_p| judged.p <= safe_p),
    }
}
