//! Cells without a comparison, each with its reason.

mod ends;

use std::borrow::Cow;

use tare_analysis::Options;
use tare_analysis::compute_findings;
use tare_analysis::findings::{Cell, Findings, Missing};
use tare_data::batch::{Batch, OUTSIDE, Phase, Sample};
use tare_data::failure::{Failure, FailureKind};
use tare_data::metric::{Metric, Reading};
use tare_data::session::declared::{Promise, Times};
use tare_data::session::{PlannedCase, Session};
use tare_data::unit::Unit;
use tare_data::warning::Warning;

use crate::findings::expect_comparison;
use crate::sessions::{
    Outcome, compute_jitter, make_case, make_metric, make_session, make_timed_case, run_rounds,
};

fn found(session: &Session) -> Findings {
    compute_findings(session, &Options::default())
}

fn missing(cell: &Cell) -> &Missing {
    match cell {
        Cell::Missing(missing) => missing,
        other => panic!("no gap: {other:?}"),
    }
}

fn reason(cell: &Cell) -> &str {
    match missing(cell) {
        Missing::NotComparable { reason, level } => {
            assert!(level.rounds > 0, "the figure itself is still shown");
            reason
        }
        other => panic!("comparable: {other:?}"),
    }
}

fn resting_on(promises: &[Promise], mut planned: PlannedCase) -> PlannedCase {
    planned.declared.rests_on = promises.to_vec();
    planned
}

/// Builds a session of one case in one subject environment, all at 100 ns.
fn steady(case: PlannedCase) -> Session {
    let mut session = make_session(&["environment"], vec![case], 12);
    run_rounds(&mut session, 12, |_, target, round| Outcome::Time(100.0 * compute_jitter(target, round)));
    session
}

#[test]
fn a_metric_that_a_case_cannot_have_has_no_row() {
    let time = make_metric("time", Reading::TimePerOperation);
    let sync = Metric { series: "sync".into(), ..make_metric("sync", Reading::TimePerOperation) };
    for subjects in [&["environment"][..], &[]] {
        let read = make_case("file.seq", &[("op", "read")], None, vec![time.clone(), sync.clone()]);
        let mut session = make_session(subjects, vec![read], 12);
        run_rounds(&mut session, 12, |_, target, round| Outcome::Time(100.0 * compute_jitter(target, round)));
        let findings = found(&session);
        let rows: Vec<&str> = findings.rows.iter().map(|row| row.metric.name.as_str()).collect();
        assert_eq!(rows, ["time"]);
        // If the whole case failed, every metric is missing with that reason.
        let mut failed = session.clone();
        failed.trials.iter_mut().for_each(|trial| trial.batches = Default::default());
        assert_eq!(found(&failed).rows.len(), 2);
    }
}

#[test]
fn planned_missing_are_shown_as_planned() {
    let mut case = make_timed_case("file.queue");
    let failure = Failure::new(FailureKind::NotSupported, "io_uring is not there");
    case.missing.insert("environment".into(), failure.clone());
    let mut session = make_session(&["environment"], vec![case], 12);
    run_rounds(
        &mut session,
        12,
        |_, target, _| if target == "environment" { Outcome::Nothing } else { Outcome::Time(1.0) },
    );
    let findings = found(&session);
    assert_eq!(missing(&findings.rows[0].cells[0]), &Missing::Failed(failure));
}

#[test]
fn the_most_frequent_failure_stands_for_all() {
    let mut session = make_session(&["environment"], vec![make_timed_case("net.rr")], 12);
    let often = Failure::new(FailureKind::Broken, "connection refused");
    run_rounds(&mut session, 12, |_, target, round| match (target, round) {
        ("environment", 0..=3) => Outcome::Failed(Failure::new(FailureKind::Deadline, "10 s")),
        ("environment", _) => Outcome::Failed(often.clone()),
        _ => Outcome::Time(1.0),
    });
    assert_eq!(missing(&found(&session).rows[0].cells[0]), &Missing::Failed(often));
}

#[test]
fn some_failures_are_a_warning() {
    let mut session = make_session(&["environment"], vec![make_timed_case("net.rr")], 12);
    run_rounds(&mut session, 12, |_, target, round| match (target, round) {
        ("environment", 3 | 7) => Outcome::Failed(Failure::new(FailureKind::Deadline, "10 s")),
        _ => Outcome::Time(100.0 * compute_jitter(target, round)),
    });
    let findings = found(&session);
    let cell = expect_comparison(&findings.rows[0].cells[0]);
    assert_eq!(cell.rounds, 10);
    assert_eq!(cell.warnings, [Warning::TrialsFailed { failed: 2, of: 12 }]);
}

