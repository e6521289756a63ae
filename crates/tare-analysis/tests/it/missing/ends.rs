//! Commands whose runs fail: a run that failed is never compared with one that did its work.

use tare_analysis::findings::{Cell, Findings, Missing};
use tare_analysis::outcome::Word;
use tare_analysis::verdicts::doubts::ends::list_runs;
use tare_analysis::{Options, compute_findings};
use tare_data::batch::{Batch, ENDED, Phase, RunEnd, Sample};
use tare_data::metric::{Metric, Reading};
use tare_data::session::{PlannedCase, Session};
use tare_data::warning::Warning;

use crate::findings::expect_comparison;
use crate::sessions::{
    Outcome, compute_jitter, find_finished, make_case, make_metric, make_session, make_trial,
};

/// Rounds of each session, and runs of each trial.
const ROUNDS: u32 = 30;
const RUNS: usize = 4;

const GOOD: RunEnd = RunEnd::ExitCode(0);
const BAD: RunEnd = RunEnd::ExitCode(7);

/// Makes the batches of a run of 50 ms, or of 5 ms where it failed at once.
fn make_run(target: &str, round: u32, end: RunEnd) -> [Batch; 4] {
    let ns = if end == GOOD { 5e7 } else { 5e6 } * compute_jitter(target, round);
    let batch =
        |series: &str, sample| Batch { series: series.into(), phase: Phase::Warm, started_ns: 0, sample };
    let time = Sample::Throughput { operations: 1, bytes: 0, elapsed_ns: ns as u64 };
    let gauge = |value| Sample::Gauge { value };
    [
        batch("run", time),
        batch("user", gauge(2e6)),
        batch("system", gauge(1e6)),
        batch(ENDED, gauge(end.to_gauge())),
    ]
}

fn command(expected: &str) -> PlannedCase {
    let time = Metric { series: "run".into(), ..make_metric("time", Reading::TimePerOperation) };
    let user = Metric { series: "user".into(), ..make_metric("user", Reading::Gauge) };
    make_case("user.x", &[("expect_exit", expected)], None, vec![time, user])
}

/// Measures a command whose runs end as `end` says of (environment, number of the run).
fn session(expected: &str, end: impl Fn(&str, u32) -> RunEnd) -> Session {
    let mut session = make_session(&["box"], vec![command(expected)], ROUNDS);
    let case = session.plan.cases[0].id.clone();
    let targets: Vec<String> = session.plan.targets.iter().map(|target| target.name.clone()).collect();
    for round in 0..ROUNDS {
        for target in &targets {
            let mut trial = make_trial(&case, target, round, Outcome::Gauge(0.0));
            let ends: Vec<RunEnd> =
                (0..RUNS as u32).map(|at| end(target, round * RUNS as u32 + at)).collect();
            trial.batches =
                ends.iter().flat_map(|end| make_run(target, round, *end)).collect::<Vec<_>>().into();
            session.trials.push(trial);
        }
    }
    session
}

fn found(session: &Session) -> Findings {
    compute_findings(session, &Options::default())
}

fn refusal(findings: &Findings) -> &str {
    match &findings.rows[0].cells[0] {
        Cell::Missing(Missing::NotComparable { reason, .. }) => reason,
        other => panic!("{other:?}"),
    }
}

/// Lists the runs that failed: how many, of how many.
fn failed_runs(findings: &Findings, target: &str) -> Vec<(u32, u32)> {
    let of = findings.warnings.iter().filter(|(of, _)| of.as_deref() == Some(target));
    of.filter_map(|(_, warning)| match warning {
        Warning::RunsEnded { count, runs, .. } => Some((*count, *runs)),
        _ => None,
    })
    .collect()
}

#[test]
fn a_command_that_fails_at_once_is_not_faster() {
    let session = session("any", |target, _| if target == "box" { BAD } else { GOOD });
    let findings = found(&session);
    assert_eq!(refusal(&findings), "120 of 120 runs ended with exit code 7, in the baseline 0 of 120");
    for row in &findings.rows {
        assert!(row.cells[0].comparison().is_none(), "{}", row.metric.name);
        assert!(row.cells[0].level().is_some(), "its own value is still shown");
    }
    assert_eq!(failed_runs(&findings, "box"), [(120, 120)]);
    assert_eq!(failed_runs(&findings, "native"), []);
    let runs = list_runs(&session, &session.plan.cases[0].id, "box");
    assert_eq!((runs.len(), runs[0].end, runs[0].user_ns), (120, BAD, 2e6));
}

