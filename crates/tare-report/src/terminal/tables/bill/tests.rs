//! Tests of bills on a terminal.

use tare_analysis::bill::compute_bills;
use tare_data::failure::{Failure, FailureKind};
use tare_data::session::demand::Demand;

use super::*;
use crate::specimen;

fn line(work: Work, amount: f64, more_ns: f64, range_ns: Option<[f64; 2]>) -> Line {
    Line { work, amount, baseline_ns: 100.0, here_ns: 200.0, more_ns, range_ns }
}

#[test]
fn a_command_that_could_not_be_counted_says_why() {
    let (mut session, findings) = (specimen::make_session(3), specimen::make_findings(3));
    let case = &mut session.plan.cases[0];
    (case.case.probe, case.label) = ("user.make".into(), "make".into());
    let failure = Failure::new(FailureKind::NotPermitted, "ptrace: EPERM");
    session.plan.demands.insert(case.id.clone(), Counted::Failed(failure));
    let text = render_bills_terminal(
        &session,
        &findings,
        &compute_bills(&session, &session),
        None,
        (80, false),
        Language::English,
    );
    assert!(text.contains("make: its requests could not be counted: ") && text.contains("EPERM"), "{text}");
}

#[test]
fn lines_below_a_share_are_one_and_a_saving_has_its_minus() {
    let line = |work, more_ns| line(work, 1000.0, more_ns, None);
    let bill = Bill {
        target: "gvisor".into(),
        ns: Some(3e6),
        rounds: 6,
        lines: vec![
            line(Work::Opens, 1.5e6),
            line(Work::Syncs, -2e5),
            line(Work::Reads, 1e3),
            line(Work::Maps, 2e3),
        ],
        unpriced: vec![Work::Execs],
        forecast: tare_analysis::bill::Forecast { ratio: Some(2.3), range: Some([1.9, 2.9]), starts: 8 },
        rest_ns: Some(6.97e5),
    };
    let findings = specimen::make_findings(1);
    let text = table(&findings, &bill, Some(1e6), (80, false), Language::English).join("\n");
    let has = |parts: &[&str]| text.lines().any(|line| parts.iter().all(|part| line.contains(part)));
    assert!(has(&["where the extra 2.00 ms go", "gvisor", "share"]), "{text}");
    assert!(has(&["files opened and closed", "1,000", "1.50 ms", "75 %"]), "{text}");
    assert!(has(&["writes made durable", "-200 µs", "-10 %"]), "{text}");
    assert!(has(&["everything else, 2 kinds", "3.00 µs"]) && !text.contains("reads of files"), "{text}");
    assert!(has(&["not explained", "697 µs", "35 %"]), "{text}");
    let said = describe_forecast(&bill, Language::English);
    assert!(
        said.contains("2.30x as long, most likely 1.90 to 2.90x.")
            && !said.contains("single start")
            && said.contains("programs started"),
        "{said}"
    );
}

#[test]
fn the_first_sentence_has_the_difference_and_its_largest_parts_unless_rounds_are_few() {
    let (session, mut findings) = (specimen::make_session(3), specimen::make_findings(3));
    findings.subjects = vec!["gvisor".into()];
    let bill = Bill {
        target: "gvisor".into(),
        ns: Some(3e6),
        rounds: 6,
        lines: vec![
            line(Work::Opens, 1000.0, 1.5e6, None),
            line(Work::Maps, 1000.0, 3e5, None),
            line(Work::Reads, 1000.0, 2e4, None),
        ],
        unpriced: Vec::new(),
        forecast: tare_analysis::bill::Forecast { ratio: None, range: None, starts: 8 },
        rest_ns: Some(1.8e5),
    };
    let render = |bill: Bill| {
        let command = Explained {
            case: "user.make".into(),
            label: "make".into(),
            counted: Counted::Demand(Demand::default()),
            baseline_ns: Some(1e6),
            overlap: 1.0,
            bills: vec![bill],
        };
        render_bills_terminal(&session, &findings, &[command], None, (120, false), Language::English)
    };
    let text = render(bill.clone());
    let first = text.lines().next().unwrap();
    assert!(first.starts_with("gvisor adds 2.00 ms to make (1.00 ms to 3.00 ms): files opened"), "{text}");
    assert!(first.contains(" 75 %") && first.contains(" 15 %") && !first.contains(" 1 %"), "{text}");
    assert!(text.replace('\n', " ").contains("15 %; not explained 9 %."), "{text}");
    let too_much = render(Bill { rest_ns: Some(-1.8e5), ..bill.clone() });
    assert!(!too_much.contains("; not explained"), "{too_much}");
    let few = render(Bill { rounds: 5, ..bill });
    assert!(few.contains("No bill yet: it needs 6 runs of its prices, and has 5"), "{few}");
    assert!(!few.contains("75 %") && few.starts_with("make: 1.00 ms in "), "{few}");
}

