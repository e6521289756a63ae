//! Changes over time: known pairs of intervals, whole sessions, and how often a change is claimed that is none.

use tare_analysis::Options;
use tare_analysis::change::*;
use tare_analysis::findings::{Cell, Interval, Kind, Verdict};
use tare_analysis::gate::{Condition, Ruling};
use tare_analysis::statistics::signed_ranks::Nulls;
use tare_analysis::verdicts::judge::judge_pairs;
use tare_analysis::verdicts::stopping::{Schedule, planned_looks};
use tare_analysis::verdicts::verdict::Margin;
use tare_data::generator::Generator;
use tare_data::names::Parameters;
use tare_data::session::limits::{GroupCounts, LimitCounts};
use tare_data::session::specification::Specification;
use tare_data::session::{Role, Session};
use tare_specimen::change_sides;

use crate::sessions::{
    MARGIN, Outcome, compute_jitter, high, judge, low, make_session, make_timed_case, run_rounds,
};
use crate::simulations::noise_models::{NoiseModel, SYMMETRIC, draw_normal, simulate_pairs};

fn cost(low: f64, ratio: f64, high: f64) -> Cost {
    Cost { ratio, interval: Interval::new(low, high), rounds: 12, answer: None }
}

#[test]
fn the_interval_of_a_change_is_made_of_both() {
    // ln: 0.1 up from 0, each side with its own error; by hand: 0.1 -+ hypot of the errors that face each
    // other.
    let old = cost(libm::exp(-0.03), 1.0, libm::exp(0.04));
    let new = cost(libm::exp(0.07), libm::exp(0.1), libm::exp(0.2));
    let factor = Factor::from_costs(&old, &new, 0.0).unwrap();
    assert!((libm::log(factor.ratio) - 0.1).abs() < 1e-12, "{factor:?}");
    assert!((libm::log(low(factor.interval)) - (0.1 - 0.05)).abs() < 1e-12, "hypot(0.03, 0.04): {factor:?}");
    let above = libm::hypot(0.1, 0.03);
    assert!((libm::log(high(factor.interval)) - (0.1 + above)).abs() < 1e-12, "{factor:?}");
    assert_eq!(
        Factor::from_costs(&old, &cost(0.0, 2.0, f64::INFINITY), 0.0),
        None,
        "too few rounds for an interval"
    );
    assert_eq!(Factor::from_costs(&old, &cost(f64::NAN, f64::NAN, f64::NAN), 0.0), None);
}

#[test]
fn a_command_is_found_again_where_other_commands_of_its_session_change_its_names() {
    let judged = |name: &str, title: &str| {
        let mut session = make_session(&["new"], vec![], 1);
        change_sides(&mut session.plan.targets, |at, side| {
            let pairs = [("name", name), ("title", title), ("command", "[\"./new\"]")];
            let pairs = pairs.map(|(key, value)| (key.to_owned(), value.to_owned()));
            side.command = (at == 2).then(|| Parameters(pairs.into_iter().collect()));
        });
        Judged::of_session(session)
    };
    let changes =
        compare_records(&[&judged("2-new", "./new")], &[&judged("3-new", "new one")], STATED_SPREAD);
    assert_eq!(changes.targets.len(), 1, "{:?}", changes.targets);
}

#[test]
fn each_change_has_its_word() {
    let of = |low: f64, high: f64| {
        judge_change(
            Factor { ratio: f64::sqrt(low * high), interval: Interval::new(low, high), degrees: None },
            Margin::from_planned(libm::log(1.02)),
        )
    };
    assert_eq!(of(1.03, 1.2), Verdict::Slower);
    assert_eq!(of(0.8, 0.97), Verdict::Faster);
    assert_eq!(of(0.99, 1.01), Verdict::Same);
    assert!(of(1.001, 1.01).is_within_margin());
    assert_eq!(of(1.01, 1.2), Verdict::SlowerUnclear, "it reaches into the margin");
    assert_eq!(of(0.9, 1.1), Verdict::Inconclusive);
}

/// Builds a session of two cases in which gvisor costs so much in the first, and the control so much in both.
fn session_of(ratio: f64, control: f64) -> Session {
    let mut session =
        make_session(&["gvisor"], vec![make_timed_case("sys.getppid"), make_timed_case("net.rr")], 12);
    run_rounds(&mut session, 12, |case, target, round| {
        let ratio = match (target, case) {
            ("gvisor", "sys.getppid") => ratio,
            ("again", _) => control,
            _ => 1.0,
        };
        Outcome::Time(100.0 * ratio * compute_jitter(target, round))
    });
    session
}

fn costing(ratio: f64) -> Session {
    session_of(ratio, 1.0)
}

