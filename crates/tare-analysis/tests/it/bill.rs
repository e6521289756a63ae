//! Bills: the sum of a command's lines, and the rest.

use tare_analysis::bill::{Bill, Charge, compute_bills, compute_charges};
use tare_data::batch::Sample;
use tare_data::failure::{Failure, FailureKind};
use tare_data::metric::Reading;
use tare_data::session::demand::{Counted, Demand, Work};
use tare_data::session::{PINNED, PlannedCase, Serving, Session};
use tare_specimen::change_sides;

use crate::sessions::{Outcome, make_case, make_metric, make_session, make_timed_case, run_rounds};

const COMMAND: &str = "user.work";

fn single(operation: &str) -> PlannedCase {
    make_case(
        "sys.operation",
        &[("operation", operation)],
        None,
        vec![make_metric("time", Reading::TimePerOperation)],
    )
}

/// Builds a session of a command of 1,000 calls and 100 opened files: natively 10 ms at 100 ns a call and 1
/// us an open, here 11 ms at 300 ns and 5 us, which a start in two has as 7 us.
fn measured(processor_ns: f64) -> Session {
    let gauge = |name| {
        let mut metric = make_metric(name, Reading::Gauge);
        metric.series = name.into();
        metric
    };
    let time = make_metric("time", Reading::TimePerOperation);
    let command = make_case(COMMAND, &[], None, vec![time, gauge("user"), gauge("system")]);
    let mut session = make_session(
        &["layer"],
        vec![command, single("fstat"), single("open"), make_timed_case("mem.fault")],
        9,
    );
    let demand = Demand {
        amounts: [(Work::OtherCalls, 1000.0), (Work::Opens, 100.0), (Work::Execs, 1.0)].into(),
        calls: 1200.0,
        slowdown: 3.0,
        watched_slowdown: 0.0,
    };
    session.plan.demands.insert(COMMAND.into(), Counted::Demand(demand));
    run_rounds(&mut session, 9, |case, target, round| {
        let here = target == "layer";
        Outcome::Time(match (case, here) {
            (COMMAND, false) => 10e6,
            (COMMAND, true) => 11e6,
            ("mem.fault", _) => 500.0,
            (case, here) if case.contains("fstat") => {
                if here {
                    300.0
                } else {
                    100.0
                }
            }
            (_, false) => 1000.0,
            (_, true) => {
                if round % 2 == 0 {
                    5000.0
                } else {
                    7000.0
                }
            }
        })
    });
    for trial in session.trials.iter_mut().filter(|trial| trial.case == COMMAND) {
        let mut batches: Vec<_> = trial.batches.iter().map(|batch| batch.into_owned()).collect();
        for (series, value) in [("user", processor_ns), ("system", 0.0)] {
            let mut batch = batches[0].clone();
            batch.series = series.into();
            batch.sample = Sample::Gauge { value };
            batches.push(batch);
        }
        trial.batches = batches.into();
    }
    session
}

fn bill_of(session: &Session) -> Bill {
    let [explained] = compute_bills(session, session).try_into().unwrap();
    let [bill] = explained.bills.try_into().unwrap();
    bill
}

#[test]
fn a_price_that_noise_hides_is_none() {
    let time = make_metric("time", Reading::TimePerOperation);
    let command = make_case(COMMAND, &[], None, vec![time]);
    let mut session = make_session(&["layer"], vec![command, single("stat"), single("stat-8")], 9);
    let amounts = [(Work::Lookups, 1000.0), (Work::FurtherFolders, 7000.0)].into();
    let demand = Demand { amounts, calls: 1000.0, slowdown: 3.0, watched_slowdown: 0.0 };
    session.plan.demands.insert(COMMAND.into(), Counted::Demand(demand));
    run_rounds(&mut session, 9, |case, target, _| {
        Outcome::Time(match (case, target == "layer") {
            (COMMAND, false) => 10e6,
            (COMMAND, true) => 11e6,
            // Seven folders more are seemingly quicker there.
            (case, true) if case.contains("stat-8") => 250.0,
            (case, false) if case.contains("stat-8") => 200.0,
            (_, true) => 300.0,
            (_, false) => 100.0,
        })
    });
    let bill = &compute_bills(&session, &session)[0].bills[0];
    let works: Vec<Work> = bill.lines.iter().map(|line| line.work).collect();
    assert_eq!((works, &bill.unpriced), (vec![Work::Lookups], &vec![Work::FurtherFolders]));
    assert_eq!((bill.rounds, bill.rest_ns), (9, Some(800_000.0)), "its time is in the rest");
}

#[test]
fn a_price_of_few_rounds_leaves_the_others_their_bill() {
    let few = |cases: &[&str]| {
        let mut session = measured(8e6);
        let is_few = |case: &str| cases.iter().any(|few| case.contains(few));
        session.trials.retain(|trial| trial.round < 3 || !is_few(&trial.case));
        let bill = bill_of(&session);
        let works: Vec<Work> = bill.lines.iter().map(|line| line.work).collect();
        (works, bill.rounds, bill.unpriced, bill.rest_ns)
    };
    let opens = few(&["open"]);
    assert_eq!(opens, (vec![Work::OtherCalls], 9, vec![Work::Execs, Work::Opens], Some(800_000.0)));
    let (works, rounds, ..) = few(&["open", "fstat"]);
    assert_eq!((works.len(), rounds), (2, 3), "no price has enough, and there is no bill yet");
}

