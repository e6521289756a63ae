//! Gates on findings of known verdicts.

use tare_analysis::findings::*;
use tare_analysis::gate::{Answer, Condition, Kind, Outcome, TargetNames, judge};
use tare_data::failure::{Failure, FailureKind};
use tare_data::metric::{Metric, Reading};
use tare_data::session::Ending;
use tare_data::unit::{Direction, Unit};

fn level() -> Level {
    Level { median: 1.0, low: 1.0, high: 1.0, rounds: 12, values: vec![1.0; 12] }
}

fn compared(verdict: Verdict, coloured: bool, low: f64, high: f64) -> Cell {
    Cell::Compared(Box::new(Comparison {
        level: level(),
        rounds: 12,
        ratio: (low * high).sqrt(),
        low,
        high,
        sign_low: low,
        sign_high: high,
        leading: Leading::HodgesLehmann,
        p: 0.01,
        verdict,
        coloured,
        decided_at: None,
        rounds_to_tell: None,
        difference: 0.0,
        starts: None,
        warnings: vec![],
    }))
}

fn row(case: &str, cells: Vec<Cell>) -> Row {
    let metric = Metric {
        name: "time".into(),
        series: "call".into(),
        reading: Reading::TimePerOperation,
        unit: Unit::Nanoseconds,
        direction: Direction::Lower,
    };
    Row {
        case: case.into(),
        probe: case.split(['?', '@']).next().unwrap().into(),
        label: case.into(),
        place: None,
        peer: None,
        metric,
        headline: true,
        baseline: Some(level()),
        cells,
        control: None,
        published: Vec::new(),
    }
}

/// Two environments; gvisor is slower by 24, oci-crun cannot be told; a file case that one environment does not have.
fn findings() -> Findings {
    let missing = Cell::Missing(Missing::Failed(Failure::new(FailureKind::NotSupported, "no io_uring")));
    Findings {
        baseline: "native".into(),
        subjects: vec!["gvisor".into(), "oci-crun".into()],
        rows: vec![
            row(
                "sys.getppid",
                vec![
                    compared(Verdict::Slower, true, 23.0, 25.0),
                    compared(Verdict::Inconclusive, false, 0.9, 1.1),
                ],
            ),
            row("file.queue?bs=4KiB@own", vec![missing, compared(Verdict::Same, false, 0.99, 1.01)]),
            Row {
                headline: false,
                ..row(
                    "sys.getppid",
                    vec![
                        compared(Verdict::Slower, true, 90.0, 99.0),
                        compared(Verdict::Slower, true, 90.0, 99.0),
                    ],
                )
            },
        ],
        certificate: Certificate {
            control_cells: 0,
            control_coloured: 0,
            banner: false,
            smallest_effect: None,
            decided: 2,
            compared: 3,
            repeated: 0,
        },
        warnings: vec![],
        costs: vec![],
        ending: Ending::Complete,
    }
}

const TARGETS: [TargetNames<'static>; 2] = [
    TargetNames { name: "gvisor", specification: "gvisor" },
    TargetNames { name: "oci-crun", specification: "oci:crun" },
];

fn outcome(conditions: &[&str]) -> Outcome {
    let conditions: Vec<Condition> = conditions.iter().map(|text| text.parse().unwrap()).collect();
    judge(&findings(), &TARGETS, &conditions)
}

/// Tripped, passed, undecided, missing; whether it is shut.
fn counts(conditions: &[&str]) -> ([usize; 4], bool) {
    let outcome = outcome(conditions);
    let all = [Answer::Trips, Answer::Passes, Answer::Undecided, Answer::Missing];
    (all.map(|answer| outcome.count(answer)), outcome.is_shut())
}

