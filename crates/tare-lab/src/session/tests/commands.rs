//! Sessions that compare commands: each is a side, in a start of its own.

use tare_data::batch::RunEnd;

use super::*;
use crate::asked::{Measured, Request};
use crate::session::enter::sides::name_command_sides;
use crate::study::user_command::UserCommand;

/// Requests these commands natively.
fn request_commands(commands: &[&str]) -> Request {
    let of = |(at, words): (usize, &&str)| {
        let (command, title) = (vec![(*words).to_owned()], (*words).to_owned());
        (format!("{at}-x"), UserCommand { command, title, ..UserCommand::default() })
    };
    let study = Study::of_commands("commands", commands.iter().enumerate().map(of).collect());
    Request::new(Measured::Commands(study), "native", PathBuf::new())
}

/// Plans a session of these commands in one environment.
fn plan_commands(commands: &[&str]) -> PlanRequest<'static> {
    let mut request = request_commands(commands);
    request.compares_commands = true;
    let mut selection = request.make_selection().unwrap();
    // The arena has no places.
    selection.selected.iter_mut().for_each(|selected| selected.case.place = None);
    let sides = name_command_sides("native", &selection.commands).unwrap();
    PlanRequest { selected: selection.selected, ..plan_request(sides) }
}

#[test]
fn each_side_runs_its_own_command_and_the_control_that_of_the_first() {
    let folder = tempfile::tempdir().unwrap();
    let mut arena = FakeArena::new(&[1.0, 1.0, 1.3, 1.0]);
    let request = PlanRequest { budget_s: Some(60.0), ..plan_commands(&["./old", "./new", "./other"]) };
    let (record, ending) = planned(&mut arena, folder.path(), request);
    assert_eq!(ending, Ending::Complete);
    let words = ["[\"./old\"]", "[\"./old\"]", "[\"./new\"]", "[\"./other\"]"];
    let each: BTreeSet<(usize, String)> = words.map(str::to_owned).into_iter().enumerate().collect();
    assert_eq!(arena.commands, each, "from the first calibration to the last pair");
    let found = findings(&record);
    assert_eq!((found.baseline.as_str(), found.subjects.len()), ("./old", 2));
    assert_eq!(verdicts(&found), [Verdict::Slower, Verdict::Same]);
    assert_eq!(found.certificate.control_coloured, 0);
    let session = read_session(&record).unwrap().session;
    assert!(session.plan.targets.compare_commands() && session.plan.cases.len() == 1);
    assert!(session.trials.iter().all(|trial| trial.partner.is_some()), "all run by turns");
}

#[test]
fn a_session_of_commands_that_is_interrupted_goes_on_with_the_same_commands() {
    let folder = tempfile::tempdir().unwrap();
    let mut arena = FakeArena::new(&[1.0, 1.0, 1.3]);
    arena.fault = Box::new(|_, trial| if trial == 10 { Fault::Interrupt } else { Fault::None });
    let request = PlanRequest { rounds: Some(12), ..plan_commands(&["./old", "./new"]) };
    let (record, ending) = planned(&mut arena, folder.path(), request);
    assert_eq!(ending, Ending::Interrupted);
    let mut later = FakeArena::new(&[1.0, 1.0, 1.3]);
    assert_eq!(resuming::resume(&mut later, &record), Ending::Complete);
    resuming::whole(&record);
    assert!(!later.commands.is_empty() && later.commands.is_subset(&arena.commands), "{:?}", later.commands);
}

/// Plans it in a folder, where outcomes are compared.
fn plan_in_folder(commands: &[&str]) -> PlanRequest<'static> {
    let mut request = plan_commands(commands);
    let cases = request.selected.iter_mut().map(|selected| &mut selected.case);
    for case in cases {
        let parameters = [("folder", "/made-up"), ("timeout_s", "0")];
        case.parameters.0.extend(parameters.map(|(key, value)| (key.to_owned(), value.to_owned())));
    }
    PlanRequest { budget_s: Some(60.0), ..request }
}

#[test]
fn runs_that_hang_are_counted_on_from_the_starts_for_outcomes_to_the_rounds() {
    let folder = tempfile::tempdir().unwrap();
    let mut arena = FakeArena::new(&[1.0, 1.0, 1.3]);
    // The first of six starts for outcomes, and every run after them.
    let hangs = |target, run| target == 2 && (run == 0 || run >= 6);
    arena.end =
        Box::new(move |target, run| if hangs(target, run) { RunEnd::TimedOut } else { RunEnd::ExitCode(0) });
    planned(&mut arena, folder.path(), plan_in_folder(&["./old", "./new"]));
    assert_eq!(arena.ended[2], 6 + 3, "a side has four runs that hang, and no more");
}

