//! Findings on sessions whose truth is known.

mod commands;

use tare_analysis::findings::{Cell, Comparison, Family, Interval, Kind, Leading, Needed, Row, Verdict};
use tare_analysis::{Options, compute_findings};
use tare_data::metric::Reading;
use tare_data::session::{Ending, RepeatedRound, Session};
use tare_data::warning::Warning;

use crate::sessions::{
    Outcome, compute_jitter, find_finished, high, low, make_case, make_metric, make_session, make_timed_case,
    run_rounds,
};

pub fn expect_comparison(cell: &Cell) -> &Comparison {
    match cell {
        Cell::Compared(comparison) => comparison,
        other => panic!("not compared: {other:?}"),
    }
}

fn verdicts(row: &Row) -> Vec<Verdict> {
    row.cells.iter().map(|cell| expect_comparison(cell).verdict).collect()
}

/// Builds a session of two subjects: one that costs nothing, one that costs a multiple of everything but
/// computing.
fn two_subjects(rounds: u32) -> Session {
    let mut session = make_session(
        &["docker", "gvisor"],
        vec![make_timed_case("sys.getppid"), make_timed_case("cpu.primes"), make_timed_case("ipc.pipe")],
        40,
    );
    run_rounds(&mut session, rounds, |case, target, round| {
        let cost = match (target, case) {
            ("gvisor", "sys.getppid") => 24.0,
            ("gvisor", "ipc.pipe") => 19.0,
            _ => 1.0,
        };
        Outcome::Time(170.0 * cost * compute_jitter(target, round))
    });
    session
}

#[test]
fn what_takes_long_within_rounds_is_in_the_mean_and_said() {
    let mut session = make_session(&["docker"], vec![make_timed_case("sys.getppid")], 60);
    run_rounds(&mut session, 60, |_, target, round| {
        // Every tenth batch takes four times as long: the median of a trial does not change.
        let stall = if target == "docker" { 3.0 } else { 0.0 };
        let batch = |at: u32| {
            170.0 * compute_jitter(target, round) * (1.0 + stall * f64::from(u8::from(at % 10 == 1)))
        };
        Outcome::Stretches((0..21).map(batch).collect())
    });
    let findings = compute_findings(&session, &Options::default());
    let docker = expect_comparison(&findings.rows[0].cells[0]);
    assert!((0.98..1.02).contains(&low(docker.interval)) && high(docker.interval) < 1.02, "{docker:?}");
    assert_eq!(docker.verdict, Verdict::TypicallySame);
    assert_eq!(docker.answer().kind(), Kind::Same);
    let Some(Warning::MeanCost { ratio, low, .. }) = docker.warnings.first() else {
        panic!("{:?}", docker.warnings)
    };
    assert!((1.28..1.32).contains(ratio) && *low > 1.2, "{ratio} {low}");
}

#[test]
fn a_layer_is_found_where_it_costs_and_only_there() {
    let findings = compute_findings(&two_subjects(40), &Options::default());
    assert_eq!(findings.baseline, "native");
    assert_eq!(findings.subjects, ["docker", "gvisor"]);
    let [getppid, primes, pipe] = &findings.rows[..] else { panic!("three rows") };
    assert_eq!(verdicts(getppid), [Verdict::Same, Verdict::Slower]);
    assert_eq!(verdicts(primes), [Verdict::Same, Verdict::Same]);
    assert_eq!(verdicts(pipe), [Verdict::Same, Verdict::Slower]);
    let slower = expect_comparison(&getppid.cells[1]);
    assert!((slower.ratio / 24.0 - 1.0).abs() < 0.01 && slower.interval.contains(24.0), "{slower:?}");
    assert!((slower.difference / (23.0 * 170.0) - 1.0).abs() < 0.01, "{}", slower.difference);
    assert_eq!((slower.rounds, slower.decided_at, slower.leading), (40, Some(12), Leading::HodgesLehmann));
    assert_eq!(expect_comparison(getppid.control.as_ref().unwrap()).verdict, Verdict::Same);
    let level = getppid.baseline.as_ref().unwrap();
    assert!(level.low <= level.median && level.median <= level.high && level.values.len() == 40);
}

