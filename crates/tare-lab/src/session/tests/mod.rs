//! Whole sessions in an arena with a fake clock and known distributions.

mod announcing;
mod budgets;
mod checks;
mod commands;
mod early;
mod fake_arena;
mod lasting;
mod long;
mod planted;
mod resuming;
mod scenarios;
mod starts;
mod states;
mod until_decided;

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use tare_analysis::findings::{Cell, Findings, Missing, Verdict};
use tare_data::failure::FailureKind;
use tare_data::session::{Ending, Role, Session, Sides, Trial};
use tare_data::warning::Warning;
use tare_record::entry::SCHEMA;
use tare_record::{Entry, Writer, read_session};
use tare_specimen::{make_header, make_session, make_sides};

use self::fake_arena::{FakeArena, Fault};
use crate::asked::progress::{Observer, Unobserved};
use crate::session::plan::prepare::{Pilot, PlanRequest, Prepared, enter_all, prepare_session};
use crate::session::rounds::Rounds;
use crate::session::rounds::course::measured_round_s;
use crate::study::{SelectedCase, Study, select_cases};

/// A ratio at the edge of the margin, which no number of rounds decides.
const ON_THE_EDGE: f64 = 1.02;

fn targets(subjects: usize) -> Sides {
    let natives = [("native".to_owned(), Role::Baseline), ("native again".to_owned(), Role::Control)];
    let subjects = (0..subjects).map(|i| (format!("layer{i}"), Role::Subject));
    make_sides(natives.into_iter().chain(subjects))
}

/// Runs a session of the empty probe; its record is in the folder.
fn session(
    arena: &mut FakeArena,
    folder: &Path,
    rounds: Option<u32>,
    budget_s: Option<f64>,
) -> (PathBuf, Ending) {
    let targets = targets(arena.ratios.len() - 2);
    planned(arena, folder, PlanRequest { rounds, budget_s, ..plan_request(targets) })
}

/// Plans what all these sessions measure, without an end.
fn plan_request(sides: Sides) -> PlanRequest<'static> {
    let selected = Study::from_name("quick").unwrap().expand_cases(None, None).unwrap();
    PlanRequest {
        study: "test",
        selected: select_cases(selected, &["null".into()]).unwrap(),
        sides,
        seed: 7,
        rounds: None,
        least_rounds: 0,
        budget_s: None,
        control_every: 3,
        until_decided: false,
        inside: Default::default(),
        counts_demand: false,
        lasting: false,
        needs_subject: true,
    }
}

/// Selects the case of a plan, and another with trials that take long, which stays open.
fn with_slow_case(plan: &PlanRequest<'_>) -> Vec<SelectedCase> {
    let mut slow = plan.selected[0].clone();
    slow.case.parameters.0.insert("slow".into(), "yes".into());
    [plan.selected.clone(), vec![slow]].concat()
}

fn planned(arena: &mut FakeArena, folder: &Path, plan_request: PlanRequest<'_>) -> (PathBuf, Ending) {
    observed(arena, folder, plan_request, &mut Unobserved)
}

fn observed(
    arena: &mut FakeArena,
    folder: &Path,
    plan_request: PlanRequest<'_>,
    observer: &mut dyn Observer,
) -> (PathBuf, Ending) {
    let record = folder.join("session.tare");
    let mut writer = Writer::create(&record).unwrap();
    writer.append(&Entry::Record { schema: SCHEMA, header: make_header() }).unwrap();
    let budget_s = plan_request.budget_s;
    let Prepared { plan, pilot } =
        prepare_session(plan_request, arena, &mut writer, &mut Unobserved).unwrap();
    let session = Session { facts: vec![], ending: Ending::BrokenOff, ..make_session(plan) };
    let until_ns = budget_s.map(|s| (s * 1e9) as u64);
    let ending = Rounds::new(arena, &mut writer, observer, session, pilot, until_ns)
        .run_rounds(&ended)
        .unwrap()
        .ending;
    (record, ending)
}