#[test]
fn datagrams_that_went_astray_are_a_warning() {
    let mut session = make_session(&["environment"], vec![make_timed_case("net.rr")], 12);
    run_rounds(&mut session, 12, |_, target, round| Outcome::Time(100.0 * compute_jitter(target, round)));
    assert!(expect_comparison(&found(&session).rows[0].cells[0]).warnings.is_empty());
    for (series, value) in [("lost", 2.0), ("duplicated", 1.0), ("late", 0.0)] {
        let sample = Sample::Gauge { value };
        let batch = Batch { series: series.into(), phase: Phase::Warm, started_ns: 0, sample };
        session.trials.iter_mut().for_each(|trial| trial.batches.push(batch.clone()));
    }
    let findings = found(&session);
    let astray = Warning::DatagramsAstray { lost: 24, late: 0, duplicated: 12, reordered: 0 };
    assert_eq!(expect_comparison(&findings.rows[0].cells[0]).warnings, std::slice::from_ref(&astray));
    let of_baseline = findings.warnings.iter().filter(|(_, warning)| *warning == astray);
    assert_eq!(of_baseline.count(), 1, "said of the baseline too");
}

#[test]
fn what_was_not_reached_says_so() {
    let session = make_session(&["environment"], vec![make_timed_case("net.rr")], 12);
    assert_eq!(missing(&found(&session).rows[0].cells[0]), &Missing::NotReached);
}

#[test]
fn without_a_baseline_the_target_stands_alone() {
    let mut session = make_session(&["environment"], vec![make_timed_case("net.rr")], 12);
    run_rounds(&mut session, 12, |_, target, _| match target {
        "native" => Outcome::Failed(Failure::new(FailureKind::Broken, "no route")),
        _ => Outcome::Time(100.0),
    });
    let findings = found(&session);
    assert!(
        matches!(missing(&findings.rows[0].cells[0]), Missing::NoBaseline(level) if level.median == 100.0)
    );
    assert_eq!(findings.rows[0].baseline, None);
}

#[test]
fn zero_has_no_ratio_and_nonsense_is_no_figure() {
    let gauge = make_case("time.spin", &[], None, vec![make_metric("stolen", Reading::Gauge)]);
    for (value, is_level) in [(0.0, true), (-1.0, true), (f64::NAN, false), (f64::INFINITY, false)] {
        let mut session = make_session(&["environment"], vec![gauge.clone()], 12);
        run_rounds(&mut session, 12, |_, target, _| {
            Outcome::Gauge(if target == "environment" { value } else { 5.0 })
        });
        let findings = found(&session);
        let cell = &findings.rows[0].cells[0];
        if is_level {
            assert_eq!(reason(cell), "a value of zero or less has no ratio");
        } else {
            assert!(
                matches!(missing(cell), Missing::Failed(failure) if failure.kind == FailureKind::WrongWork),
                "{cell:?}"
            );
        }
    }
}

#[test]
fn a_maximum_is_observed_never_judged() {
    let metrics = vec![make_metric("p50", Reading::Quantile(0.5)), make_metric("max", Reading::Maximum)];
    let mut session = make_session(&["environment"], vec![make_case("net.rr", &[], None, metrics)], 12);
    run_rounds(&mut session, 12, |_, target, round| {
        let times = (0..100)
            .map(|i| 1000 + i + u64::from(round) * if target == "environment" { 50 } else { 1 })
            .collect();
        Outcome::Times(times)
    });
    let findings = found(&session);
    expect_comparison(&findings.rows[0].cells[0]);
    assert!(matches!(&findings.rows[1].cells[0], Cell::Observed(level) if level.rounds == 12));
}

#[test]
fn tails_need_operations() {
    let metrics =
        vec![make_metric("p50", Reading::Quantile(0.5)), make_metric("p99", Reading::Quantile(0.99))];
    let mut session = make_session(&["environment"], vec![make_case("net.rr", &[], None, metrics)], 12);
    run_rounds(&mut session, 12, |_, _, round| {
        Outcome::Times((0..367).map(|i| 1000 + i + u64::from(round)).collect())
    });
    let findings = found(&session);
    expect_comparison(&findings.rows[0].cells[0]);
    assert_eq!(reason(&findings.rows[1].cells[0]), "too few operations a trial for p99: 367 of 368");
}