#[test]
fn the_sentences_have_their_facts() {
    let findings = compute_findings(&two_subjects(40), &Options::default());
    let families: Vec<Family> = findings.rows.iter().map(|row| Family::from_probe(&row.probe)).collect();
    assert_eq!(families, [Family::SystemCall, Family::Cpu, Family::Ipc]);
    let of_rows: Vec<Vec<Verdict>> = findings.rows.iter().map(verdicts).collect();
    let slower = [Verdict::Same, Verdict::Slower];
    assert_eq!(
        of_rows,
        [slower, [Verdict::Same; 2], slower],
        "docker costs nothing, gVisor all but computing"
    );
    let certificate = &findings.certificate;
    assert_eq!((certificate.control_cells, certificate.control_coloured, certificate.banner), (3, 0, false));
    assert_eq!((certificate.decided, certificate.compared), (6, 6));
    let smallest = certificate.smallest_effect.unwrap();
    assert!(smallest > 1.0 && smallest < 1.02, "{smallest}");
    assert!(findings.warnings.is_empty(), "{:?}", findings.warnings);
}

#[test]
fn direction_turns_rates_into_costs() {
    let rate = make_case("net.rr", &[], None, vec![make_metric("rate", Reading::OperationsPerSecond)]);
    let mut session = make_session(&["slow"], vec![rate], 12);
    run_rounds(&mut session, 12, |_, target, round| {
        Outcome::Time(if target == "slow" { 200.0 } else { 100.0 } * compute_jitter(target, round))
    });
    let findings = compute_findings(&session, &Options::default());
    let cell = expect_comparison(&findings.rows[0].cells[0]);
    assert_eq!(cell.verdict, Verdict::Slower);
    assert!((cell.ratio - 2.0).abs() < 0.02, "half the rate is twice the cost: {}", cell.ratio);
    assert!(cell.difference < 0.0, "and five million fewer a second: {}", cell.difference);
}

#[test]
fn five_rounds_tell_nothing_and_say_how_many_would() {
    for (slow_ns, needed) in [(200.0, 6), (101.0, 29)] {
        let mut session = make_session(&["slow"], vec![make_timed_case("sys.getppid")], 5);
        run_rounds(&mut session, 5, |_, target, round| {
            Outcome::Time(if target == "slow" { slow_ns } else { 100.0 } * compute_jitter(target, round))
        });
        let findings = compute_findings(&session, &Options::default());
        let cell = expect_comparison(&findings.rows[0].cells[0]);
        let expected = (Verdict::Inconclusive, Some(Needed::Rounds(needed)));
        assert_eq!((cell.verdict, cell.needed), expected, "{slow_ns}");
        assert_eq!(cell.interval, Interval::UNKNOWN);
        assert_eq!(findings.certificate.smallest_effect, None);
    }
}

#[test]
fn a_baseline_that_differs_from_itself_raises_the_margin() {
    let mut session = make_session(&["near", "far"], vec![make_timed_case("sys.getppid")], 12);
    run_rounds(&mut session, 12, |_, target, round| {
        let cost = match target {
            "again" => 1.05,
            "near" => 1.04,
            "far" => 1.20,
            _ => 1.0,
        };
        Outcome::Time(100.0 * cost * compute_jitter(target, round))
    });
    let findings = compute_findings(&session, &Options::default());
    let row = &findings.rows[0];
    // 4 % is not the same, but a session that sees 5 % where there is nothing cannot call it a difference.
    assert_eq!(verdicts(row), [Verdict::SlowerUnclear, Verdict::Slower]);
    assert_eq!(expect_comparison(row.control.as_ref().unwrap()).verdict, Verdict::Slower);
    assert!(findings.certificate.banner);
    assert_eq!(findings.warnings[0], (None, Warning::ControlColoured { coloured: 1, cells: 1 }));
}