fn compared(old: &Session, new: &Session) -> Changes {
    compare_records(&[&judge(old)], &[&judge(new)], 0.0)
}

fn answers(changes: &Changes, condition: &str) -> Vec<Ruling> {
    let outcome = judge_changes(changes, &[Condition::of_two(condition).unwrap()]);
    outcome.cells.iter().map(|cell| cell.answer).collect()
}

#[test]
fn a_layer_that_has_become_slower_trips_the_gate() {
    let changes = compared(&costing(2.0), &costing(2.4));
    let ChangedCell::Compared { answer, factor, .. } = changes.rows[0].cells[0] else {
        panic!("{changes:?}")
    };
    assert_eq!(answer.kind(), Kind::Slower);
    let factor = factor.unwrap();
    assert!(
        low(factor.interval) < 1.2 && 1.2 < high(factor.interval) && low(factor.interval) > 1.17,
        "{factor:?}"
    );
    assert_eq!(answers(&changes, "regressed"), [Ruling::Trips, Ruling::Passes]);
    assert_eq!(answers(&changes, "regressed>1.1"), [Ruling::Trips, Ruling::Passes]);
    assert_eq!(answers(&changes, "regressed>1.3"), [Ruling::Passes, Ruling::Passes]);
    assert_eq!(answers(&changes, "regressed:gvisor:sys.*>1.2"), [Ruling::Undecided]);
    let back = compared(&costing(2.4), &costing(2.0));
    assert_eq!(answers(&back, "regressed"), [Ruling::Passes, Ruling::Passes]);
    assert_eq!(answers(&back, "undecided"), [Ruling::Passes, Ruling::Passes]);
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
    change_sides(&mut new.plan.targets, |at, side| {
        if at == 0 {
            side.specification = Specification::from_provider("uml");
        }
    });
    assert_eq!(reason(&new), "the baseline was native and is uml");
    let mut new = costing(3.0);
    new.plan.cases.remove(0);
    new.trials.retain(|trial| trial.case != old.plan.cases[0].id);
    let changes = compared(&old, &new);
    assert_eq!((changes.rows.len(), changes.rows[1].case.as_str()), (2, "sys.getppid"));
    assert_eq!(answers(&changes, "regressed:gvisor:sys.*"), [Ruling::Missing]);
    assert_eq!(answers(&changes, "missing"), [Ruling::Passes, Ruling::Trips]);
}

#[test]
fn a_session_that_differs_from_itself_widens_the_margin() {
    let changes = compared(&costing(2.0), &session_of(2.4, 1.5));
    let ChangedCell::Compared { answer, .. } = changes.rows[0].cells[0] else { panic!("{changes:?}") };
    assert_eq!(answer.kind(), Kind::NotSure);
}

/// Counts how often a change is claimed among many pairs of sessions, in percent.
fn claimed(effect: f64, margin: f64) -> f64 {
    const PAIRS: u64 = 500;
    const ROUNDS: u32 = 60;
    let schedule = Schedule::new(&planned_looks(ROUNDS), ROUNDS);
    let mut nulls = Nulls::default();
    let mut most: f64 = 0.0;
    for model in SYMMETRIC {
        let mut of = |effect: f64, seed: u64| {
            let pairs = simulate_pairs(model, ROUNDS, effect, seed);
            let j = judge_pairs(&pairs, &schedule, Margin::from_planned(MARGIN), &mut nulls);
            let j = j.expect("there are rounds");
            cost(libm::exp(j.interval.low), libm::exp(j.estimate), libm::exp(j.interval.high))
        };
        let pairs = (0..PAIRS).map(|seed| (of(0.0, seed), of(effect, seed + PAIRS)));
        let pairs: Vec<(Cost, Cost)> = pairs.collect();
        let found = pairs.iter().filter(|(old, new)| {
            // Rounds that are alike by chance may leave too few blocks for an interval.
            let Some(factor) = Factor::from_costs(old, new, 0.0) else { return false };
            matches!(judge_change(factor, Margin::from_planned(margin)), Verdict::Slower | Verdict::Faster)
        });
        let percent = 100.0 * found.count() as f64 / PAIRS as f64;
        println!("{model:?}: {percent:.1} % of changes by {effect:.3} claimed at the margin {margin:.3}");
        most = most.max(percent);
    }
    most
}

