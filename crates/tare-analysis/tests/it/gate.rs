//! Gates on findings of known verdicts.

use tare_analysis::findings::*;
use tare_analysis::gate::{Condition, Kind, Outcome, Ruling, TargetNames, judge_findings};
use tare_data::failure::{Failure, FailureKind};
use tare_data::metric::{Metric, Reading};
use tare_data::session::Ending;
use tare_data::session::limits::Quota;
use tare_data::unit::{Direction, Unit};

fn level() -> Level {
    Level { median: 1.0, low: 1.0, high: 1.0, rounds: 12, values: vec![1.0; 12] }
}

fn compared(verdict: Verdict, low: f64, high: f64) -> Cell {
    Cell::Compared(Box::new(Comparison {
        level: level(),
        rounds: 12,
        ratio: (low * high).sqrt(),
        interval: Interval::new(low, high),
        total: None,
        interval_alone: Interval::new(low, high),
        signs: Interval::new(low, high),
        leading: Leading::HodgesLehmann,
        p: 0.01,
        margin: 1.02,
        verdict,
        reach: Reach::Short,
        seen: Span { rounds: 60, seconds: 60.0, is_lasting: true },
        slow: None,
        lacks: Why::Rounds,
        decided_at: None,
        needed: None,
        smallest: None,
        difference: 0.0,
        starts: None,
        warnings: vec![],
    }))
}

fn with_reach(cell: Cell, reach: Reach) -> Cell {
    let Cell::Compared(found) = cell else { panic!("it is compared") };
    Cell::Compared(Box::new(Comparison { reach, ..*found }))
}