#[test]
fn a_wider_margin_can_be_asked_for() {
    let mut session = make_session(&["environment"], vec![make_timed_case("sys.getppid")], 40);
    run_rounds(&mut session, 40, |_, target, round| {
        Outcome::Time(if target == "environment" { 104.0 } else { 100.0 } * compute_jitter(target, round))
    });
    let at =
        |margin| verdicts(&compute_findings(&session, &Options { margin, ..Options::default() }).rows[0])[0];
    assert_eq!(at(None), Verdict::Slower);
    assert_eq!(at(Some(libm::log(1.1))), Verdict::SlightlySlower);
    assert_eq!(at(Some(f64::NAN)), Verdict::Slower, "no margin is the usual one");
}

#[test]
fn disturbed_attempts_do_not_count() {
    let mut session = make_session(&["environment"], vec![make_timed_case("sys.getppid")], 12);
    run_rounds(&mut session, 12, |_, target, round| Outcome::Time(100.0 * compute_jitter(target, round)));
    let mut disturbed = session.trials.clone();
    disturbed.retain(|trial| trial.round == 3);
    for trial in &mut disturbed {
        trial.batches = crate::sessions::make_trial("", "", 0, Outcome::Time(9e9)).batches;
    }
    for trial in session.trials.iter_mut().filter(|trial| trial.round == 3) {
        trial.attempt = 1;
    }
    session.trials.extend(disturbed);
    let repeated =
        RepeatedRound { case: "sys.getppid".into(), round: 3, attempt: 0, reason: "steal 20 %".into() };
    session.repeated.push(repeated);
    let findings = compute_findings(&session, &Options::default());
    let level = findings.rows[0].baseline.as_ref().unwrap();
    assert_eq!(level.rounds, 12);
    assert!(level.values.iter().all(|value| *value < 101.0));
    assert!(findings.warnings.contains(&(None, Warning::RoundsRepeated { repeated: 1, kept: 12 })));
    assert_eq!(findings.certificate.repeated, 1);
}

#[test]
fn a_session_that_broke_off_says_so() {
    let mut session = two_subjects(15);
    session.ending = Ending::BrokenOff;
    let findings = compute_findings(&session, &Options::default());
    assert!(findings.warnings.contains(&(None, Warning::BrokenOff { rounds: 15, planned: Some(40) })));
    assert_eq!(expect_comparison(&findings.rows[0].cells[1]).verdict, Verdict::Slower);
}

#[test]
fn further_metrics_get_a_verdict_of_their_own() {
    let metrics = vec![
        make_metric("time", Reading::TimePerOperation),
        make_metric("rate", Reading::OperationsPerSecond),
    ];
    let mut session = make_session(&["slow"], vec![make_case("sys.mix", &[], None, metrics)], 12);
    run_rounds(&mut session, 12, |_, target, round| {
        Outcome::Time(if target == "slow" { 200.0 } else { 100.0 } * compute_jitter(target, round))
    });
    let findings = compute_findings(&session, &Options::default());
    let cells: Vec<&Comparison> = findings.rows.iter().map(|row| expect_comparison(&row.cells[0])).collect();
    assert_eq!([cells[0].verdict, cells[1].verdict], [Verdict::Slower; 2]);
    assert_eq!([findings.rows[0].headline, findings.rows[1].headline], [true, false]);
}

#[test]
fn skewed_differences_lead_with_signs_and_groups_are_counted() {
    let mut session = make_session(&["skewed", "modal"], vec![make_timed_case("time.wakeup")], 40);
    run_rounds(&mut session, 40, |_, target, round| {
        let cost = match target {
            // A third of the rounds stalls, by ever more.
            "skewed" if round % 3 == 0 => 1.2 + f64::from(round) / 20.0,
            "modal" if round % 2 == 0 => 1.5,
            _ => 1.0,
        };
        Outcome::Time(1000.0 * cost * compute_jitter(target, round))
    });
    let findings = compute_findings(&session, &Options::default());
    let [skewed, modal] = [0, 1].map(|at| expect_comparison(&findings.rows[0].cells[at]));
    assert_eq!(skewed.leading, Leading::Sign);
    assert!(skewed.warnings.iter().any(|c| matches!(c, Warning::SkewedTail { .. })), "{:?}", skewed.warnings);
    assert_eq!(modal.leading, Leading::HodgesLehmann, "the median lies between its two groups");
    let [Warning::Modal { groups }] = &modal.warnings[..] else { panic!("{:?}", modal.warnings) };
    let figures: Vec<_> = groups.iter().map(|group| (group.share, (group.ratio * 100.0).round())).collect();
    assert_eq!(figures, [(0.5, 100.0), (0.5, 150.0)]);
}