#[test]
fn a_condition_chooses_targets_and_cases() {
    assert_eq!(counts(&["slower"]), ([1, 1, 1, 1], true));
    assert_eq!(counts(&["slower:gvisor"]), ([1, 0, 0, 1], true));
    assert_eq!(counts(&["slower:oci:crun"]), ([0, 1, 1, 0], false));
    assert_eq!(counts(&["slower:oci-crun:file.*"]), ([0, 1, 0, 0], false));
    assert_eq!(counts(&["slower:oci:crun:sys.getppid"]), ([0, 0, 1, 0], false));
    assert_eq!(counts(&["slower:*:file.queue"]), ([0, 1, 0, 1], false));
    assert_eq!(counts(&["slower:*:file.queue*bs=4KiB*"]), ([0, 1, 0, 1], false));
    assert_eq!(outcome(&["slower:gvsior", "slower"]).idle, ["slower:gvsior"]);
}

#[test]
fn a_ratio_trips_when_the_whole_interval_lies_beyond_it() {
    assert_eq!(counts(&["slower:gvisor:sys.*>20"]), ([1, 0, 0, 0], true));
    assert_eq!(counts(&["slower:gvisor:sys.*>24"]), ([0, 0, 1, 0], false));
    assert_eq!(counts(&["slower:gvisor:sys.*>25"]), ([0, 1, 0, 0], false));
    // Wide, but all of it below the ratio: that is an answer.
    assert_eq!(counts(&["slower:oci-crun:sys.*>1.2"]), ([0, 1, 0, 0], false));
}

#[test]
fn what_cannot_be_told_and_what_is_missing_are_conditions_of_their_own() {
    assert_eq!(counts(&["undecided"]), ([1, 2, 0, 1], true));
    assert_eq!(counts(&["undecided:gvisor"]), ([0, 1, 0, 1], false));
    assert_eq!(counts(&["missing"]), ([1, 3, 0, 0], true));
    assert_eq!(counts(&["slower:oci:crun", "undecided"]).0, [1, 2, 0, 1]);
    let both = outcome(&["slower>30", "missing"]);
    assert_eq!(both.of(1, 0).unwrap().condition, "missing");
    assert_eq!(both.of(0, 1).unwrap().answer, Answer::Passes);
    assert_eq!(both.of(2, 0), None, "only headlines are judged");
}

#[test]
fn a_gate_before_which_nothing_could_be_compared_is_shut() {
    assert_eq!(counts(&["slower:gvisor:file.*"]), ([0, 0, 0, 1], true));
}

#[test]
fn a_verdict_that_may_be_chance_trips_nothing() {
    let condition: Condition = "slower".parse().unwrap();
    let answer = |verdict, coloured| condition.answer(&compared(verdict, coloured, 1.1, 1.2));
    assert_eq!(answer(Verdict::Slower, true), Answer::Trips);
    assert_eq!(answer(Verdict::Slower, false), Answer::Undecided);
    assert_eq!(answer(Verdict::SlowerUnclear, true), Answer::Undecided);
    assert_eq!(answer(Verdict::FasterUnclear, true), Answer::Passes);
    let beyond: Condition = "slower>1.05".parse().unwrap();
    assert_eq!(beyond.answer(&compared(Verdict::Slower, false, 1.1, 1.2)), Answer::Undecided);
    assert_eq!(beyond.answer(&compared(Verdict::Inconclusive, false, 0.0, f64::INFINITY)), Answer::Undecided);
}

#[test]
fn what_is_no_condition_says_why() {
    let wrong = |text: &str| text.parse::<Condition>().unwrap_err();
    assert!(wrong("slow").contains("slower, undecided, gap"));
    assert!(wrong("slower:").contains("slower:gvisor"));
    assert!(wrong("slower>0.9").contains("at least 1"));
    assert!(wrong("slower>NaN").contains("at least 1"));
    assert!(wrong("slower>inf").contains("at least 1"));
    assert!(wrong("undecided>2").contains("no ratio"));
    assert!(wrong("regressed").contains("no condition"));
    assert!(Condition::of_two("slower").is_err());
    let read = Condition::of_two("regressed:gvisor:file.*>1.1x").unwrap();
    assert_eq!(
        (read.kind, read.beyond, read.to_string().as_str()),
        (Kind::Regressed, Some(1.1), "regressed:gvisor:file.*>1.1")
    );
}