#[test]
fn a_run_for_the_outcome_that_hangs_ends_before_twice_the_budget() {
    let folder = tempfile::tempdir().unwrap();
    let mut arena = FakeArena::new(&[1.0, 1.0, 1.3]);
    arena.end = Box::new(|target, _| if target == 2 { RunEnd::TimedOut } else { RunEnd::ExitCode(0) });
    let mut request = plan_in_folder(&["./old", "./new"]);
    request.selected[0].case.parameters.0.insert("timeout_s".into(), "1000".into());
    planned(&mut arena, folder.path(), request);
    assert!(arena.now_ns < 121_000_000_000, "{}", arena.now_ns);
}

#[test]
fn a_command_that_is_explained_has_no_starts_for_its_outcome() {
    let folder = tempfile::tempdir().unwrap();
    let mut arena = FakeArena::new(&[1.0, 1.0, 1.3]);
    let request = PlanRequest { counts_demand: true, ..plan_in_folder(&["./old", "./new"]) };
    let (record, _) = planned(&mut arena, folder.path(), request);
    let session = read_session(&record).unwrap().session;
    assert!(!session.plan.demands.is_empty() && session.outcomes.is_empty(), "{:?}", session.outcomes);
}

#[test]
fn a_price_that_waits_for_a_disk_has_the_rounds_of_a_bill_before_others_have_many() {
    let quick = ["null", "time.read", "sys.getppid", "file.sync"].map(String::from);
    for budget_s in 20..40 {
        let folder = tempfile::tempdir().unwrap();
        let mut arena = FakeArena::new(&[1.0, 1.0, 1.3]);
        arena.overhead_ns = 100_000_000;
        let all = Study::from_name("full").unwrap().expand_cases(None, None).unwrap();
        let command = request_commands(&["./old"]).make_selection().unwrap().selected;
        let mut selected = [command, select_cases(all, &quick).unwrap()].concat();
        selected.iter_mut().for_each(|selected| selected.case.place = None);
        let budget_s = Some(f64::from(budget_s));
        let request = PlanRequest { selected, budget_s, counts_demand: true, ..plan_request(targets(1)) };
        let (record, _) = planned(&mut arena, folder.path(), request);
        let session = read_session(&record).unwrap().session;
        for case in &session.plan.cases {
            let of_case = |trial: &&Trial| trial.case == case.id && trial.target == "layer0";
            let rounds = session.trials.iter().filter(of_case).count();
            assert!(rounds >= 6, "{rounds} of {} in {budget_s:?} s", case.id);
        }
    }
}

#[test]
fn rounds_are_planned_with_the_time_that_outcomes_leave() {
    let rounds = |request: PlanRequest<'static>| {
        let folder = tempfile::tempdir().unwrap();
        let mut arena = FakeArena::new(&[1.0, 1.0, 1.3]);
        arena.start_ns.fill(1_000_000_000);
        let (record, _) = planned(&mut arena, folder.path(), request);
        read_session(&record).unwrap().session.plan.rounds
    };
    let alone = rounds(PlanRequest { budget_s: Some(60.0), ..plan_commands(&["./old", "./new"]) });
    let beside = rounds(plan_in_folder(&["./old", "./new"]));
    // Six starts of two sides take 12 of the 57 s that entering them leaves.
    assert!(f64::from(beside) < 0.82 * f64::from(alone), "{beside} of {alone}");
}

#[test]
fn a_side_for_which_outcomes_leave_no_time_is_left_out() {
    let left_out = |request: PlanRequest<'static>| {
        let folder = tempfile::tempdir().unwrap();
        let mut arena = FakeArena::new(&[1.0, 1.0, 1.3, 1.3]);
        arena.start_ns.fill(1_900_000_000);
        let (record, _) = planned(&mut arena, folder.path(), request);
        let session = read_session(&record).unwrap().session;
        session.plan.cases[0].missing.keys().cloned().collect::<Vec<_>>()
    };
    let commands = ["./old", "./new", "./other"];
    // Eight starts of each take 46 of the 52 s that entering them leaves.
    let alone = PlanRequest { budget_s: Some(60.0), ..plan_commands(&commands) };
    assert_eq!(left_out(alone), [""; 0]);
    // Two further starts of each for outcomes take 11 s.
    assert_eq!(left_out(plan_in_folder(&commands)), ["./other"]);
}