#[test]
fn lines_and_rest_are_the_difference() {
    let bill = bill_of(&measured(8e6));
    let line = |work| bill.lines.iter().find(|line| line.work == work).unwrap();
    assert_eq!(bill.lines[0].work, Work::Opens, "the largest comes first");
    assert_eq!((line(Work::Opens).baseline_ns, line(Work::Opens).here_ns), (1000.0, 5000.0));
    assert_eq!((line(Work::Opens).more_ns, line(Work::OtherCalls).more_ns), (400_000.0, 200_000.0));
    assert_eq!(line(Work::Opens).range_ns, Some([400_000.0, 600_000.0]), "of the starts with 5 and 7 us");
    assert_eq!(bill.rest_ns, Some(400_000.0));
    let sum: f64 = bill.lines.iter().map(|line| line.more_ns).sum();
    assert_eq!(sum + bill.rest_ns.unwrap(), 1_000_000.0);
    // Programs were started, and this session has no price of that.
    assert_eq!(bill.unpriced, [Work::Execs]);
}

#[test]
fn a_forecast_is_the_multiple_of_its_lines_that_the_plan_gives() {
    let ratio = |is_pinned: bool| {
        let mut session = measured(8e6);
        if is_pinned {
            session.header.host.add_fact(PINNED, "1");
        }
        let serving = Serving { one_at_a_time: false, beside: 1.2, beside_pinned: 1.0 };
        change_sides(&mut session.plan.targets, |_, side| {
            if side.name == "layer" {
                side.serving = serving;
            }
        });
        bill_of(&session).forecast.ratio.unwrap()
    };
    // The lines add 6 %.
    assert_eq!([ratio(false), ratio(true)], [1.0 + 1.2 * 0.06, 1.0 + 0.06]);
}

#[test]
fn a_forecast_has_the_range_of_single_starts_and_of_what_programs_are_beside_loops() {
    let forecast = bill_of(&measured(8e6)).forecast;
    // The lines add 0.6 ms to 10, by some starts 0.8.
    let [least, most] = forecast.range.unwrap();
    assert_eq!((forecast.ratio, forecast.starts), (Some(1.0 + 1.15 * 0.06), 9));
    assert!(
        (least - (1.0 + 0.6 * 0.06)).abs() < 1e-9 && (most - (1.0 + 2.5 * 0.08)).abs() < 1e-9,
        "{forecast:?}"
    );
}

#[test]
fn a_line_of_two_processes_at_once_counts_half() {
    let bill = bill_of(&measured(20e6));
    assert_eq!(bill.lines.iter().map(|line| line.more_ns).sum::<f64>(), 300_000.0);
    assert_eq!(bill.rest_ns, Some(700_000.0));
}

#[test]
fn a_line_counts_whole_where_one_process_serves_all_calls() {
    let mut session = measured(20e6);
    change_sides(&mut session.plan.targets, |_, side| side.serving.one_at_a_time = side.name == "layer");
    let bill = bill_of(&session);
    let lines: f64 = bill.lines.iter().map(|line| line.more_ns).sum();
    assert_eq!((lines, bill.rest_ns), (600_000.0, Some(400_000.0)));
}

#[test]
fn a_command_that_did_not_run_there_has_a_bill_and_no_rest() {
    let mut session = measured(8e6);
    session.trials.retain(|trial| trial.case != COMMAND || trial.target != "layer");
    let bill = bill_of(&session);
    assert_eq!((bill.ns, bill.rest_ns, bill.forecast.ratio), (None, None, Some(1.0 + 1.15 * 0.06)));
}

#[test]
fn a_command_that_could_not_be_counted_says_why_and_has_no_bill() {
    let mut session = measured(8e6);
    let failure = Failure::new(FailureKind::NotPermitted, "ptrace");
    session.plan.demands.insert(COMMAND.into(), Counted::Failed(failure.clone()));
    let [explained] = compute_bills(&session, &session).try_into().unwrap();
    assert_eq!((explained.counted, explained.bills), (Counted::Failed(failure), vec![]));
    session.plan.demands.clear();
    assert!(compute_bills(&session, &session).is_empty());
}

#[test]
fn charges_have_the_range_of_single_starts_and_leave_out_what_was_not_measured() {
    let [native, layer] = compute_charges(&measured(8e6)).try_into().unwrap();
    let of = |typical, least, most| Charge { typical, least, most };
    assert_eq!((native.target.as_str(), native.prices[&Work::Opens]), ("native", of(1000.0, 1000.0, 1000.0)));
    assert_eq!((layer.target.as_str(), layer.prices[&Work::Opens]), ("layer", of(5000.0, 5000.0, 7000.0)));
    assert!(!layer.prices.contains_key(&Work::Execs));
}

