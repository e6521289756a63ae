//! Sessions that only decisions end.

use tare_analysis::findings::Verdict;
use tare_data::generator::Generator;
use tare_data::session::Ending;
use tare_record::read_session;

use super::fake_arena::{FakeArena, Fault};
use super::{ON_THE_EDGE, findings, plan_request, planned, rounds_of, targets, verdicts};
use crate::session::plan::prepare::PlanRequest;

fn until_decided(subjects: usize) -> PlanRequest<'static> {
    PlanRequest { until_decided: true, ..plan_request(targets(subjects)) }
}

fn quick(ratios: &[f64]) -> FakeArena {
    let mut arena = FakeArena::new(ratios);
    arena.start_ns = vec![1_000_000; ratios.len()];
    arena
}

#[test]
fn it_ends_when_all_is_decided() {
    let folder = tempfile::tempdir().unwrap();
    let mut arena = quick(&[1.0, 1.0, 1.6, 1.0, 1.027]);
    let (record, ending) = planned(&mut arena, folder.path(), until_decided(3));
    assert_eq!(ending, Ending::Complete);
    let [slower, same, close] = verdicts(&findings(&record))[..] else { panic!() };
    assert_eq!((slower, same, close), (Verdict::Slower, Verdict::Same, Verdict::Slower));
    let session = read_session(&record).unwrap().session;
    assert!(session.plan.until_decided && session.plan.budget_s.is_none());
    assert_eq!(rounds_of(&session, "layer0"), 12);
}

#[test]
fn what_cannot_be_decided_does_not_keep_it_for_ever() {
    let folder = tempfile::tempdir().unwrap();
    let mut arena = quick(&[1.0, 1.0, ON_THE_EDGE]);
    // On the edge itself each look has one chance in five of giving up: a draw that does so early keeps the test short.
    arena.generator = Generator::new(9);
    arena.noise = vec![10.0; 3];
    let (record, ending) = planned(&mut arena, folder.path(), until_decided(1));
    assert_eq!(ending, Ending::Complete);
    let rounds = rounds_of(&read_session(&record).unwrap().session, "layer0");
    assert!((300..50_000).contains(&rounds), "{rounds} rounds");
}

#[test]
fn an_interrupt_leaves_the_verdicts_of_the_looks_taken() {
    let folder = tempfile::tempdir().unwrap();
    let mut arena = quick(&[1.0, 1.0, 1.3, ON_THE_EDGE]);
    arena.fault = Box::new(|_, trial| if trial == 112 { Fault::Interrupt } else { Fault::None });
    let (record, ending) = planned(&mut arena, folder.path(), until_decided(2));
    assert_eq!(ending, Ending::Interrupted);
    let findings = findings(&record);
    assert_eq!(verdicts(&findings)[0], Verdict::Slower);
    let edge = findings.rows[0].cells[1].comparison().unwrap();
    // Its rounds lie between two looks: the interval is that of the one before.
    assert!(edge.rounds > 20 && edge.rounds < 30, "{edge:?}");
    let mut at_look = read_session(&record).unwrap().session;
    at_look.trials.retain(|trial| trial.round < 20);
    let then = tare_analysis::compute_findings(&at_look, &tare_analysis::Options::default());
    let then = then.rows[0].cells[1].comparison().unwrap().clone();
    assert_eq!(edge.interval, then.interval);
}