fn ended(ending: Ending) -> Entry {
    Entry::Ended { ending, at: "now".into(), others: 0 }
}

fn findings(record: &Path) -> Findings {
    tare_analysis::compute_findings(
        &read_session(record).unwrap().session,
        &tare_analysis::Options::default(),
    )
}

fn verdicts(findings: &Findings) -> Vec<Verdict> {
    let cells = findings.rows.iter().filter(|row| row.headline).flat_map(|row| &row.cells);
    cells
        .map(|cell| match cell {
            Cell::Compared(comparison) => comparison.verdict,
            other => panic!("no comparison: {other:?}"),
        })
        .collect()
}

#[test]
fn known_ratios_are_found_and_the_control_stays_uncoloured() {
    let folder = tempfile::tempdir().unwrap();
    let mut arena = FakeArena::new(&[1.0, 1.0, 1.0, 1.3, 0.8]);
    let (record, ending) = session(&mut arena, folder.path(), None, Some(60.0));
    assert_eq!(ending, Ending::Complete);
    let findings = findings(&record);
    assert_eq!(verdicts(&findings), [Verdict::Same, Verdict::Slower, Verdict::Faster]);
    assert_eq!(findings.certificate.control_coloured, 0);
    let Cell::Compared(slower) = &findings.rows[0].cells[1] else { unreachable!() };
    assert!(slower.interval.contains(1.3), "{slower:?}");
}

#[test]
fn a_study_may_have_its_rounds_before_anything_is_decided() {
    for (budget_s, least) in [(Some(600.0), 50), (None, 40)] {
        let folder = tempfile::tempdir().unwrap();
        let mut arena = FakeArena::new(&[1.0, 1.0, 2.0]);
        let until_decided = budget_s.is_none();
        let request =
            PlanRequest { budget_s, least_rounds: least, until_decided, ..plan_request(targets(1)) };
        let (record, ending) = planned(&mut arena, folder.path(), request);
        assert_eq!(ending, Ending::Complete);
        let session = read_session(&record).unwrap().session;
        assert_eq!(session.plan.looks[0], least, "{:?}", session.plan.looks);
        let of_subject = |trial: &&Trial| trial.target == "layer0";
        assert_eq!(session.trials.iter().filter(of_subject).count(), least as usize);
    }
    // If fewer rounds fit, the last look is the only one.
    let folder = tempfile::tempdir().unwrap();
    let request = PlanRequest { budget_s: Some(600.0), least_rounds: 1_000_000, ..plan_request(targets(1)) };
    let (record, _) = planned(&mut FakeArena::new(&[1.0, 1.0, 2.0]), folder.path(), request);
    let plan = read_session(&record).unwrap().session.plan;
    assert_eq!(plan.looks, [plan.rounds]);
}

#[test]
fn a_decided_metric_leaves_later_rounds() {
    // Twice the time is plain at the first look; 30 % might be a state that lasts a while, and 345 rounds of these take less than that.
    for (ratio, rounds) in [(2.0, 12), (1.3, 518)] {
        let folder = tempfile::tempdir().unwrap();
        let mut arena = FakeArena::new(&[1.0, 1.0, ratio]);
        let (record, _) = session(&mut arena, folder.path(), None, Some(600.0));
        let session = read_session(&record).unwrap().session;
        assert!(session.plan.rounds > 10_000, "{}", session.plan.rounds);
        assert_eq!(rounds_of(&session, "layer0"), rounds, "{ratio}");
    }
}

#[test]
fn a_target_that_is_far_leaves_its_time_to_the_others() {
    let folder = tempfile::tempdir().unwrap();
    let mut arena = FakeArena::new(&[1.0, 1.0, ON_THE_EDGE, 100.0]);
    arena.start_ns = vec![1_000_000, 1_000_000, 1_000_000, 15_000_000];
    let (record, _) = session(&mut arena, folder.path(), None, Some(12.0));
    let session = read_session(&record).unwrap().session;
    // Its starts take long, so that it rests in between.
    let every_other: Vec<u32> = (0..20).step_by(2).collect();
    assert_eq!(rounds_with(&session, "layer1"), every_other);
    let found = findings(&record);
    let slower = found.rows[0].cells[1].comparison().unwrap();
    assert_eq!((slower.verdict, slower.decided_at, slower.rounds), (Verdict::Slower, Some(20), 10));
    // Were it to stay, the budget would have room for some hundred rounds of such trials.
    assert!(rounds_of(&session, "layer0") > 400, "{}", rounds_of(&session, "layer0"));
    assert!(arena.now_ns < 12_100_000_000, "{}", arena.now_ns);
}