fn early(what: &str, gap: &str) -> PlannedCase {
    make_case(
        "sys.early",
        &[("gap_us", gap), ("what", what)],
        None,
        vec![make_metric("time", Reading::TimePerOperation)],
    )
}

#[test]
fn a_page_is_charged_what_a_program_pays_beyond_a_loop() {
    let pages = ["new-page", "file-page", "copied-page"].map(single);
    let cases = [pages.into(), vec![early("page", "3"), early("call", "3")]].concat();
    let mut session = make_session(&["layer"], cases, 9);
    run_rounds(&mut session, 9, |case, target, _| {
        let (loop_ns, early_ns) = if target == "layer" { (40_000.0, 43_000.0) } else { (1_000.0, 1_500.0) };
        Outcome::Time(match case {
            page if page.contains("what=page") => 500.0 * early_ns,
            call if call.contains("what=call") => 1e9,
            file if file.contains("file-page") => loop_ns / 2.0,
            _ => loop_ns,
        })
    });
    let [native, layer] = compute_charges(&session).try_into().unwrap();
    let prices = |charged: &tare_analysis::bill::Charged| {
        [Work::Faults, Work::FilePages, Work::CopiedPages].map(|work| charged.prices[&work].typical)
    };
    assert_eq!(prices(&native), [1_500.0, 1_000.0, 1_500.0]);
    assert_eq!(prices(&layer), [43_000.0, 23_000.0, 43_000.0]);
}

#[test]
fn a_call_after_computing_is_charged_what_a_program_pays_beyond_a_loop() {
    let cases =
        [vec![single("fstat")], ["1", "3", "30", "200"].map(|gap| early("call", gap)).into()].concat();
    let mut session = make_session(&["layer"], cases, 9);
    run_rounds(&mut session, 9, |case, target, _| {
        Outcome::Time(match (case, target) {
            (case, "layer") if case.contains("gap_us=200") => 500.0 * 60_300.0,
            (case, "layer") if case.contains("gap_us=30") => 500.0 * 40_300.0,
            (case, "layer") if case.contains("gap_us=3") => 500.0 * 10_300.0,
            (case, "layer") if case.contains("gap_us=1") => 500.0 * 5_300.0,
            (case, _) if case.contains("gap_us") => 500.0 * 150.0,
            (_, "layer") => 300.0,
            _ => 100.0,
        })
    });
    let [native, layer] = compute_charges(&session).try_into().unwrap();
    let price = |charged: &tare_analysis::bill::Charged, work| charged.prices[&work].typical;
    let works = [Work::CallsInARow, Work::ShortPauses, Work::Pauses, Work::LongPauses];
    assert_eq!(works.map(|work| price(&native, work)), [50.0; 4]);
    assert_eq!(works.map(|work| price(&layer, work)), [5_000.0, 10_000.0, 40_000.0, 60_000.0]);
}

#[test]
fn a_process_is_charged_without_the_page_faults_of_those_that_are_timed() {
    let cases = vec![
        single("exec"),
        single("spawn"),
        single("fstat"),
        make_timed_case("ipc.pipe"),
        single("new-page"),
    ];
    let is_fault = |case: &str| case.contains("new-page");
    let is_part = |case: &str| case.contains("spawn") || case.contains("fstat");
    let mut session = make_session(&["layer"], cases, 9);
    run_rounds(&mut session, 9, |case, target, _| {
        Outcome::Time(match (case, target) {
            (case, "layer") if is_fault(case) => 2000.0,
            (case, _) if is_fault(case) => 500.0,
            (case, _) if case.contains("spawn") => 1_000.0,
            (case, _) if case.contains("fstat") => 100.0,
            (_, "layer") => 94_200.0,
            _ => 14_200.0,
        })
    });
    let price = |session: &Session, work| {
        let both = compute_charges(session).into_iter().map(|charged| charged.prices[&work].typical);
        both.collect::<Vec<_>>()
    };
    assert_eq!(price(&session, Work::Execs), [10_000.0, 90_000.0], "no kernel that reports them");
    let mut report = |in_layer: u64| {
        for trial in session.trials.iter_mut().filter(|t| !is_fault(&t.case) && !is_part(&t.case)) {
            let operations: u64 = trial
                .batches
                .iter()
                .map(|batch| match batch.sample {
                    Sample::Throughput { operations, .. } => operations,
                    _ => 0,
                })
                .sum();
            let each = if trial.target == "layer" { in_layer } else { 3 };
            trial.inside.faults_minor = Some(each * operations);
        }
        session.clone()
    };
    assert_eq!(price(&report(0), Work::Execs), [8_500.0, 84_000.0], "a layer that reports none has as many");
    assert_eq!(price(&report(9), Work::Execs), [8_500.0, 72_000.0], "a layer that maps each page by itself");
    let session = report(9);
    assert_eq!(price(&session, Work::Messages), [7_100.0, 47_100.0], "most are not of what is timed");
}
