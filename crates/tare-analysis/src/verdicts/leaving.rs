//! When a cell needs no more rounds.

use tare_data::session::Plan;

use crate::findings::sameness::FEWEST_STARTS;
use crate::findings::seen::is_far;
use crate::findings::{Interval, Verdict};
use crate::statistics::multiplicity::FALSE_SHARE;
use crate::verdicts::judge::Judgement;
use crate::verdicts::verdict::{Margin, Scatter};

/// Rounds before which the spread of a cell is not known well enough to give it up.
const FEWEST_TO_GIVE_UP: u32 = 27;

/// A cell is given up where its chance of a verdict is below this, wherever within a standard error the true
/// cost is.
const LEAST_CHANCE: f64 = 0.8;

/// Computes the p with which a cell passes the correction whatever the other cells show: the procedure's
/// share over the headline cells that the plan can compare.
pub(crate) fn safe_p(plan: &Plan) -> f64 {
    FALSE_SHARE / plan.count_comparisons().max(1) as f64
}

/// Tells whether an environment may leave a case with this judgement: one that is decided and would stay a
/// verdict whatever the other cells show. `safe_p` is the plan's; none for the control, which is not
/// corrected.
pub fn may_leave(judged: &Judgement, safe_p: Option<f64>) -> bool {
    // Within the margin it is the same, whether or not a slight difference is confirmed.
    judged.verdict.is_within_margin()
        || is_found(judged, safe_p) && !judged.seen.may_be_state(Interval::from_logarithms(judged.interval))
}

/// Tells whether a direction is decided and would stay a verdict whatever the other cells show. A cost that is planted leaves then: it is
/// the same in every state.
pub(crate) fn is_found(judged: &Judgement, safe_p: Option<f64>) -> bool {
    judged.verdict.is_settled() && safe_p.is_none_or(|safe_p| judged.p <= safe_p && judged.is_safe)
}

/// Tells whether another state of an environment may take back what is decided: such states come and go. A direction that is far is of
/// none, and what is the same may be slower in the next.
pub(crate) fn may_be_state(judged: &Judgement) -> bool {
    match judged.verdict {
        Verdict::Slower | Verdict::Faster => !is_far(Interval::from_logarithms(judged.interval)),
        verdict => verdict.is_within_margin(),
    }
}

/// Tells whether a cell that is not decided will most likely not be by the time it has run this many rounds
/// in all, so that the time of its rounds is better spent on others.
///
/// It is judged generously, as if its true cost were a standard error further from the edge of the margin
/// than it seems, and as if no control were off: a few rounds of a control that seem to be may be chance. To
/// give a cell up makes no false verdict: it is judged by the looks that it took.
pub fn is_beyond_reach(judged: &Judgement, reachable: u32) -> bool {
    let too_early = judged.reached < FEWEST_TO_GIVE_UP || judged.units < FEWEST_STARTS;
    if too_early || judged.verdict.is_settled() {
        return false;
    }
    let a_unit = f64::from(judged.reached) / judged.units as f64;
    let units = ((f64::from(reachable) / a_unit) as usize).max(judged.units);
    let scatter = judged.scatter();
    let error = scatter.standard_error(judged.units);
    let margin = Margin::from_planned(judged.margin.planned);
    [-error, 0.0, error].into_iter().all(|off| {
        let really = Scatter { estimate: scatter.estimate + off, ..scatter };
        really.power(units, margin) < LEAST_CHANCE
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::statistics::signed_ranks::Nulls;
    use crate::verdicts::judge::judge_pairs;
    use crate::verdicts::pairs::{Pair, Pairs};
    use crate::verdicts::stopping::{Schedule, planned_looks};

    #[test]
    fn what_a_control_may_be_off_by_chance_gives_no_cell_up() {
        let d = |round: u32| f64::from(round % 9) * 0.015 - 0.06;
        let pair = |round| Pair::from_difference(round, d(round));
        let pairs = Pairs { pairs: (0..27).map(pair).collect(), reached: 27, resolution: 0.0 };
        let schedule = Schedule::new(&planned_looks(10_000), 10_000);
        let lost = |margin, reachable| {
            let judged = judge_pairs(&pairs, &schedule, margin, &mut Nulls::default()).unwrap();
            is_beyond_reach(&judged, reachable)
        };
        let margin = Margin::from_planned(0.02);
        assert!(!lost(margin.raise_floor(0.1), 10_000));
        assert!(lost(margin, 30) && lost(margin.raise_floor(0.1), 30));
    }
}