#[test]
fn a_budget_is_used_until_every_cell_is_decided_or_the_time_is_up() {
    for (start_ms, budget_s) in [(1, 5.0), (50, 20.0), (2_000, 60.0), (9_000, 70.0)] {
        let folder = tempfile::tempdir().unwrap();
        let mut arena = FakeArena::new(&[1.0, 1.0, ON_THE_EDGE]);
        arena.start_ns[2] = start_ms * 1_000_000;
        let (record, ending) = session(&mut arena, folder.path(), None, Some(budget_s));
        assert_eq!(ending, Ending::Complete);
        let used = arena.now_ns as f64 / 1e9 / budget_s;
        assert!((0.95..1.05).contains(&used), "{start_ms} ms a start: {used} of {budget_s} s");
        let session = read_session(&record).unwrap().session;
        assert!(rounds_of(&session, "layer0") < session.plan.rounds, "the horizon is later");
    }
    let folder = tempfile::tempdir().unwrap();
    let mut arena = FakeArena::new(&[1.0, 1.0, 1.3]);
    session(&mut arena, folder.path(), None, Some(60.0));
    assert!(arena.now_ns < 10_000_000_000, "decided cells take no more time");
}

#[test]
fn slow_starts_get_the_eight_that_a_verdict_needs_first() {
    let folder = tempfile::tempdir().unwrap();
    let mut arena = FakeArena::new(&[1.0, 1.0, ON_THE_EDGE]);
    arena.start_ns[2] = 2_000_000_000;
    let (record, _) = session(&mut arena, folder.path(), None, Some(60.0));
    let session = read_session(&record).unwrap().session;
    let of_layer = || session.trials.iter().filter(|trial| trial.target == "layer0");
    assert!(of_layer().take(8).all(|trial| trial.start == trial.round));
    let starts = of_layer().map(|trial| trial.start).collect::<BTreeSet<u32>>().len();
    // Eight take 16 s of 60, and half of the rest is for further ones.
    assert!((14..=20).contains(&starts), "{starts} starts");
}

#[test]
fn rounds_that_become_shorter_bring_further_starts() {
    let folder = tempfile::tempdir().unwrap();
    let mut arena = FakeArena::new(&[1.0, 1.0, ON_THE_EDGE, 30.0]);
    arena.start_ns = vec![10_000_000, 10_000_000, 300_000_000, 10_000_000];
    let (record, _) = session(&mut arena, folder.path(), None, Some(60.0));
    let session = read_session(&record).unwrap().session;
    let of_layer = session.trials.iter().filter(|trial| trial.target == "layer0");
    let starts = of_layer.map(|trial| trial.start).collect::<BTreeSet<u32>>().len();
    // A third of the time.
    let third = 20.0 / 0.3;
    assert!(starts as f64 > 0.7 * third, "{starts} starts in {} rounds", rounds_of(&session, "layer0"));
}

/// Counts the rounds of an environment.
fn rounds_of(session: &Session, target: &str) -> u32 {
    let of_target = session.trials.iter().filter(|trial| trial.target == target);
    of_target.map(|trial| trial.round + 1).max().unwrap_or(0)
}

#[test]
fn a_budget_is_kept() {
    let folder = tempfile::tempdir().unwrap();
    let mut arena = FakeArena::new(&[1.0, 1.0, 1.0]);
    let (record, ending) = session(&mut arena, folder.path(), None, Some(2.0));
    assert_eq!(ending, Ending::Complete);
    assert!(arena.now_ns < 2_100_000_000, "{}", arena.now_ns);
    assert!(read_session(&record).unwrap().session.trials.len() > 30);
}