#[test]
fn the_interval_of_a_change_holds_it_and_is_narrower_than_two_intervals_apart() {
    const PAIRS: u64 = 400;
    let schedule = Schedule::new(&[60], 60);
    let mut nulls = Nulls::default();
    let (mut held, mut found, mut apart) = (0, 0, 0);
    for seed in 0..PAIRS {
        let mut of = |effect: f64, seed: u64| {
            let pairs = simulate_pairs(NoiseModel::Gaussian, 60, effect, seed);
            let j = judge_pairs(&pairs, &schedule, Margin::from_planned(MARGIN), &mut nulls).unwrap();
            cost(libm::exp(j.interval.low), libm::exp(j.estimate), libm::exp(j.interval.high))
        };
        let (old, new) = (of(0.5, seed), of(0.51, seed + PAIRS));
        let factor = Factor::from_costs(&old, &new, 0.0).unwrap();
        held += u64::from(factor.interval.contains(libm::exp(0.01)));
        found += u64::from(low(factor.interval) > 1.0);
        apart += u64::from(low(new.interval) > high(old.interval));
    }
    println!("{held} of {PAIRS} hold the change, {found} exclude none; {apart} pairs of intervals are apart");
    let least = PAIRS as f64 * (0.95 - 3.0 * (0.95f64 * 0.05 / PAIRS as f64).sqrt());
    assert!(held as f64 >= least, "{held}");
    assert!(found > 2 * apart, "{found} {apart}");
}

#[test]
fn a_change_of_one_cell_among_many_is_claimed_only_where_it_stands_out() {
    let many = |ratios: &[f64]| {
        let names: Vec<String> = (0..ratios.len()).map(|i| format!("sys.p{i}")).collect();
        let cases = names.iter().map(|name| make_timed_case(name)).collect();
        let mut session = make_session(&["gvisor"], cases, 30);
        run_rounds(&mut session, 30, |case, target, round| {
            let at = names.iter().position(|name| name == case).unwrap();
            let ratio = if target == "gvisor" { ratios[at] } else { 1.0 };
            Outcome::Time(100.0 * ratio * compute_jitter(&format!("{target}{case}"), round))
        });
        session
    };
    let word = |ratio: f64| {
        let mut ratios = [2.0; 40];
        let old = many(&ratios);
        ratios[7] = ratio;
        let changes = compared(&old, &many(&ratios));
        let changed = |row: &ChangedRow| match row.cells[0] {
            ChangedCell::Compared { answer, .. } => answer.kind(),
            ChangedCell::NotComparable { .. } => panic!("{row:?}"),
        };
        let others = changes.rows.iter().enumerate().filter(|(at, _)| *at != 7).map(|(_, row)| changed(row));
        assert!(others.into_iter().all(|change| change == Kind::Same));
        changed(&changes.rows[7])
    };
    assert_eq!(word(2.2), Kind::Slower);
    assert_eq!(word(2.0), Kind::Same);
    // Alone, its interval is beyond the margin; among forty it may be chance.
    assert_eq!(word(2.0 * 1.0225), Kind::AtMost);
}

#[test]
fn a_change_that_is_none_is_rarely_claimed() {
    assert!(claimed(0.0, 0.0) <= 5.0, "without any margin");
    assert!(claimed(MARGIN, MARGIN) <= 5.0, "at the margin itself");
}

/// Shares of comparisons in which the interval holds the truth, and in which a change is claimed that is none.
#[derive(Debug)]
struct Shares {
    held: f64,
    claimed: f64,
}

/// Compares sessions without a change that differ among themselves by a spread, this many a side, where another spread is stated.
fn compare_unchanged(sessions: usize, between: f64, stated: f64) -> Shares {
    const TIMES: usize = 300;
    let (mut generator, mut held, mut claimed) = (Generator::for_part(11, "sessions"), 0, 0);
    let error = 0.002;
    for _ in 0..TIMES {
        let mut draw = || {
            let ln = between * draw_normal(&mut generator) + error * draw_normal(&mut generator);
            let mut session = make_session(&["gvisor"], vec![make_timed_case("sys.getppid")], 12);
            run_rounds(&mut session, 12, |_, _, _| Outcome::Time(100.0));
            let mut findings = tare_analysis::compute_findings(&session, &Options::default());
            if let Cell::Compared(comparison) = &mut findings.rows[0].cells[0] {
                let [ratio, low, high] = [ln, ln - 1.96 * error, ln + 1.96 * error].map(libm::exp);
                (comparison.ratio, comparison.interval_alone) = (ratio, Interval::new(low, high));
            }
            Judged::new(session, findings)
        };
        let drawn = [(); 2].map(|()| (0..sessions).map(|_| draw()).collect::<Vec<_>>());
        let [old, new] = drawn.each_ref().map(|side| side.iter().collect::<Vec<_>>());
        let changes = compare_records(&old, &new, stated);
        let ChangedCell::Compared { answer, factor: Some(factor), .. } = changes.rows[0].cells[0] else {
            panic!("{changes:?}")
        };
        held += usize::from(factor.interval.contains(1.0));
        claimed += usize::from(matches!(answer.kind(), Kind::Slower | Kind::Faster));
    }
    let share = |count: usize| count as f64 / TIMES as f64;
    let shares = Shares { held: share(held), claimed: share(claimed) };
    println!("{sessions} a side, {between} between, {stated} stated: {shares:?}");
    shares
}