#[test]
fn a_command_that_always_fails_alike_is_compared() {
    let findings = found(&session("any", |_, _| BAD));
    assert!(expect_comparison(&findings.rows[0].cells[0]).warnings.is_empty());
    assert_eq!(findings.outcomes[0].word, Word::FailsEverywhere);
    assert_eq!(failed_runs(&findings, "native"), [(120, 120)]);
}

#[test]
fn ends_that_are_all_good_change_nothing() {
    for expected in ["0", "any"] {
        let with = session(expected, |_, _| GOOD);
        let mut without = with.clone();
        for trial in &mut without.trials {
            let others = trial.batches.to_vec().into_iter().filter(|batch| batch.series != ENDED);
            trial.batches = others.collect::<Vec<_>>().into();
        }
        assert_eq!(found(&with), found(&without));
        assert!(list_runs(&without, &without.plan.cases[0].id, "box").is_empty());
    }
}

#[test]
fn runs_that_warm_up_are_not_counted() {
    // The first run of each trial warms up, and fails.
    let mut session = session("0", |_, _| GOOD);
    for trial in &mut session.trials {
        let batch = |at: usize| Batch {
            series: ENDED.into(),
            phase: if at == 0 { Phase::Cold } else { Phase::Warm },
            started_ns: 0,
            sample: Sample::Gauge { value: if at == 0 { BAD } else { GOOD }.to_gauge() },
        };
        trial.batches = (0..RUNS).map(batch).collect::<Vec<_>>().into();
    }
    assert_eq!(failed_runs(&found(&session), "native"), []);
}

#[test]
fn a_few_pairs_that_end_differently_are_left_out_and_said() {
    let rare = |target: &str, at: u32| if target == "box" && at % 40 == 7 { BAD } else { GOOD };
    let findings = found(&session("any", rare));
    let comparison = expect_comparison(&findings.rows[0].cells[0]);
    let left_out = Warning::RunsLeftOut { end: BAD, here: 3, runs: 120, of_baseline: 0, baseline_runs: 120 };
    assert!(comparison.warnings.contains(&left_out), "{:?}", comparison.warnings);
    assert!((comparison.ratio - 1.0).abs() < 0.01, "the quick failures are not in it: {}", comparison.ratio);
    assert_eq!(comparison.rounds, ROUNDS);
    // Without -i a pair is left out as well.
    let findings = found(&session("0", rare));
    let comparison = expect_comparison(&findings.rows[0].cells[0]);
    assert_eq!(comparison.rounds, ROUNDS);
    assert!(
        comparison.warnings.iter().any(|warning| matches!(warning, Warning::RunsLeftOut { here: 3, .. }))
    );
}

#[test]
fn too_many_pairs_that_end_differently_leave_no_answer() {
    // Every third run fails on both sides, at different moments.
    for expected in ["any", "0"] {
        let findings = found(&session(expected, |target, at| {
            if (at + target.len() as u32 / 2).is_multiple_of(3) { BAD } else { GOOD }
        }));
        assert!(findings.rows[0].cells[0].comparison().is_none(), "{expected}");
    }
    // On one side: 6 of 120 are 5 %, and 8 are more.
    let on_one = |failing: u32| {
        found(&session("any", move |target, at| match target {
            "box" if at % 15 == 3 && at / 15 < failing => BAD,
            _ => GOOD,
        }))
    };
    assert!(on_one(6).rows[0].cells[0].comparison().is_some());
    assert_eq!(refusal(&on_one(8)), "8 of 120 runs ended with exit code 7, in the baseline 0 of 120");
}

#[test]
fn a_look_goes_on_while_more_runs_may_bring_an_answer() {
    // 1 of 16 pairs at the first look is more than 5 %, and says nothing yet.
    let once = session("any", |target, at| if target == "box" && at < 4 { BAD } else { GOOD });
    let ever = session("any", |target, _| if target == "box" { BAD } else { GOOD });
    let is_done = |session: &Session| {
        let case = &session.plan.cases[0].id;
        let look = session.plan.looks[0];
        let mut session = session.clone();
        session.trials.retain(|trial| trial.round < look);
        find_finished(&session, case, look)[2]
    };
    assert!(!is_done(&once), "4 of 48 pairs may be chance");
    assert!(is_done(&ever), "48 of 48 are not");
}