#[test]
fn the_same_seed_gives_the_same_order_and_every_target_both_positions() {
    let order = || {
        let folder = tempfile::tempdir().unwrap();
        let (record, _) = session(&mut FakeArena::new(&[1.0; 4]), folder.path(), Some(40), None);
        let trials = read_session(&record).unwrap().session.trials;
        trials.into_iter().map(|t| (t.round, t.position, t.target)).collect::<Vec<_>>()
    };
    let first = order();
    assert_eq!(first, order());
    let seen: BTreeSet<(u32, &str)> =
        first.iter().map(|(_, position, target)| (*position, target.as_str())).collect();
    assert_eq!(seen.len(), 8);
}

#[test]
fn each_round_of_a_cheap_target_has_its_own_start() {
    let folder = tempfile::tempdir().unwrap();
    let mut arena = FakeArena::new(&[1.0, 1.0, 1.0]);
    let (record, _) = session(&mut arena, folder.path(), Some(12), None);
    let trials = read_session(&record).unwrap().session.trials;
    for trial in trials.iter().filter(|trial| trial.target != "native again") {
        assert_eq!(trial.start, trial.round);
    }
}

#[test]
fn what_a_budget_has_no_time_for_is_left_out_and_the_others_are_decided() {
    let folder = tempfile::tempdir().unwrap();
    // The second one's eight starts take over a minute.
    let mut arena = FakeArena::new(&[1.0, 1.0, 1.0, 1.0]);
    arena.start_ns = vec![50_000_000, 50_000_000, 50_000_000, 9_000_000_000];
    let (record, ending) = session(&mut arena, folder.path(), None, Some(40.0));
    assert_eq!(ending, Ending::Complete);
    let found = findings(&record);
    assert_eq!(found.rows[0].cells[0].comparison().unwrap().verdict, Verdict::Same);
    let Cell::Missing(Missing::Failed(failure)) = &found.rows[0].cells[1] else {
        panic!("{:?}", found.rows[0].cells[1])
    };
    assert_eq!(failure.kind, FailureKind::LeftOut);
    assert!(failure.reason.starts_with("12 rounds of it take "), "{}", failure.reason);
    assert!(read_session(&record).unwrap().session.trials.iter().all(|trial| trial.target != "layer1"));
}

#[test]
fn a_start_is_left_by_a_case_that_it_has_had() {
    let folder = tempfile::tempdir().unwrap();
    let mut arena = FakeArena::new(&[1.0, 1.0, ON_THE_EDGE]);
    let selected = Study::from_name("quick").unwrap().expand_cases(None, None).unwrap();
    let three = ["null", "time.read", "sys.getppid"].map(String::from);
    let selected = select_cases(selected, &three).unwrap();
    let request = PlanRequest { selected, budget_s: Some(10.0), ..plan_request(targets(1)) };
    let (record, _) = planned(&mut arena, folder.path(), request);
    let session = read_session(&record).unwrap().session;
    let of_subject: Vec<&Trial> = session.trials.iter().filter(|trial| trial.target == "layer0").collect();
    let starts: Vec<&[&Trial]> = of_subject.chunk_by(|a, b| a.start == b.start).collect();
    assert!(starts.len() > 20, "{}", starts.len());
    for pair in starts.windows(2) {
        assert!(pair[0].iter().any(|trial| trial.case == pair[1][0].case), "start {}", pair[1][0].start);
    }
}

#[test]
fn a_round_takes_what_its_trials_took() {
    let folder = tempfile::tempdir().unwrap();
    for (takes_turns, round_s) in [(false, 0.0525), (true, 0.0315)] {
        let mut arena = FakeArena::new(&[1.0, 1.0, 1.0]);
        arena.takes_turns = takes_turns;
        let (record, _) = session(&mut arena, folder.path(), Some(4), None);
        let session = read_session(&record).unwrap().session;
        assert_eq!(
            measured_round_s(&session, 0, 4),
            round_s,
            "three trials alone, or two; two pairs, or one"
        );
        fs::remove_file(record).unwrap();
    }
}

