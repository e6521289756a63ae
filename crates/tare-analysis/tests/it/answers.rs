//! Every answer that a cell can have, from sessions of known costs.

use tare_analysis::findings::{Cell, Comparison, Kind, Why};
use tare_analysis::verdicts::stopping::planned_looks;
use tare_analysis::{Options, compute_findings};
use tare_data::batch::{Batches, Sample};
use tare_data::session::limits::{GroupCounts, LimitCounts, Quota};
use tare_data::session::{Role, Session};
use tare_data::warning::Warning;
use tare_specimen::{Cost, Work, make_plan, make_session, make_sides, make_timed_case, run_paired};

const ROUNDS: u32 = 40;

/// Environments with the factor, spread and drift of their costs, and the answer to each. One has no trials.
const ENVIRONMENTS: [(&str, [f64; 3], Kind); 7] = [
    ("slow", [2.0, 0.01, 0.0], Kind::Slower),
    ("fast", [0.5, 0.01, 0.0], Kind::Faster),
    ("alike", [1.0, 0.005, 0.0], Kind::Same),
    ("nearly", [1.0, 0.05, 0.0], Kind::AtMost),
    ("noisy", [NOISY.factor, NOISY.spread, 0.0], Kind::NotSure),
    ("drifting", [3.0, 0.01, 1.5], Kind::AtLeast),
    ("away", [1.0, 0.0, 0.0], Kind::None),
];

/// Cost of which nothing is known after all rounds.
const NOISY: Cost = Cost { factor: 1.0, spread: 1.5, drift: 0.0, rounds: ROUNDS };

/// Runs pairs of a case in each environment that is there, and of four cases of which nothing will be known: one of many cells is
/// judged more strictly.
fn run_pairs() -> Session {
    let subjects = ENVIRONMENTS.iter().map(|(name, ..)| (*name, Role::Subject));
    let targets = make_sides([("native", Role::Baseline)].into_iter().chain(subjects));
    let cases = ["sys.getppid", "sys.read", "ipc.pipe", "ipc.unix", "mem.map"].map(make_timed_case);
    let mut session = make_session(make_plan(targets, cases.into(), planned_looks(ROUNDS)));
    let cost = |case: &str, target: &str| {
        let there = |(name, _, kind): &&(&str, _, _)| *name == target && *kind != Kind::None;
        let (_, [factor, spread, drift], _) = *ENVIRONMENTS.iter().find(there)?;
        Some(if case == "sys.getppid" { Cost { factor, spread, drift, ..NOISY } } else { NOISY })
    };
    run_paired(&mut session, |_| Work { series_ns: &[("work", 100.0)], amount: (10_000, 20) }, cost);
    session
}

#[test]
fn pairs_have_the_answers_of_their_costs() {
    let session = run_pairs();
    assert!(session.trials.iter().all(|trial| trial.partner.is_some()));
    let findings = compute_findings(&session, &Options::default());
    let kind = |cell: &Cell| cell.comparison().map_or(Kind::None, |found| found.answer().kind());
    let found: Vec<Kind> = findings.rows[0].cells.iter().map(kind).collect();
    assert_eq!(found, ENVIRONMENTS.map(|(.., kind)| kind));
    assert!(Kind::ALL.iter().all(|kind| found.contains(kind)), "every answer");
}

/// Counts the periods of a group with a fifth of a processor, at two moments of an environment's start.
fn count_periods(target: &str, group: &str, throttled: u64) -> [LimitCounts; 2] {
    let quota = Some(Quota { quota_us: 20_000, period_us: 100_000 });
    [(true, 10, 10), (false, 110, 10 + throttled)].map(|(begins, periods, throttled)| LimitCounts {
        target: target.to_owned(),
        begins,
        groups: vec![GroupCounts { group: group.to_owned(), quota, periods, throttled, throttled_ns: 0 }],
        idle: None,
    })
}

#[test]
fn no_answer_of_an_environment_that_its_own_limit_stopped_is_plain() {
    let mut session = run_pairs();
    for name in ["alike", "nearly", "fast", "slow"] {
        session.limits.extend(count_periods(name, &format!(":/{name}/"), 94));
    }
    session.limits.extend(count_periods("noisy", ":/noisy/", 0));
    let findings = compute_findings(&session, &Options::default());
    let share = |name: &str| {
        let at = findings.subjects.iter().position(|subject| subject == name).unwrap();
        let answer = findings.rows[0].cells[at].answer();
        answer.reach().stop().filter(|_| answer.is_overturned()).map(|stop| stop.share())
    };
    assert_eq!(["alike", "nearly", "fast"].map(share), [Some(0.94); 3]);
    assert_eq!(["slow", "noisy"].map(share), [None, None], "it is slower, or was never stopped");
    let is_warned = |name: &&&str| {
        let warning = Warning::Throttled { share: 0.94, factor: Some(5.0), interval: None };
        findings.warnings.contains(&(Some((**name).to_owned()), warning))
    };
    let warned: Vec<&str> = ENVIRONMENTS.iter().map(|(name, ..)| name).filter(is_warned).copied().collect();
    assert_eq!(warned, ["slow", "fast", "alike", "nearly"]);

    // A limit that the baseline has as well.
    session.limits.extend(count_periods("native", ":/alike/", 94));
    let findings = compute_findings(&session, &Options::default());
    let alike = findings.subjects.iter().position(|subject| subject == "alike").unwrap();
    assert!(!findings.rows[0].cells[alike].answer().is_overturned());
    let warning = Warning::BaselineThrottled { share: 0.94 };
    assert!(findings.warnings.contains(&(Some("native".to_owned()), warning)), "{:?}", findings.warnings);
}

