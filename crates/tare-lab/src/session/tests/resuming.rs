//! Sessions that are resumed: after an interruption, after a kill, and when they are complete.

use super::*;

/// Goes on with a record, in an arena of the same environments.
pub(super) fn resume(arena: &mut FakeArena, record: &Path) -> Ending {
    let (mut writer, recording) = Writer::resume(record).unwrap();
    writer.append(&Entry::Resumed { at: "later".into(), command: vec![], boot: String::new() }).unwrap();
    let started =
        enter_all(&recording.session.plan.targets, &[], arena, &mut writer, &mut Unobserved).unwrap();
    let pilot = Pilot::from_session(&recording.session, started);
    Rounds::new(arena, &mut writer, &mut Unobserved, recording.session, pilot, None)
        .run_rounds(&ended)
        .unwrap()
        .ending
}

#[test]
fn an_interrupted_session_keeps_what_it_has_and_goes_on() {
    let folder = tempfile::tempdir().unwrap();
    let mut arena = FakeArena::new(&[1.0, 1.0, 1.3]);
    arena.fault = Box::new(|_, trial| if trial == 10 { Fault::Interrupt } else { Fault::None });
    let (record, ending) = session(&mut arena, folder.path(), Some(12), None);
    assert_eq!(ending, Ending::Interrupted);
    assert_eq!(read_session(&record).unwrap().session.ending, Ending::Interrupted);
    assert_eq!(resume(&mut FakeArena::new(&[1.0, 1.0, 1.3]), &record), Ending::Complete);
    whole(&record);
}

#[test]
fn a_complete_session_that_is_resumed_measures_nothing_and_keeps_its_answers() {
    // The first session has all its rounds, and the second had decided before its time was over.
    for (rounds, budget_s) in [(Some(12), None), (None, Some(60.0))] {
        let folder = tempfile::tempdir().unwrap();
        let (record, ending) =
            session(&mut FakeArena::new(&[1.0, 1.0, 1.3]), folder.path(), rounds, budget_s);
        assert_eq!(ending, Ending::Complete);
        let before = (read_session(&record).unwrap().session, findings(&record));
        for _ in 0..2 {
            assert_eq!(resume(&mut FakeArena::new(&[1.0, 1.0, 1.3]), &record), Ending::Complete);
            let after = read_session(&record).unwrap().session;
            assert_eq!((&after.trials, &after.repeated), (&before.0.trials, &before.0.repeated));
            assert_eq!(findings(&record).rows, before.1.rows);
        }
    }
}

#[test]
fn a_session_killed_at_any_line_goes_on_to_a_whole_one() {
    let folder = tempfile::tempdir().unwrap();
    let (record, _) = session(&mut FakeArena::new(&[1.0, 1.0, 1.3]), folder.path(), Some(6), None);
    let text = fs::read_to_string(&record).unwrap();
    let lines: Vec<&str> = text.split_inclusive('\n').collect();
    let plan = lines.iter().position(|line| line.contains("\"plan\":")).unwrap();
    for kept in (plan + 1..lines.len()).step_by(7) {
        let torn = &lines[kept][..lines[kept].len() / 2];
        fs::write(&record, format!("{}{torn}", lines[..kept].concat())).unwrap();
        assert_eq!(resume(&mut FakeArena::new(&[1.0, 1.0, 1.3]), &record), Ending::Complete);
        whole(&record);
    }
}

/// Asserts that every environment has taken turns with its partner exactly once in every round among the trials that count, and that
/// numbers are unique.
pub(super) fn whole(record: &Path) {
    let session = read_session(record).unwrap().session;
    let counted: Vec<_> =
        session.trials.iter().filter(|t| session.is_counted(t) && t.failure.is_none()).collect();
    let unique: BTreeSet<(u32, &str, Option<&str>)> =
        counted.iter().map(|t| (t.round, t.target.as_str(), t.partner.as_deref())).collect();
    let plan = &session.plan;
    let pairs = |round: u32| plan.targets.len() - 1 - usize::from(!plan.has_control(round));
    let expected: usize = (0..plan.rounds).map(|round| 2 * pairs(round)).sum();
    assert_eq!((counted.len(), unique.len()), (expected, expected));
    let numbers: BTreeSet<u64> = session.trials.iter().map(|t| t.number).collect();
    assert_eq!(numbers.len(), session.trials.len());
}
