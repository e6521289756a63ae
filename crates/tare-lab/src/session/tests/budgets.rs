//! Budgets that have no room for what is asked.

use tare_record::Writer;

use super::fake_arena::FakeArena;
use super::{observed, plan_request, targets};
use crate::asked::progress::{Event, Observer, Unobserved};
use crate::error::LabError;
use crate::session::plan::prepare::{PlanRequest, Prepared, prepare_session};
use crate::study::{Study, select_cases};

const SECOND: u64 = 1_000_000_000;
const BUDGET_S: f64 = 12.0;

#[derive(Default)]
struct Notes(Vec<String>);

impl Observer for Notes {
    fn observe_event(&mut self, event: Event<'_>) {
        if let Event::Note(note) = event {
            self.0.push(note);
        }
    }
}

/// Prepares a session of some cases, each trial of which takes this long.
fn prepared(trial_ns: u64, observer: &mut dyn Observer) -> (Result<Prepared, LabError>, FakeArena) {
    let folder = tempfile::tempdir().unwrap();
    let mut writer = Writer::create(&folder.path().join("session.tare")).unwrap();
    let mut arena = FakeArena::new(&[1.0, 1.0, 1.3]);
    arena.overhead_ns = trial_ns;
    let all = Study::from_name("full").unwrap().expand_cases(None, None).unwrap();
    let selected = select_cases(all, &["sys.*".into(), "cpu.*".into()]).unwrap();
    assert!(selected.len() > 4);
    let request = PlanRequest { selected, budget_s: Some(BUDGET_S), ..plan_request(targets(1)) };
    (prepare_session(request, &mut arena, &mut writer, observer), arena)
}

#[test]
fn cases_are_calibrated_in_half_of_the_budget_and_the_others_name_one_that_has_room() {
    let mut notes = Notes::default();
    let (prepared, arena) = prepared(SECOND, &mut notes);
    let plan = prepared.unwrap().plan;
    let left_out: Vec<bool> = plan.cases.iter().map(|case| case.missing.contains_key("native")).collect();
    assert_eq!(left_out[..5], [false, false, false, true, true], "two seconds each, until six have passed");
    assert!(arena.now_ns < 8 * SECOND, "{}", arena.now_ns);
    let [note] = &notes.0[..] else { panic!("{:?}", notes.0) };
    assert!(note.contains("cases are left out: the budget has no time for it; --budget "), "{note}");
    assert_eq!(plan.cases[3].missing["layer0"].reason, plan.cases[4].missing["native"].reason);
}

#[test]
fn nothing_is_calibrated_that_would_outlast_twice_the_budget() {
    let (prepared, arena) = prepared(20 * SECOND, &mut Unobserved);
    let error = prepared.unwrap_err();
    assert!(error.what.starts_with("cannot measure layer0: the budget has no time for it; --budget "));
    assert_eq!(error.hint, None, "the reason is the next step");
    assert!(arena.now_ns < 2 * BUDGET_S as u64 * SECOND);
}

#[test]
fn no_round_begins_that_would_outlast_twice_the_budget() {
    for (trial_s, has_rounds) in [(3, true), (8, false)] {
        let folder = tempfile::tempdir().unwrap();
        let mut arena = FakeArena::new(&[1.0, 1.0, 1.3]);
        arena.overhead_ns = trial_s * SECOND;
        let request = PlanRequest { budget_s: Some(BUDGET_S), ..plan_request(targets(1)) };
        let (record, _) = observed(&mut arena, folder.path(), request, &mut Unobserved);
        let session = tare_record::read_session(&record).unwrap().session;
        assert_eq!(!session.trials.is_empty(), has_rounds, "{trial_s} s");
        assert!(arena.now_ns <= 2 * BUDGET_S as u64 * SECOND, "{}", arena.now_ns);
    }
}
