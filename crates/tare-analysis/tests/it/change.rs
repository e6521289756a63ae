//! Changes over time: known pairs of intervals, whole sessions, and how often a change is claimed that is none.

use tare_analysis::Options;
use tare_analysis::change::*;
use tare_analysis::findings::Verdict;
use tare_analysis::gate::{Answer, Condition};
use tare_analysis::statistics::signed_ranks::Nulls;
use tare_analysis::verdicts::judge::judge as judge_pairs;
use tare_analysis::verdicts::stopping::{Schedule, planned_looks};
use tare_analysis::verdicts::verdict::Margin;
use tare_data::session::{Role, Session};

use crate::noise_models::{SYMMETRIC, simulate};
use crate::sessions::{MARGIN, Outcome, jitter, run, session, timed};

fn cost(low: f64, ratio: f64, high: f64) -> Cost {
    Cost { ratio, low, high, rounds: 12, verdict: Verdict::Slower }
}

#[test]
fn each_pair_of_intervals_has_its_word() {
    let of = |old, new| change(&old, &new, Margin::plain(1.02f64.ln()));
    let old = cost(1.9, 2.0, 2.1);
    assert_eq!(of(old, cost(2.2, 2.3, 2.4)), Change::Regressed);
    assert_eq!(of(old, cost(1.6, 1.7, 1.8)), Change::Improved);
    assert_eq!(of(old, cost(1.9, 2.0, 2.1)), Change::Within);
    assert_eq!(of(old, cost(2.11, 2.2, 2.3)), Change::Inconclusive, "apart by less than the margin");
    assert_eq!(
        of(old, cost(2.0, 2.2, 2.4)),
        Change::Inconclusive,
        "the estimate lies outside the old interval"
    );
    assert_eq!(of(old, cost(1.0, 2.05, 4.0)), Change::Within);
    let narrow = |ratio: f64| cost(ratio * 0.999, ratio, ratio * 1.001);
    assert_eq!(of(narrow(1.0), narrow(1.005)), Change::Within, "apart, but all of it within the margin");
    assert_eq!(of(narrow(1.0), narrow(1.03)), Change::Regressed);
    assert_eq!(
        of(old, cost(0.0, 2.0, f64::INFINITY)),
        Change::Inconclusive,
        "too few rounds for an interval"
    );
    assert_eq!(of(old, cost(f64::NAN, f64::NAN, f64::NAN)), Change::Inconclusive);
}

/// A session of two cases in which gvisor costs so much in the first, and the control so much in both.
fn session_of(ratio: f64, control: f64) -> Session {
    let mut session = session(&["gvisor"], vec![timed("sys.getppid"), timed("net.rr")], 12);
    run(&mut session, 12, |case, target, round| {
        let ratio = match (target, case) {
            ("gvisor", "sys.getppid") => ratio,
            ("again", _) => control,
            _ => 1.0,
        };
        Outcome::Time(100.0 * ratio * jitter(target, round))
    });
    session
}

fn costing(ratio: f64) -> Session {
    session_of(ratio, 1.0)
}

fn compared(old: &Session, new: &Session) -> Changes {
    let options = Options::default();
    let (then, now) = (tare_analysis::findings(old, &options), tare_analysis::findings(new, &options));
    changes(Side { session: old, findings: &then }, Side { session: new, findings: &now })
}

fn answers(changes: &Changes, condition: &str) -> Vec<Answer> {
    let outcome = judge(changes, &[Condition::of_two(condition).unwrap()]);
    outcome.cells.iter().map(|cell| cell.answer).collect()
}