#[test]
fn an_emulated_processor_is_not_compared_with_a_real_one() {
    let of_processor = |mut planned: PlannedCase| {
        planned.declared.times = Times::Processor;
        planned
    };
    let mut session = steady(of_processor(make_timed_case("cpu.primes")));
    session.facts[2].inside.add_fact("cpu.emulated", "yes");
    let findings = found(&session);
    assert_eq!(reason(&findings.rows[0].cells[0]), "the processor is emulated");
    assert!(findings.warnings.contains(&(Some("environment".into()), Warning::EmulatedProcessor)));
    let mut other = steady(make_timed_case("cpu.primes"));
    other.facts[2].inside.add_fact("cpu.emulated", "yes");
    expect_comparison(&found(&other).rows[0].cells[0]);
    session.facts.iter_mut().for_each(|facts| facts.inside.add_fact("cpu.emulated", "yes"));
    expect_comparison(&found(&session).rows[0].cells[0]);
}

#[test]
fn a_coarse_clock_times_no_single_operations() {
    let metrics =
        vec![make_metric("p50", Reading::Quantile(0.5)), make_metric("time", Reading::TimePerOperation)];
    let mut session = make_session(&["environment"], vec![make_case("net.rr", &[], None, metrics)], 12);
    run_rounds(&mut session, 12, |_, _, round| {
        Outcome::Times((0..40).map(|i| 9000 + i + u64::from(round)).collect())
    });
    session.facts[2].inside.add_fact("clock.step_ns", "4000000");
    let findings = found(&session);
    assert_eq!(reason(&findings.rows[0].cells[0]), "its clock moves in steps of 4000000 ns");
    expect_comparison(&findings.rows[1].cells[0]);
    assert!(
        findings
            .warnings
            .contains(&(Some("environment".into()), Warning::CoarseClock { step_ns: 4_000_000 }))
    );
}

#[test]
fn dishonest_places_are_not_compared() {
    let time = || vec![make_metric("time", Reading::TimePerOperation)];
    let rows = [
        ("honesty.sync", &[Promise::Sync][..]),
        ("honesty.sync", &[Promise::Sync, Promise::EachWrite]),
        ("honesty.dsync", &[Promise::Sync, Promise::EachWrite]),
        ("honesty.direct", &[Promise::Direct]),
        ("honesty.cache", &[Promise::CacheControl]),
    ];
    for (key, promises) in rows {
        let planned = resting_on(promises, make_case("file.any", &[], Some("own"), time()));
        let mut session = steady(planned.clone());
        expect_comparison(&found(&session).rows[0].cells[0]);
        session.facts[2].places.get_mut("own").unwrap().add_fact(key, "ok");
        expect_comparison(&found(&session).rows[0].cells[0]);
        session.facts[2].places.get_mut("own").unwrap().add_fact(key, "costs nothing here");
        assert_eq!(reason(&found(&session).rows[0].cells[0]), "costs nothing here", "{key} {}", planned.id);
        let mut of_baseline = steady(planned);
        of_baseline.facts[0].places.get_mut("own").unwrap().add_fact(key, "costs nothing here");
        let findings = found(&of_baseline);
        assert_eq!(reason(&findings.rows[0].cells[0]), "in the baseline: costs nothing here");
    }
    for others in [&[][..], &[Promise::Direct], &[Promise::CacheControl, Promise::MemoryCounters]] {
        let mut buffered = steady(resting_on(others, make_case("file.any", &[], Some("own"), time())));
        buffered.facts[2].places.get_mut("own").unwrap().add_fact("honesty.sync", "costs nothing here");
        expect_comparison(&found(&buffered).rows[0].cells[0]);
    }
}

#[test]
fn what_the_host_says_of_a_place_counts_where_the_inside_sees_nothing() {
    let time = || vec![make_metric("time", Reading::TimePerOperation)];
    let of_share = |promise| resting_on(&[promise], make_case("file.any", &[], Some("share"), time()));
    let synced = || of_share(Promise::Sync);
    let cold = || of_share(Promise::CacheControl);
    let rows = [
        (synced(), "outside.filesystem", "tmpfs", "the host keeps this place in memory (tmpfs)"),
        (cold(), "outside.filesystem", "tmpfs", "the host keeps this place in memory (tmpfs)"),
        (
            synced(),
            "outside.options",
            "rw,fsync=volatile",
            "the host mounts it volatile: fdatasync does nothing",
        ),
        (cold(), "outside.image_direct", "no", "its image is read through the host's page cache"),
    ];
    for (planned, key, value, expected) in rows {
        let mut session = steady(planned);
        let mut facts = tare_data::facts::Facts::default();
        for honest in ["honesty.sync", "honesty.direct", "honesty.cache"] {
            facts.add_fact(honest, "ok");
        }
        facts.add_fact("outside.filesystem", "ext4");
        session.facts[2].places.insert("share".into(), facts);
        expect_comparison(&found(&session).rows[0].cells[0]);
        session.facts[2].places.get_mut("share").unwrap().add_fact(key, value);
        assert_eq!(reason(&found(&session).rows[0].cells[0]), expected);
    }
}

