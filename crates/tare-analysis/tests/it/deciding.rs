//! The running session asks which environments are done, and gets the verdicts that the findings would give.

use tare_analysis::{Look, Options, Progress, compute_findings};
use tare_data::failure::{Failure, FailureKind};
use tare_data::metric::Reading;

use crate::findings::expect_comparison;
use crate::sessions::{
    Outcome, compute_jitter, find_finished, make_case, make_metric, make_session, make_timed_case, run_rounds,
};

#[test]
fn targets_are_decided_at_looks_only() {
    let mut session = make_session(&["same", "slow"], vec![make_timed_case("sys.getppid")], 60);
    for round in 0..45 {
        let mut one = session.clone();
        one.trials.clear();
        run_rounds(&mut one, round + 1, |_, target, r| match r == round {
            true => Outcome::Time(if target == "slow" { 300.0 } else { 100.0 } * compute_jitter(target, r)),
            false => Outcome::Nothing,
        });
        session.trials.extend(one.trials);
        let decided = find_finished(&session, "sys.getppid", round + 1);
        let (far, same) = (matches!(round + 1, 12 | 20 | 30 | 45), matches!(round + 1, 30 | 45));
        assert_eq!(decided, [same, same, same, far], "after {} rounds", round + 1);
    }
}

#[test]
fn what_is_decided_is_what_the_findings_say() {
    let costs = [("tiny", 1.003), ("edge", 1.02), ("noisy", 1.0), ("slow", 2.0)];
    let names = costs.map(|(name, _)| name);
    for rounds in [45, 68] {
        let mut session =
            make_session(&names, vec![make_timed_case("file.meta"), make_timed_case("ipc.pipe")], 90);
        run_rounds(&mut session, rounds, |_, target, round| {
            let cost = costs.iter().find(|(name, _)| *name == target).map_or(1.0, |(_, cost)| *cost);
            let spread = if target == "noisy" { 30.0 } else { 1.0 };
            Outcome::Time(1e4 * cost * (1.0 + spread * (compute_jitter(target, round) - 1.0)))
        });
        let options = Options::default();
        let findings = compute_findings(&session, &options);
        for row in &findings.rows {
            let decided = find_finished(&session, &row.case, rounds);
            let said: Vec<bool> =
                row.cells.iter().map(|cell| expect_comparison(cell).verdict.is_settled()).collect();
            assert_eq!(decided[2..], said, "{} after {rounds}", row.case);
            assert_eq!(decided[0], decided[1..].iter().all(|done| *done), "the baseline waits for all");
            assert_eq!(said, [true, false, false, true], "{} after {rounds}", row.case);
        }
    }
}

#[test]
fn a_target_stays_until_every_metric_that_the_plan_names_is_decided() {
    let decided = |names: &[&str]| {
        let metrics =
            vec![make_metric("time", Reading::TimePerOperation), make_metric("min", Reading::Minimum)];
        let mut planned = make_case("sys.getppid", &[], None, metrics);
        planned.decide = names.iter().map(|name| name.to_string()).collect();
        let mut session = make_session(&["slow"], vec![planned], 60);
        run_rounds(&mut session, 45, |_, target, round| {
            let each_ns =
                if target == "slow" { 2_000_000.0 } else { 1_000_000.0 } * compute_jitter(target, round);
            let mut times = vec![each_ns as u64; 50];
            // Scattered widely, and small compared with the others.
            times[0] = (10_000.0 * (1.0 + 60.0 * (compute_jitter(target, round + 50) - 1.0))) as u64;
            Outcome::Times(times)
        });
        find_finished(&session, "sys.getppid", 45)
    };
    assert_eq!(decided(&[]), [true; 3]);
    assert_eq!(decided(&["time"]), [true; 3]);
    assert_eq!(decided(&["min"]), [false; 3]);
    assert_eq!(decided(&["min", "time"]), [false; 3]);
    assert_eq!(decided(&["of another probe"]), [true; 3]);
}

#[test]
fn a_target_that_only_fails_is_not_waited_for() {
    let mut session = make_session(&["broken", "absent"], vec![make_timed_case("sys.getppid")], 60);
    run_rounds(&mut session, 45, |_, target, round| match target {
        "broken" => Outcome::Failed(Failure::new(FailureKind::NotSupported, "no such call")),
        "absent" => Outcome::Nothing,
        _ => Outcome::Time(100.0 * compute_jitter(target, round)),
    });
    let decided = find_finished(&session, "sys.getppid", 45);
    assert_eq!(decided, [false, true, true, false]);
}

#[test]
fn targets_that_left_stay_decided_and_trials_to_come_are_not_seen() {
    let mut session = make_session(&["left", "stays"], vec![make_timed_case("sys.getppid")], 60);
    run_rounds(&mut session, 60, |_, target, round| match target {
        "left" if round >= 45 => Outcome::Nothing,
        // Scattered widely until round 45, steady from there on.
        "stays" => Outcome::Time(
            100.0 * if round < 45 { 1.0 + 60.0 * (compute_jitter(target, round) - 1.0) } else { 1.0 },
        ),
        _ => Outcome::Time(100.0 * compute_jitter(target, round)),
    });
    let at = |rounds| find_finished(&session, "sys.getppid", rounds);
    assert_eq!(at(45), [false, true, true, false]);
    let mut short = session.clone();
    short.trials.retain(|trial| trial.round < 45);
    assert_eq!(find_finished(&short, "sys.getppid", 45), at(45));
}

#[test]
fn a_case_that_is_not_planned_is_never_decided() {
    let session = make_session(&["environment"], vec![make_timed_case("sys.getppid")], 12);
    assert_eq!(find_finished(&session, "net.rr", 12), [false; 3]);
}

#[test]
fn controls_are_compared_with_what_they_are_controls_of() {
    let mut session = make_session(&["vm", "container"], vec![make_timed_case("sys.getppid")], 60);
    let own = session.plan.targets.len();
    session.plan.targets.add_control(2, "vm again".into());
    assert_eq!(session.plan.targets.partner_of(own), Some(2));
    let differs = |costs: [f64; 5]| {
        let mut session = session.clone();
        let names: Vec<String> = session.plan.targets.iter().map(|target| target.name.clone()).collect();
        run_rounds(&mut session, 20, |_, target, round| {
            let at = names.iter().position(|name| name == target).unwrap();
            Outcome::Time(100.0 * costs[at] * compute_jitter(target, round))
        });
        let options = Options::default();
        Look::take(Progress::from_session(&session), "sys.getppid", 20, &options).unwrap().control_differs()
    };
    assert!(!differs([1.0, 1.0, 2.0, 1.5, 2.0]), "subjects may differ");
    assert!(differs([1.0, 1.05, 2.0, 1.5, 2.0]), "the baseline differs from itself");
    assert!(differs([1.0, 1.0, 2.0, 1.5, 2.2]), "the environment differs from itself");
}
