//! Sessions that end before their time is up, because somebody waits and what is open is far from decided.

use tare_analysis::findings::Verdict;
use tare_data::session::lasting::LastingWork;
use tare_data::session::{Ending, Session};
use tare_record::entry::SCHEMA;
use tare_record::{Entry, Writer, read_session};
use tare_specimen::{make_header, make_session};

use super::fake_arena::FakeArena;
use super::{ON_THE_EDGE, ended, findings, plan_request, targets, verdicts};
use crate::asked::progress::Unobserved;
use crate::session::plan::prepare::{PlanRequest, Prepared, prepare_session};
use crate::session::rounds::{Ended, Rounds};

/// Runs a session for somebody who waits; returns its end, its verdicts, and the seconds that it took.
fn ended_early(arena: &mut FakeArena, request: PlanRequest<'_>) -> (Ended, Vec<Verdict>, f64, Session) {
    let folder = tempfile::tempdir().unwrap();
    let record = folder.path().join("session.tare");
    let mut writer = Writer::create(&record).unwrap();
    writer.append(&Entry::Record { schema: SCHEMA, header: make_header() }).unwrap();
    let until_ns = request.budget_s.map(|s| (s * 1e9) as u64);
    let Prepared { plan, pilot } = prepare_session(request, arena, &mut writer, &mut Unobserved).unwrap();
    let session = Session { facts: vec![], ending: Ending::BrokenOff, ..make_session(plan) };
    let mut nobody = Unobserved;
    let rounds = Rounds::new(arena, &mut writer, &mut nobody, session, pilot, until_ns);
    let end = rounds.ending_early().run_rounds(&ended).unwrap();
    let session = read_session(&record).unwrap().session;
    (end, verdicts(&findings(&record)), arena.now_ns as f64 / 1e9, session)
}

#[test]
fn what_needs_longer_than_the_session_took_ends_it() {
    let mut arena = FakeArena::new(&[1.0, 1.0, 1.0, ON_THE_EDGE]);
    arena.start_ns = vec![1_000_000; 4];
    let request = PlanRequest { budget_s: Some(600.0), ..plan_request(targets(2)) };
    let (end, verdicts, took_s, session) = ended_early(&mut arena, request);
    assert_eq!((end.ending, session.ending), (Ending::Early, Ending::Early));
    assert_eq!(verdicts[0], Verdict::Same);
    assert!(took_s < 200.0, "{took_s} s of 600");
}

#[test]
fn what_is_near_is_waited_for_and_what_lasts_is_looked_at_once() {
    let mut arena = FakeArena::new(&[1.0, 1.0, 1.0]);
    let request = PlanRequest { budget_s: Some(120.0), lasting: true, ..plan_request(targets(1)) };
    let (end, verdicts, _, _) = ended_early(&mut arena, request);
    assert_eq!((end.ending, end.rest_s, &verdicts[..]), (Ending::Complete, None, &[Verdict::Same][..]));
    let mut arena = FakeArena::new(&[1.0, 1.0, ON_THE_EDGE]);
    let request = PlanRequest { budget_s: Some(600.0), lasting: true, ..plan_request(targets(1)) };
    let (end, _, _, session) = ended_early(&mut arena, request);
    assert_eq!(end.ending, Ending::Early);
    let first = session.stretches.iter().filter(|stretch| stretch.work == LastingWork::Arithmetic);
    assert_eq!(first.count(), 16, "eight in each of two");
}
