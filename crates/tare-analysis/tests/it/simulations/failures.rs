//! Failures that hide slowness: trials of an environment above a limit fail, and those that are left say nothing of them.

use tare_analysis::findings::{Cell, Kind, Missing};
use tare_analysis::{Options, compute_findings};
use tare_data::failure::{Failure, FailureKind};
use tare_data::generator::Generator;

use crate::sessions::{Outcome, find_finished, make_trial};
use crate::simulations::noise_models::draw_normal;
use crate::simulations::promises::{make_plain_session, most_false};

const SESSIONS: u64 = 200;
const ROUNDS: u32 = 80;

/// An environment's share of slow trials, which fail, and the cost of the others.
#[derive(Clone, Copy)]
struct Side {
    failing: f64,
    cost: f64,
}

/// Computes the answer of a session, which its subject may leave as soon as it is decided, or the reason why there is none.
fn run_session(seed: u64, [baseline, subject]: [Side; 2], may_leave: bool) -> Result<Kind, String> {
    let mut session = make_plain_session(1, ROUNDS);
    let case = session.plan.cases[0].id.clone();
    for round in 0..ROUNDS {
        if may_leave && find_finished(&session, &case, round)[1] {
            break;
        }
        for (target, side) in [("native", baseline), ("vm", subject)] {
            let mut generator = Generator::for_part(seed, &format!("{target} {round}"));
            let outcome = match generator.draw_unit() < side.failing {
                true => Outcome::Failed(Failure::new(FailureKind::Deadline, "it took over 60 s")),
                false => Outcome::Time(1e4 * side.cost * libm::exp(0.01 * draw_normal(&mut generator))),
            };
            session.trials.push(make_trial(&case, target, round, outcome));
        }
    }
    match &compute_findings(&session, &Options::default()).rows[0].cells[0] {
        Cell::Compared(comparison) => Ok(comparison.answer().kind()),
        Cell::Missing(Missing::NotComparable { reason, .. }) => Err(reason.clone()),
        other => panic!("{other:?}"),
    }
}

fn count(sides: [Side; 2], is_meant: impl Fn(&Result<Kind, String>) -> bool) -> u64 {
    (0..SESSIONS).filter(|seed| is_meant(&run_session(*seed, sides, false))).count() as u64
}

const STEADY: Side = Side { failing: 0.0, cost: 1.0 };
const HIDING: Side = Side { failing: 0.2, cost: 1.0 };
/// Were they ten times as slow as the others, its mean would be twice as high.
const HIDING_FEW: Side = Side { failing: 0.1, cost: 1.0 };

#[test]
fn nothing_is_the_same_or_bounded_where_one_side_fails_more_often() {
    for sides in [[STEADY, HIDING], [HIDING, STEADY]] {
        let wrong = count(sides, |answer| matches!(answer, Ok(Kind::Same | Kind::AtMost)));
        assert!(wrong as f64 <= most_false(SESSIONS) * SESSIONS as f64, "{wrong} of {SESSIONS}");
    }
    let reason = run_session(1, [STEADY, HIDING], false).unwrap_err();
    assert!(reason.ends_with("of 80 trials failed, in the baseline 0 of 80"), "{reason}");
}

#[test]
fn few_failures_of_one_side_are_enough() {
    for sides in [[STEADY, HIDING_FEW], [HIDING_FEW, STEADY]] {
        let is_same = |seed: &u64| run_session(*seed, sides, true) == Ok(Kind::Same);
        let wrong = (0..SESSIONS).filter(is_same).count();
        assert!(wrong as f64 <= most_false(SESSIONS) * SESSIONS as f64, "{wrong} of {SESSIONS}");
    }
}

#[test]
fn failures_of_both_sides_take_no_answer_away() {
    let same = count([HIDING, HIDING], |answer| *answer == Ok(Kind::Same));
    assert!(same as f64 >= 0.95 * SESSIONS as f64, "{same} of {SESSIONS}");
}

#[test]
fn a_direction_stands_against_the_failures_of_the_slower_side_alone() {
    let slow = Side { cost: 3.0, ..HIDING };
    assert_eq!(count([STEADY, slow], |answer| *answer == Ok(Kind::Slower)), SESSIONS);
    assert_eq!(count([slow, STEADY], |answer| *answer == Ok(Kind::Faster)), SESSIONS);
    let quick = Side { cost: 0.5, ..HIDING };
    let wrong = count([STEADY, quick], |answer| *answer == Ok(Kind::Faster));
    assert!(wrong as f64 <= most_false(SESSIONS) * SESSIONS as f64, "{wrong} of {SESSIONS}");
}