#[test]
fn rounds_that_share_starts_are_compared_by_start() {
    // Twelve starts of five rounds; each start is a lot faster or slower as a whole.
    let mut session = make_session(&["vm"], vec![make_timed_case("cpu.primes")], 60);
    run_rounds(&mut session, 60, |_, target, round| {
        let of_start =
            if target == "vm" { 1.0 + 8.0 * (compute_jitter("start", round / 5) - 1.0) } else { 1.0 };
        Outcome::Time(1000.0 * of_start * compute_jitter(target, round))
    });
    for trial in session.trials.iter_mut().filter(|trial| trial.target == "vm") {
        trial.start = trial.round / 5;
    }
    let by_start = compute_findings(&session, &Options::default());
    let cell = expect_comparison(&by_start.rows[0].cells[0]).clone();
    let starts = cell.starts.unwrap();
    assert_eq!((starts.starts, cell.rounds), (12, 60));
    assert!(starts.between.unwrap() > 0.8 && starts.design_effect.unwrap() > 4.0, "{starts:?}");
    assert!(
        by_start.warnings.contains(&(Some("vm".into()), Warning::SharedStarts { starts: 12, rounds: 60 }))
    );
    for trial in &mut session.trials {
        trial.start = trial.round;
    }
    let by_round = compute_findings(&session, &Options::default());
    let cell = expect_comparison(&by_round.rows[0].cells[0]);
    let alike = |warning: &Warning| matches!(warning, Warning::RoundsAlike { rounds: 5.., .. });
    assert!(cell.warnings.iter().any(alike), "where starts are not known they are found: {cell:?}");
}

#[test]
fn a_target_started_once_is_never_decided() {
    let mut session = make_session(&["vm"], vec![make_timed_case("sys.getppid")], 18);
    run_rounds(&mut session, 18, |_, target, round| {
        Outcome::Time(if target == "vm" { 300.0 } else { 100.0 } * compute_jitter(target, round))
    });
    let shown = |session: &Session| {
        expect_comparison(&compute_findings(session, &Options::default()).rows[0].cells[0]).clone()
    };
    assert_eq!(shown(&session).verdict, Verdict::Slower);
    for side in ["vm", "native"] {
        let mut session = session.clone();
        session.trials.iter_mut().filter(|t| t.target == side).for_each(|t| t.start = 0);
        let cell = shown(&session);
        assert_eq!(
            (cell.verdict, cell.needed),
            (Verdict::SlowerInFewStarts, Some(Needed::Starts(8))),
            "{side}"
        );
        assert_eq!((cell.interval, cell.decided_at), (Interval::UNKNOWN, None));
        assert!((cell.ratio / 3.0 - 1.0).abs() < 0.01);
        let warnings = compute_findings(&session, &Options::default()).warnings;
        assert!(warnings.contains(&(Some("vm".into()), Warning::SharedStarts { starts: 1, rounds: 18 })));
        let decided = find_finished(&session, "sys.getppid", 18);
        assert!(!decided[2], "it stays where {side} started once");
    }
}

#[test]
fn frames_that_arrive_late_are_no_fault_of_a_clock() {
    let mut session =
        make_session(&["container"], vec![make_timed_case("cpu.primes"), make_timed_case("ipc.pipe")], 18);
    run_rounds(&mut session, 18, |_, target, round| Outcome::Time(1000.0 * compute_jitter(target, round)));
    // Both sides have the same clock; the last frame of the longer trials comes later than in short ones, or their first one does, as
    // seen on a machine whose hypervisor takes processors away.
    for (longest, late) in [(44_000_000, 150_000), (144_000_000, -480_000)] {
        for trial in &mut session.trials {
            let (long, late) = if trial.case == "cpu.primes" { (longest, late) } else { (14_000_000, 0) };
            trial.agent_elapsed_ns = Some(long);
            trial.host_elapsed_ns = long.saturating_add_signed(late) + u64::from(trial.round % 5) * 1_000;
        }
        assert_eq!(compute_findings(&session, &Options::default()).warnings, []);
    }
}