#[test]
fn sessions_that_differ_by_chance_claim_no_change() {
    // Three deviations of a share of 5 % in 300.
    let most = 0.05 + 3.0 * (0.05f64 * 0.95 / 300.0).sqrt();
    for (sessions, between, stated) in
        [(1, 0.03, 0.03), (1, STATED_SPREAD, STATED_SPREAD), (2, 0.03, 0.0), (3, 0.03, 0.0), (5, 0.03, 0.0)]
    {
        let shares = compare_unchanged(sessions, between, stated);
        assert!(shares.held >= 1.0 - most && shares.claimed <= most, "{shares:?}");
    }
    // This is its purpose: no stated difference, and one session a side.
    let unstated = compare_unchanged(1, 0.03, 0.0);
    assert!(unstated.held < 0.5 && unstated.claimed > 0.15, "{unstated:?}");
}

#[test]
fn a_change_among_several_sessions_a_side_is_found() {
    let of = |ratio: f64| [1.0, 1.01, 0.99].map(|day| costing(ratio * day));
    let (old, new) = (of(2.0), of(2.4));
    let (old, new) = (old.each_ref().map(judge), new.each_ref().map(judge));
    let changes = compare_records(&old.each_ref(), &new.each_ref(), 0.0);
    let ChangedCell::Compared { old, answer, factor: Some(factor), .. } = changes.rows[0].cells[0] else {
        panic!("{changes:?}")
    };
    assert_eq!((answer.kind(), old.rounds, factor.degrees), (Kind::Slower, 36, Some(4)));
    assert!(
        low(factor.interval) < 1.2 && 1.2 < high(factor.interval) && low(factor.interval) > 1.15,
        "{factor:?}"
    );
    assert_eq!(answers(&changes, "regressed>1.1"), [Ruling::Trips, Ruling::Passes]);
}

#[test]
fn environments_are_matched_by_what_was_entered_and_not_by_name() {
    let named = |name: &str, specification: &str| {
        let mut session = session_of(2.0, 1.0);
        let was = session.plan.targets.of_role(Role::Subject).next().unwrap().name.clone();
        session.plan.targets.retain(|side| side.name != was);
        session.plan.targets.add_subject(tare_data::session::Side::new(name, specification.parse().unwrap()));
        let of_subject = session.trials.iter_mut().filter(|trial| trial.target == was);
        of_subject.for_each(|trial| trial.target = name.to_owned());
        session
    };
    let old = named("wsl2-like", "qemu?cache=mmap");
    let compare = |new: &Session| compared(&old, new);
    let names =
        |changes: &Changes| changes.targets.iter().map(|target| target.name.clone()).collect::<Vec<_>>();
    let renamed = compare(&named("wsl2-like-9p", "qemu?cache=mmap"));
    assert_eq!(names(&renamed), ["wsl2-like-9p"]);
    assert!(matches!(renamed.rows[0].cells[0], ChangedCell::Compared { .. }));
    let another = compare(&named("wsl2-like", "qemu?share=virtiofs"));
    assert_eq!(names(&another), ["wsl2-like", "wsl2-like (qemu?cache=mmap)"]);
    assert!(another.rows[0].cells.iter().all(|cell| matches!(cell, ChangedCell::NotComparable { .. })));
}

#[test]
fn a_change_passes_no_gate_where_a_limit_stops_work_that_lasts() {
    let counts = |begins: bool, periods: u64, throttled: u64| LimitCounts {
        target: "gvisor".into(),
        begins,
        groups: vec![GroupCounts {
            group: "cpu:/q".into(),
            quota: None,
            periods,
            throttled,
            throttled_ns: 0,
        }],
        idle: None,
    };
    let old = session_of(2.0, 1.0);
    let mut new = session_of(2.0, 1.0);
    let ruled = |new: &Session| {
        let changes = compared(&old, new);
        let condition = Condition::of_two("regressed>1.5").unwrap();
        judge_changes(&changes, &[condition]).cells.iter().map(|cell| cell.answer).collect::<Vec<_>>()
    };
    assert_eq!(ruled(&new), [Ruling::Passes; 2]);
    new.limits = vec![counts(true, 0, 0), counts(false, 100, 90)];
    assert_eq!(ruled(&new), [Ruling::Undecided; 2]);
}