#[test]
fn a_disturbed_round_is_run_again_whole() {
    let folder = tempfile::tempdir().unwrap();
    let mut arena = FakeArena::new(&[1.0, 1.0, 1.0]);
    arena.fault = Box::new(|_, trial| if trial == 6 { Fault::Steal } else { Fault::None });
    let (record, _) = session(&mut arena, folder.path(), Some(6), None);
    let session = read_session(&record).unwrap().session;
    assert_eq!(session.repeated.len(), 1);
    let round = session.repeated[0].round;
    let again: Vec<u32> = session.trials.iter().filter(|t| t.round == round).map(|t| t.attempt).collect();
    assert_eq!(again, [0, 0, 0, 0, 1, 1, 1, 1], "two pairs");
    let counted = session.trials.iter().filter(|t| session.is_counted(t)).count();
    assert_eq!(counted, 18);
}

#[test]
fn a_baseline_that_fails_again_and_again_ends_the_session() {
    let folder = tempfile::tempdir().unwrap();
    let mut arena = FakeArena::new(&[1.0, 1.0, 1.0]);
    arena.fault = Box::new(|target, trial| if target == 0 && trial > 5 { Fault::Lost } else { Fault::None });
    let (record, ending) = session(&mut arena, folder.path(), Some(60), None);
    assert_eq!(ending, Ending::BaselineFailed);
    let session = read_session(&record).unwrap().session;
    assert_eq!(
        session.trials.iter().map(|trial| trial.round).max(),
        Some(11),
        "after two good rounds, ten bad"
    );
    let warnings = findings(&record).warnings;
    let mostly = "died: gone".to_owned();
    assert!(
        warnings.contains(&(None, Warning::SessionFailed { failed: 30, of: 36, mostly })),
        "{warnings:?}"
    );
}

#[test]
fn a_target_that_dies_is_started_again_and_the_trial_is_shown_as_failed() {
    let folder = tempfile::tempdir().unwrap();
    let mut arena = FakeArena::new(&[1.0, 1.0, 1.3]);
    arena.fault = Box::new(|target, trial| if target == 2 && trial < 6 { Fault::Lost } else { Fault::None });
    let (record, _) = session(&mut arena, folder.path(), Some(12), None);
    let session = read_session(&record).unwrap().session;
    let failed: Vec<u32> = session.trials.iter().filter(|t| t.failure.is_some()).map(|t| t.round).collect();
    assert_eq!(failed, [0, 0, 1, 1], "both sides");
    assert_eq!(verdicts(&findings(&record)), [Verdict::Slower]);
}

#[test]
fn a_target_that_does_not_start_any_more_is_given_up_and_the_others_go_on() {
    let folder = tempfile::tempdir().unwrap();
    let mut arena = FakeArena::new(&[1.0, 1.0, 1.3, 1.3]);
    arena.refuse_starts = Some(2);
    let (record, ending) = session(&mut arena, folder.path(), Some(12), None);
    assert_eq!(ending, Ending::Complete);
    let session = read_session(&record).unwrap().session;
    let good =
        |target: &str| session.trials.iter().filter(|t| t.target == target && t.failure.is_none()).count();
    assert_eq!((good("layer0"), good("layer1")), (1, 12));
}

#[test]
fn an_interruption_while_an_environment_starts_is_not_its_death() {
    let folder = tempfile::tempdir().unwrap();
    let mut arena = FakeArena::new(&[1.0, 1.0, 1.3]);
    arena.interrupt_start = Some(2);
    let (record, ending) = session(&mut arena, folder.path(), Some(12), None);
    assert_eq!(ending, Ending::Interrupted);
    let session = read_session(&record).unwrap().session;
    assert!(session.trials.iter().all(|trial| trial.failure.is_none()));
}