#[test]
fn canary_and_clocks_are_watched() {
    let mut session = make_session(
        &["throttled", "skewed clock"],
        vec![make_timed_case("cpu.primes"), make_timed_case("sys.getppid")],
        18,
    );
    run_rounds(&mut session, 18, |_, target, round| Outcome::Time(1000.0 * compute_jitter(target, round)));
    for trial in &mut session.trials {
        let wobble = (f64::from(trial.round % 5) - 2.0) * 1e3;
        let throttled = if trial.target == "throttled" { 1.3 } else { 1.0 };
        trial.inside.canary_ns = Some((1e6 * throttled + wobble) as u64);
        // Entering takes the host 30 ms that the agent cannot see; one clock is 5 % slow on top.
        let long = if trial.case == "cpu.primes" { 1e9 } else { 1e8 };
        let pace = if trial.target == "skewed clock" { 0.95 } else { 1.0 };
        trial.host_elapsed_ns = (long + 3e7 + wobble) as u64;
        trial.agent_elapsed_ns = Some((long * pace) as u64);
    }
    let findings = compute_findings(&session, &Options::default());
    let of_target = |target: &str| {
        findings
            .warnings
            .iter()
            .filter(|(name, _)| name.as_deref() == Some(target))
            .map(|(_, c)| c)
            .collect::<Vec<_>>()
    };
    assert!(
        matches!(of_target("throttled")[..], [Warning::CanaryOutside { ratio }] if (ratio - 1.3).abs() < 0.01)
    );
    assert!(
        matches!(of_target("skewed clock")[..], [Warning::ClockDisagrees { parts_per_million }] if (parts_per_million + 50_000.0).abs() < 500.0),
        "{:?}",
        of_target("skewed clock")
    );
    assert!(of_target("native").is_empty() && of_target("again").is_empty());
    let warned = |row: usize| expect_comparison(&findings.rows[row].cells[0]).warnings.len();
    assert_eq!((warned(0), warned(1)), (1, 0), "processor cells only");
}

#[test]
fn an_order_that_changes_what_a_mechanism_adds_is_found_and_one_that_does_not_is_not() {
    use tare_analysis::orders::{Exchange, compare_orders};
    let exchanges = [
        Exchange { step: 1, forward: [0, 1], reverse: [3, 2] },
        Exchange { step: 2, forward: [1, 2], reverse: [0, 3] },
    ];
    // The first adds 20 %, the second 10 %, and both together add the given share.
    let effects = |together: f64| {
        let subjects = ["below", "first", "both", "second"];
        let mut session = make_session(&subjects, vec![make_timed_case("sys.getppid")], 24);
        run_rounds(&mut session, 24, |_, target, round| {
            let cost = match target {
                "first" => 1.2,
                "second" => 1.1,
                "both" => together,
                _ => 1.0,
            };
            Outcome::Time(100.0 * cost * compute_jitter(target, round))
        });
        compare_orders(&session, &Options::default(), &exchanges)
    };
    let [first, second] = <[_; 2]>::try_from(effects(1.2 * 1.1)).unwrap();
    assert!(!first.differs && !second.differs, "{first:?} {second:?}");
    assert!((first.ratio - 1.0).abs() < 0.01 && first.interval.contains(1.0));
    // Each costs more where the other is there already.
    let [first, second] = <[_; 2]>::try_from(effects(1.5)).unwrap();
    assert!(first.differs && second.differs);
    let more = 1.5 / (1.2 * 1.1);
    assert!((second.ratio / more - 1.0).abs() < 0.01, "it comes second: {second:?}");
    assert!((first.ratio * more - 1.0).abs() < 0.01, "{first:?}");
    assert!(compare_orders(&make_session(&["a"], Vec::new(), 1), &Options::default(), &exchanges).is_empty());
}