#[test]
fn a_layer_that_has_become_slower_trips_the_gate() {
    let changes = compared(&costing(2.0), &costing(2.4));
    let ChangedCell::Compared { change, apart, .. } = changes.rows[0].cells[0] else { panic!("{changes:?}") };
    assert_eq!(change, Change::Regressed);
    assert!((1.15..1.2).contains(&apart.unwrap()), "{apart:?}");
    assert_eq!(answers(&changes, "regressed"), [Answer::Trips, Answer::Passes]);
    assert_eq!(answers(&changes, "regressed>1.1"), [Answer::Trips, Answer::Passes]);
    assert_eq!(answers(&changes, "regressed>1.3"), [Answer::Passes, Answer::Passes]);
    assert_eq!(answers(&changes, "regressed:gvisor:sys.*>1.2"), [Answer::Undecided]);
    let back = compared(&costing(2.4), &costing(2.0));
    assert_eq!(answers(&back, "regressed"), [Answer::Passes, Answer::Passes]);
    assert_eq!(answers(&back, "undecided"), [Answer::Passes, Answer::Passes]);
}

#[test]
fn what_does_not_mean_the_same_is_not_compared() {
    let old = costing(2.0);
    let reason = |new: &Session| match &compared(&old, new).rows[0].cells[0] {
        ChangedCell::NotComparable { reason, .. } => reason.clone(),
        ChangedCell::Compared { .. } => "compared".into(),
    };
    assert_eq!(reason(&old), "compared");
    let mut new = costing(3.0);
    new.plan.cases[0].definition = "another".into();
    assert!(reason(&new).contains("definitions differ"));
    let mut new = costing(3.0);
    new.plan
        .targets
        .iter_mut()
        .filter(|target| target.role == Role::Baseline)
        .for_each(|l| l.specification = "uml".into());
    assert_eq!(reason(&new), "the baseline was native and is uml");
    let mut new = costing(3.0);
    new.plan.cases.remove(0);
    new.trials.retain(|trial| trial.case != old.plan.cases[0].id);
    let changes = compared(&old, &new);
    assert_eq!((changes.rows.len(), changes.rows[1].case.as_str()), (2, "sys.getppid"));
    assert_eq!(answers(&changes, "regressed:gvisor:sys.*"), [Answer::Missing]);
    assert_eq!(answers(&changes, "missing"), [Answer::Passes, Answer::Trips]);
}

#[test]
fn a_session_that_differs_from_itself_widens_the_margin() {
    let changes = compared(&costing(2.0), &session_of(2.4, 1.5));
    let ChangedCell::Compared { change, .. } = changes.rows[0].cells[0] else { panic!("{changes:?}") };
    assert_eq!(change, Change::Inconclusive);
}

/// How often of this many pairs of sessions a change is claimed, in percent.
fn claimed(effect: f64, margin: f64) -> f64 {
    const PAIRS: u64 = 500;
    const ROUNDS: u32 = 60;
    let schedule = Schedule::new(&planned_looks(ROUNDS), ROUNDS);
    let mut nulls = Nulls::default();
    let mut most: f64 = 0.0;
    for model in SYMMETRIC {
        let mut of = |effect: f64, seed: u64| {
            let pairs = simulate(model, ROUNDS, effect, seed);
            let j = judge_pairs(&pairs, &schedule, Margin::plain(MARGIN), &mut nulls);
            let j = j.expect("there are rounds");
            cost(j.interval.low.exp(), j.estimate.exp(), j.interval.high.exp())
        };
        let pairs = (0..PAIRS).map(|seed| (of(0.0, seed), of(effect, seed + PAIRS)));
        let pairs: Vec<(Cost, Cost)> = pairs.collect();
        let found = pairs.iter().filter(|(old, new)| {
            matches!(change(old, new, Margin::plain(margin)), Change::Regressed | Change::Improved)
        });
        let percent = 100.0 * found.count() as f64 / PAIRS as f64;
        println!("{model:?}: {percent:.1} % of changes by {effect:.3} claimed at the margin {margin:.3}");
        most = most.max(percent);
    }
    most
}

#[test]
fn a_change_that_is_none_is_rarely_claimed() {
    assert!(claimed(0.0, 0.0) <= 2.0, "without any margin");
    assert!(claimed(MARGIN, MARGIN) <= 2.0, "at the margin itself");
}