#[test]
fn no_line_of_prices_is_wider_than_asked_where_ranges_can_stand_below() {
    let demand = Demand::default();
    assert_eq!(demand.amount(Work::Opens), 0.0);
    let (session, findings) = (specimen::make_session(3), specimen::make_findings(3));
    let text = render_prices_terminal(&session, &findings, (80, false), Language::English);
    assert!(text.lines().all(|line| line.chars().count() <= 80), "{text}");
}

#[test]
fn a_bill_folds_into_narrow_terminals() {
    let line = |work, more_ns: f64| line(work, 12345.0, more_ns, Some([more_ns * 0.8, more_ns * 1.2]));
    let bill = Bill {
        target: "gvisor".into(),
        ns: Some(3e6),
        rounds: 6,
        lines: vec![line(Work::DistinctPaths, 1.5e6), line(Work::Pauses, 4e5)],
        unpriced: Vec::new(),
        forecast: tare_analysis::bill::Forecast { ratio: Some(2.9), range: None, starts: 1 },
        rest_ns: Some(1e5),
    };
    let findings = specimen::make_findings(1);
    for width in [40, 60, 80, 120] {
        let lines = table(&findings, &bill, Some(1e6), (width, false), Language::English);
        let widest = lines.iter().map(|line| line.chars().count()).max().unwrap();
        let text = lines.join("\n");
        assert!(widest <= width, "{width}: {text}");
        assert!(text.contains("75 %") && text.contains("(60 … 90)"), "{width}: {text}");
        assert_eq!(text.contains("12,345"), width >= 60, "{width}: {text}");
    }
}

#[test]
fn a_time_that_is_not_decided_yet_is_so_far() {
    let mut findings = specimen::make_findings(1);
    findings.rows.truncate(1);
    let describe = |change: &dyn Fn(&mut Comparison)| {
        let mut findings = findings.clone();
        let mut found = specimen::make_comparison(100.0, 26.0, 1);
        change(&mut found);
        findings.rows[0].cells = vec![Cell::Compared(Box::new(found))];
        findings.subjects.truncate(1);
        describe_times(&findings, Language::English).concat()
    };
    let decided = describe(&|_| {});
    assert!(decided.contains(": 26x (") && decided.ends_with(". The bill follows."), "{decided}");
    let open = |found: &mut Comparison| {
        found.verdict = tare_analysis::findings::Verdict::SlowerUnconfirmed;
    };
    let so_far = describe(&open);
    assert!(so_far.contains(": so far ") && so_far.contains(" to ") && !so_far.contains('('), "{so_far}");
    assert!(so_far.contains("x as long, by "), "{so_far}");
    let few = describe(&|found| {
        open(found);
        found.interval = tare_analysis::findings::Interval::UNKNOWN;
    });
    assert!(few.contains(": so far about 26x as long, too few runs for a range, by "), "{few}");
}

#[test]
fn a_share_just_below_nothing_has_no_sign() {
    assert_eq!([-0.003, 0.0, 0.264, -0.02].map(whole_percent), ["0", "0", "26", "-2"]);
}