/// Lists the rounds in which an environment ran a trial.
fn rounds_with(session: &Session, target: &str) -> Vec<u32> {
    session.trials.iter().filter(|trial| trial.target == target).map(|trial| trial.round).collect()
}

#[test]
fn the_control_runs_in_every_second_round_before_the_first_look_and_then_in_every_third() {
    let folder = tempfile::tempdir().unwrap();
    let (record, _) = session(&mut FakeArena::new(&[1.0, 1.0, 1.3]), folder.path(), Some(20), None);
    let session = read_session(&record).unwrap().session;
    assert_eq!(rounds_with(&session, "native again"), [0, 2, 4, 6, 8, 10, 12, 15, 18]);
    assert_eq!(rounds_with(&session, "layer0").len(), 20);
}

#[test]
fn who_comes_first_is_drawn_for_each_round() {
    let folder = tempfile::tempdir().unwrap();
    let (record, _) = session(&mut FakeArena::new(&[1.0, 1.0, 1.3]), folder.path(), Some(84), None);
    let session = read_session(&record).unwrap().session;
    for without in [true, false] {
        let of = |round: u32| session.plan.has_control(round) != without;
        let first = session.trials.iter().filter(|trial| trial.position == 0 && of(trial.round));
        let of_baseline = first.clone().filter(|trial| trial.target == "native").count();
        let (pairs, likely) = if without { (54, 16..=38) } else { (60, 18..=42) };
        assert_eq!(first.count(), pairs);
        assert!(likely.contains(&of_baseline), "{of_baseline} of {pairs}");
    }
}

#[test]
fn a_control_that_differs_stays_in_every_round() {
    let folder = tempfile::tempdir().unwrap();
    let (record, _) = session(&mut FakeArena::new(&[1.0, 1.1, 1.02]), folder.path(), None, Some(20.0));
    let session = read_session(&record).unwrap().session;
    let (rounds, all) = (rounds_with(&session, "native again").len() as u32, rounds_of(&session, "layer0"));
    // It is known to differ once its rounds are spread over some seconds.
    assert!(all.abs_diff(rounds) < 100, "{rounds} of {all}");
}

#[test]
fn what_is_hopeless_has_the_time_that_others_leave() {
    for noise in [50.0, 90.0] {
        let folder = tempfile::tempdir().unwrap();
        let mut arena = FakeArena::new(&[1.0, 1.0, ON_THE_EDGE, 1.0]);
        arena.noise = vec![1.0, 1.0, noise, 10.0];
        arena.start_ns = vec![1_000_000; 4];
        let (record, _) = session(&mut arena, folder.path(), None, Some(10.0));
        // By chance, noise may even decide it.
        let is_undecided = findings(&record).rows[0].cells[0].comparison().unwrap().needed.is_some();
        assert!(!is_undecided || arena.now_ns > 9_500_000_000, "{noise}: {}", arena.now_ns);
    }
}

#[test]
fn what_is_nearly_decided_is_finished_before_what_takes_long() {
    let folder = tempfile::tempdir().unwrap();
    let mut arena = FakeArena::new(&[1.0, 1.0, 1.0]);
    (arena.noise, arena.slow_ns) = (vec![16.0; 3], 1_000_000_000);
    let plan = plan_request(targets(1));
    let mut slow = plan.selected[0].clone();
    slow.case.parameters.0.insert("slow".into(), "yes".into());
    let selected = [plan.selected.clone(), vec![slow]].concat();
    let plan = PlanRequest { selected, budget_s: Some(45.0), ..plan };
    let (record, _) = planned(&mut arena, folder.path(), plan);
    let session = read_session(&record).unwrap().session;
    let rounds = |case: &str| {
        let of_case = session.trials.iter().filter(|trial| trial.case == case);
        of_case.map(|trial| trial.round + 1).max().unwrap()
    };
    let (quick, slow) = (rounds("null"), rounds("null?slow=yes"));
    // By shares alone it had 68 of them.
    assert!(quick > 80, "{quick} and {slow} rounds");
    assert!(slow > 5, "what takes long goes on: {slow} rounds");
}