/// Has a limit stop the environment of a cell.
fn stopped(cell: Cell) -> Cell {
    let quota = Quota { quota_us: 20_000, period_us: 100_000 };
    with_reach(cell, Reach::Stopped(Stop::from_periods(94, 100, Some(quota)).unwrap()))
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

/// Builds findings of two environments; gvisor is slower by 24, oci-crun is inconclusive; a file case is
/// missing in one environment.
fn findings() -> Findings {
    let missing = Cell::Missing(Missing::Failed(Failure::new(FailureKind::NotSupported, "no io_uring")));
    Findings {
        baseline: "native".into(),
        commands_in: None,
        subjects: vec!["gvisor".into(), "oci-crun".into()],
        rows: vec![
            row(
                "sys.getppid",
                vec![compared(Verdict::Slower, 23.0, 25.0), compared(Verdict::Inconclusive, 0.9, 1.1)],
            ),
            row("file.queue?bs=4KiB@own", vec![missing, compared(Verdict::Same, 0.99, 1.01)]),
            Row {
                headline: false,
                ..row(
                    "sys.getppid",
                    vec![compared(Verdict::Slower, 90.0, 99.0), compared(Verdict::Slower, 90.0, 99.0)],
                )
            },
        ],
        lasting: vec![],
        outcomes: vec![],
        across_commands: vec![],
        certificate: Certificate {
            planted: None,
            control_cells: 0,
            control_coloured: 0,
            banner: false,
            smallest_effect: None,
            decided: 2,
            compared: 3,
            repeated: 0,
        },
        warnings: vec![],
        limits: vec![],
        ending: Ending::Complete,
        articles: Vec::new(),
    }
}

fn outcome(conditions: &[&str]) -> Outcome {
    let conditions: Vec<Condition> = conditions.iter().map(|text| text.parse().unwrap()).collect();
    let [gvisor, crun] = ["gvisor", "oci:crun"].map(|text| text.parse().unwrap());
    let targets = [
        TargetNames { name: "gvisor", specification: Some(&gvisor), title: None },
        TargetNames { name: "oci-crun", specification: Some(&crun), title: Some("./a very long title") },
    ];
    judge_findings(&findings(), &targets, &conditions)
}

/// Counts the cells that tripped, passed, were undecided and missing, and tells whether the conditions fail.
fn counts(conditions: &[&str]) -> ([usize; 4], bool) {
    let outcome = outcome(conditions);
    let all = [Ruling::Trips, Ruling::Passes, Ruling::Undecided, Ruling::Missing];
    (all.map(|answer| outcome.count_cells(answer)), outcome.is_shut())
}

#[test]
fn a_condition_chooses_targets_and_cases() {
    assert_eq!(counts(&["slower"]), ([1, 1, 1, 1], true));
    assert_eq!(counts(&["slower:gvisor"]), ([1, 0, 0, 1], true));
    assert_eq!(counts(&["slower:oci:crun"]), ([0, 1, 1, 0], true));
    assert_eq!(counts(&["slower:oci-crun:file.*"]), ([0, 1, 0, 0], false));
    assert_eq!(counts(&["slower:./a very long title:file.*"]), ([0, 1, 0, 0], false));
    assert_eq!(counts(&["slower:oci:crun:sys.getppid"]), ([0, 0, 1, 0], true));
    assert_eq!(counts(&["slower:*:file.queue"]), ([0, 1, 0, 1], false));
    assert_eq!(counts(&["slower:*:file.queue*bs=4KiB*"]), ([0, 1, 0, 1], false));
    assert_eq!(outcome(&["slower:gvsior", "slower"]).idle, ["slower:gvsior"]);
}

#[test]
fn a_ratio_trips_when_the_whole_interval_lies_beyond_it() {
    assert_eq!(counts(&["slower:gvisor:sys.*>20"]), ([1, 0, 0, 0], true));
    assert_eq!(counts(&["slower:gvisor:sys.*>24"]), ([0, 0, 1, 0], true));
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
    assert_eq!(both.find_answer(1, 0).unwrap().condition, "missing");
    assert_eq!(both.find_answer(0, 1).unwrap().answer, Ruling::Passes);
    assert_eq!(both.find_answer(2, 0), None, "only headlines are judged");
}

#[test]
fn what_cannot_be_decided_shuts_the_gate_unless_that_is_allowed() {
    let undecided = outcome(&["slower:oci:crun:sys.getppid"]);
    assert!(undecided.is_shut());
    assert!(!Outcome { allows_undecided: true, ..undecided }.is_shut());
    let tripped = outcome(&["slower:gvisor:sys.*>20"]);
    assert!(Outcome { allows_undecided: true, ..tripped }.is_shut());
}

#[test]
fn a_gate_before_which_nothing_could_be_compared_is_shut() {
    assert_eq!(counts(&["slower:gvisor:file.*"]), ([0, 0, 0, 1], true));
}

/// Answers a condition for a session of these cells of `gvisor`.
fn answers(condition: &str, cells: Vec<Cell>) -> Vec<Ruling> {
    let rows = cells.into_iter().map(|cell| row("sys.getppid", vec![cell])).collect();
    let findings = Findings { rows, ..findings() };
    let targets = [TargetNames::of_column("gvisor")];
    let outcome = judge_findings(&findings, &targets, &[condition.parse().unwrap()]);
    outcome.cells.iter().map(|cell| cell.answer).collect()
}

#[test]
fn a_verdict_that_may_be_chance_trips_nothing() {
    let answer = |verdict, low, high| answers("slower", vec![compared(verdict, low, high)])[0];
    assert_eq!(answer(Verdict::Slower, 1.1, 1.2), Ruling::Trips);
    assert_eq!(answer(Verdict::SlowerUnconfirmed, 9.9, 10.1), Ruling::Undecided);
    assert_eq!(answer(Verdict::SlowerUnclear, 1.01, 1.2), Ruling::Undecided);
    assert_eq!(answer(Verdict::SlightlySlower, 1.01, 1.015), Ruling::Passes);
    assert_eq!(answer(Verdict::Faster, 0.8, 0.9), Ruling::Passes);
    assert_eq!(answer(Verdict::TypicallySame, 0.99, 1.015), Ruling::Passes);
    // A bound does not decide, however good it looks.
    assert_eq!(answer(Verdict::FasterUnclear, 0.9, 0.99), Ruling::Undecided);
    assert_eq!(answer(Verdict::FasterUnconfirmed, 0.9, 0.99), Ruling::Undecided);
    assert_eq!(answer(Verdict::Inconclusive, 0.97, 1.03), Ruling::Undecided);
    assert_eq!(answer(Verdict::FasterInFewStarts, 0.0, f64::INFINITY), Ruling::Undecided);
    let beyond = |verdict, low, high| answers("slower>1.05", vec![compared(verdict, low, high)])[0];
    assert_eq!(beyond(Verdict::Slower, 1.1, 1.2), Ruling::Trips);
    assert_eq!(beyond(Verdict::SlowerUnconfirmed, 0.98, 1.2), Ruling::Undecided);
    assert_eq!(beyond(Verdict::Inconclusive, 0.0, f64::INFINITY), Ruling::Undecided);
}

#[test]
fn a_bound_is_answered_by_the_interval_that_is_shown_and_by_nothing_else() {
    let beside = ["slower:gvisor:sys.*>1.1", "slower", "slower>30", "undecided", "missing"];
    for (ratio, answer) in
        [(0.9 * 23.0, Ruling::Trips), (1.1 * 25.0, Ruling::Passes), (24.0, Ruling::Undecided)]
    {
        let alone = format!("slower:gvisor:sys.*>{ratio}");
        let answer_of =
            |conditions: &[&str]| outcome(conditions).find_answer(0, 0).map(|judged| judged.answer);
        assert_eq!(answer_of(&[&alone]), Some(answer));
        // Sixteen cells and eight rounds: no p of theirs would pass a correction for them.
        let many = vec![compared(Verdict::Slower, 23.0, 25.0); 16];
        assert_eq!(answers(&format!("slower>{ratio}"), many), [answer; 16]);
        let kept = beside.iter().filter(|_| answer == Ruling::Trips);
        let all: Vec<&str> = kept.copied().chain([alone.as_str()]).collect();
        assert_eq!(answer_of(&all), Some(answer), "another condition changes nothing");
    }
}

#[test]
fn nothing_passes_whose_work_is_stopped_once_it_lasts() {
    use Ruling::{Trips, Undecided};
    let cells = || {
        let faster = compared(Verdict::Faster, 0.4, 0.5);
        let same = compared(Verdict::Same, 0.99, 1.01);
        [faster, same, compared(Verdict::Slower, 1.9, 2.1)].map(stopped).to_vec()
    };
    assert_eq!(answers("slower", cells()), [Undecided, Undecided, Trips]);
    assert_eq!(answers("slower>1.5", cells()), [Undecided, Undecided, Trips]);
    assert_eq!(
        answers("slower>3", cells()),
        [Undecided; 3],
        "work that lasts may take longer than the interval"
    );
    assert_eq!(answers("missing", cells()), [Ruling::Passes; 3], "it is about something else");
}

#[test]
fn nothing_passes_whose_work_takes_another_factor_once_it_lasts_and_what_is_open_does() {
    use Ruling::{Passes, Undecided};
    let long = Estimate { ratio: 5.1, interval: Interval::new(4.9, 5.2) };
    for (reach, expected) in [
        (Reach::Lasting, Passes),
        (Reach::Short, Passes),
        (Reach::Open, Passes),
        (Reach::Differs(long), Undecided),
    ] {
        let cells = || {
            let all = [compared(Verdict::Faster, 0.4, 0.5), compared(Verdict::Same, 0.99, 1.01)];
            all.map(|cell| with_reach(cell, reach)).to_vec()
        };
        for condition in ["slower", "slower>1.5"] {
            assert_eq!(answers(condition, cells()), [expected; 2], "{reach:?}");
        }
    }
}

#[test]
fn a_case_has_three_names_and_the_harness_is_no_cell() {
    let named = |case: &str, label: &str, condition: &str| {
        let row = Row { label: label.into(), ..row(case, vec![compared(Verdict::Slower, 2.0, 3.0)]) };
        let findings = Findings { rows: vec![row], ..findings() };
        let targets = [TargetNames::of_column("gvisor")];
        judge_findings(&findings, &targets, &[condition.parse().unwrap()]).count_cells(Ruling::Trips)
    };
    let of_file = |condition| named("file.seq?op=read@own", "read 4K, warm", condition);
    assert_eq!(
        ["slower:gvisor:file.seq>1.5", "slower:gvisor:read 4K, warm>1.5", "slower:*:*op=read*"].map(of_file),
        [1; 3]
    );
    assert_eq!(named("null", "empty loop (harness)", "slower"), 0);
}

#[test]
fn a_bound_is_a_condition_without_a_character_of_the_shells() {
    let read = Condition::at_most("wsl:Debian?version=2:file.*=1.5x", Kind::Slower).unwrap();
    assert_eq!(read, "slower:wsl:Debian?version=2:file.*>1.5".parse().unwrap());
    // A share is a ratio as well.
    assert_eq!("slower:5%".parse::<Condition>().unwrap().to_string(), "slower>1.05");
    assert_eq!("slower:./new>5%".parse::<Condition>().unwrap().to_string(), "slower:./new>1.05");
    for wrong in ["container", "=1.5", "container=", "container=0.9"] {
        Condition::at_most(wrong, Kind::Slower).unwrap_err();
    }
}

#[test]
fn what_is_no_condition_says_why() {
    let wrong = |text: &str| text.parse::<Condition>().unwrap_err();
    assert!(wrong("slow").contains("slower, undecided, missing"));
    assert!(wrong("slower:").contains("slower:gvisor"));
    assert!(wrong("slower>0.9").contains("at least 1"));
    assert!(wrong("slower>NaN").contains("at least 1"));
    assert!(wrong("slower>inf").contains("at least 1"));
    assert!(wrong("undecided>2").contains("no ratio"));
    assert!(wrong("regressed").contains("not a condition"));
    assert!(Condition::of_two("slower").is_err());
    let read = Condition::of_two("regressed:gvisor:file.*>1.1x").unwrap();
    assert_eq!(
        (read.kind, read.beyond, read.to_string().as_str()),
        (Kind::Regressed, Some(1.1), "regressed:gvisor:file.*>1.1")
    );
}