#[test]
fn an_environments_own_word_on_memory_must_be_honest() {
    let bytes = |name: &str, series: &str| Metric {
        unit: Unit::Bytes,
        series: series.into(),
        ..make_metric(name, Reading::TimePerOperation)
    };
    let metrics = vec![
        make_metric("time", Reading::TimePerOperation),
        bytes("memory", "work"),
        bytes("host's", OUTSIDE),
    ];
    let mut session =
        steady(resting_on(&[Promise::MemoryCounters], make_case("proc.hold", &[], None, metrics)));
    for trial in &mut session.trials {
        let of_host = |batch: Cow<'_, Batch>| Batch { series: OUTSIDE.into(), ..batch.into_owned() };
        let of_host: Vec<Batch> = trial.batches.iter_series("work").map(of_host).collect();
        of_host.into_iter().for_each(|batch| trial.batches.push(batch));
    }
    session.facts[2].inside.add_fact("honesty.memory", "does not move when memory is touched");
    let findings = found(&session);
    expect_comparison(&findings.rows[0].cells[0]);
    assert_eq!(reason(&findings.rows[1].cells[0]), "does not move when memory is touched");
    expect_comparison(&findings.rows[2].cells[0]);
}

#[test]
fn a_gauge_that_some_trials_show_says_who_lacks_it_and_none_failed() {
    let processor = Metric { series: "processor".into(), ..make_metric("processor", Reading::Gauge) };
    let case =
        make_case("file.sync", &[], None, vec![make_metric("time", Reading::TimePerOperation), processor]);
    let shown_by = |shows: fn(&str, u32) -> bool| {
        let mut session = make_session(&["environment", "left out"], vec![case.clone()], 12);
        run_rounds(&mut session, 12, |_, target, round| match target {
            "left out" => Outcome::Nothing,
            _ => Outcome::Time(100.0 * compute_jitter(target, round)),
        });
        for trial in session.trials.iter_mut().filter(|trial| shows(&trial.target, trial.round)) {
            let sample = Sample::Gauge { value: 2.0 };
            let gauge = Batch { series: "processor".into(), phase: Phase::Warm, started_ns: 0, sample };
            trial.batches =
                trial.batches.iter().map(Cow::into_owned).chain([gauge]).collect::<Vec<_>>().into();
        }
        found(&session)
    };
    assert_eq!(shown_by(|_, _| false).rows.len(), 1, "nobody shows it");
    let findings = shown_by(|target, round| target != "environment" && round % 2 == 0);
    let row = &findings.rows[1];
    assert_eq!(row.baseline.as_ref().map(|level| (level.median, level.rounds)), Some((2.0, 6)));
    assert!(
        matches!(missing(&row.cells[0]), Missing::Failed(failure) if failure.reason == "no trial there shows it: processor")
    );
    let warns = |findings: &Findings| {
        let mut cells = findings.rows.iter().flat_map(|row| &row.cells).filter_map(Cell::comparison);
        let of_trials = |warning: &Warning| matches!(warning, Warning::TrialsFailed { .. });
        cells.any(|comparison| comparison.warnings.iter().any(of_trials))
    };
    let findings = shown_by(|_, round| round % 4 != 0);
    expect_comparison(&findings.rows[1].cells[0]);
    assert!(!warns(&findings), "a trial without a gauge has not failed");
    // A headline is what a trial is for.
    let spin = make_case("time.spin", &[], None, vec![make_metric("longest", Reading::Gauge)]);
    let mut session = make_session(&["environment"], vec![spin], 24);
    run_rounds(&mut session, 24, |_, target, round| Outcome::Gauge(100.0 * compute_jitter(target, round)));
    let lacking = session.trials.iter_mut().filter(|trial| trial.target != "native" && trial.round % 3 == 0);
    lacking.for_each(|trial| trial.batches = Default::default());
    assert!(warns(&found(&session)));
}