/// Has a stop of 70 batches interrupt one batch of every third trial on both sides, as the kernel counts it.
fn interrupt_trials(session: &mut Session) {
    for trial in session.trials.iter_mut().filter(|trial| trial.round % 3 == 0) {
        let mut batches = trial.batches.to_vec();
        let last = batches.last_mut().unwrap();
        match &mut last.sample {
            Sample::Stretches { elapsed_ns, .. } => *elapsed_ns.last_mut().unwrap() *= 70,
            Sample::Throughput { elapsed_ns, .. } | Sample::Latency { elapsed_ns, .. } => *elapsed_ns *= 70,
            Sample::Gauge { .. } => panic!("it is timed"),
        }
        trial.batches = Batches::from(batches);
        trial.inside.batches_interrupted = Some(1);
    }
}

#[test]
fn a_batch_that_the_environments_own_limit_stopped_is_not_the_machines() {
    let mut session = run_pairs();
    interrupt_trials(&mut session);
    let why = |session: &Session| {
        let findings = compute_findings(session, &Options::default());
        let alike = findings.subjects.iter().position(|subject| subject == "alike").unwrap();
        let answer = findings.rows[0].cells[alike].answer();
        (answer.kind(), answer.why())
    };
    assert_eq!(why(&session), (Kind::Same, None), "other programs interrupted both sides alike");
    for stopped in ["alike", "native"] {
        let limits = count_periods(stopped, &format!(":/{stopped}/"), 94).into();
        assert_eq!(why(&Session { limits, ..session.clone() }), (Kind::Same, Some(Why::Mean)), "{stopped}");
    }
}

/// Runs pairs of one case in one environment.
fn run_one(cost: Cost) -> Comparison {
    let targets = make_sides([("native", Role::Baseline), ("other", Role::Subject)]);
    let plan = make_plan(targets, vec![make_timed_case("sys.getppid")], planned_looks(cost.rounds));
    let mut session = make_session(plan);
    let work = |_: &_| Work { series_ns: &[("work", 100.0)], amount: (10_000, 20) };
    run_paired(&mut session, work, |_, target| (target == "other").then_some(cost));
    compute_findings(&session, &Options::default()).rows[0].cells[0].comparison().unwrap().clone()
}

#[test]
fn a_direction_that_was_seen_for_a_short_time_says_so_unless_it_is_far() {
    let of = |factor: f64, rounds: u32| {
        let found = run_one(Cost { factor, spread: 0.005, drift: 0.0, rounds });
        assert_eq!(found.seen.rounds, rounds);
        (found.answer().kind(), found.answer().why(), found.seen.seconds < 5.0)
    };
    assert_eq!(of(1.2, 40), (Kind::Slower, Some(Why::Seen), true));
    assert_eq!(of(0.8, 40), (Kind::Faster, Some(Why::Seen), true));
    assert_eq!(of(1.2, 400), (Kind::Slower, None, false));
    assert_eq!(of(2.0, 40), (Kind::Slower, None, true));
}

#[test]
fn a_bound_holds_for_the_mean_from_enough_batches_on_and_else_for_what_is_typical() {
    // On the margin itself, so that nothing is decided.
    let of = |rounds: u32| run_one(Cost { factor: 1.02, spread: 0.01, drift: 0.0, rounds });
    let (few, many) = (of(60), of(240));
    assert_eq!(
        (few.answer().kind(), few.answer().why(), few.most()),
        (Kind::AtMost, Some(Why::Typical), None)
    );
    let batches = many.slow.unwrap().batches;
    assert!(many.answer().kind() == Kind::AtMost && batches >= 3_600, "{many:?}");
    assert_ne!(many.answer().why(), Some(Why::Typical), "{many:?}");
    let [_, high] = many.interval.ends(f64::from);
    assert!(many.most().is_some_and(|most| most > high && most < 1.1), "{many:?}");
    assert_eq!(many.slow.unwrap().unseen_share(), Some(3.0 / batches as f64));
}
