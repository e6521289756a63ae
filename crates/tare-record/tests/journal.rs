//! A record survives being cut anywhere, and the fault of one that was changed is reported.

#![allow(clippy::disallowed_methods, reason = "tests write the files that they read")]

use std::fs;
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::PathBuf;

use tare_data::session::{Ending, Role, Trial};
use tare_data::warning::Warning;
use tare_record::entry::{End, SCHEMA, to_line};
use tare_record::{Entry, RecordError, Writer, is_record, read_record, read_session};
use tare_specimen::{Outcome, list_entries, make_plan, make_session, make_sides, make_trial};

/// Lists the entries of a record of three trials, without facts.
fn entries() -> Vec<Entry> {
    let mut session = make_session(make_plan(make_sides([("native", Role::Baseline)]), vec![], vec![12]));
    session.facts.clear();
    let trial = |round: u32| Trial {
        number: u64::from(round),
        started_ns: u64::from(round),
        host_elapsed_ns: 200,
        ..make_trial("null", "native", round, Outcome::Time(10.0))
    };
    session.trials.extend((0..3).map(trial));
    list_entries(&session)
}

fn file(folder: &tempfile::TempDir, bytes: &[u8]) -> PathBuf {
    let path = folder.path().join("session.tare");
    fs::write(&path, bytes).unwrap();
    path
}

#[test]
fn what_is_written_is_read() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("session.tare");
    let mut writer = Writer::create(&path).unwrap();
    entries().iter().for_each(|entry| writer.append(entry).unwrap());
    writer.sync().unwrap();
    let recording = read_session(&path).unwrap();
    assert_eq!(recording.session.trials.len(), 3);
    assert_eq!(recording.session.ending, Ending::Complete);
    assert_eq!(recording.whole_bytes, fs::metadata(&path).unwrap().len());
    assert!(matches!(Writer::create(&path), Err(RecordError::Io { action: "create", .. })));
}

#[test]
fn a_record_cut_at_any_byte_gives_what_came_before() {
    let folder = tempfile::tempdir().unwrap();
    let text: String = entries().iter().map(to_line).collect();
    let plan_end: usize = entries()[..2].iter().map(|e| to_line(e).len()).sum();
    for cut in 0..text.len() {
        match read_session(&file(&folder, &text.as_bytes()[..cut])) {
            Ok(recording) => {
                assert!(cut >= plan_end);
                assert_eq!(recording.session.ending, Ending::BrokenOff);
                let unfinished = recording.session.trials.iter().filter(|t| t.failure.is_some()).count();
                assert!(unfinished <= 1);
            }
            Err(RecordError::NotARecord { .. } | RecordError::NoPlan { .. }) => assert!(cut < plan_end),
            Err(other) => panic!("cut at {cut}: {other}"),
        }
    }
}

/// Writes the record of [`entries`] with these lines, counted from 1, made unreadable.
fn damaged(lines: &[usize]) -> String {
    let line = |(at, entry)| match lines.contains(&(at + 1)) {
        true => to_line(entry).replacen('"', "'", 1),
        false => to_line(entry),
    };
    entries().iter().enumerate().map(line).collect()
}

#[test]
fn a_damaged_line_costs_its_trial_and_is_counted() {
    let folder = tempfile::tempdir().unwrap();
    // A record has two lines before its trials; a trial has `begin`, `batch` and `end`.
    for (lines, trials, failed) in [
        (&[3][..], &[0][..], 0),
        (&[4], &[0], 1),
        (&[5], &[0], 1),
        (&[5, 6], &[0, 1], 1),
        (&[3, 4, 5], &[0], 0),
        (&[4, 10], &[0, 2], 2),
    ] {
        let recording = read_session(&file(&folder, damaged(lines).as_bytes())).unwrap();
        let session = recording.session;
        let (lines, trials) = (lines.len() as u64, trials.to_vec());
        assert_eq!(session.warnings, [Warning::DamagedLines { lines, trials }]);
        assert_eq!(
            session.trials.iter().filter(|trial| trial.failure.is_some()).count(),
            failed,
            "{lines:?}"
        );
        assert!(session.trials.iter().any(|trial| trial.failure.is_none()));
        assert_eq!((session.ending, recording.torn_line), (Ending::Complete, None));
    }
}

#[test]
fn a_line_that_is_too_long_is_passed_over_too() {
    let folder = tempfile::tempdir().unwrap();
    let long = format!("{}\n", "x".repeat(40 << 20));
    let text = damaged(&[]);
    let at: usize = text.split_inclusive('\n').take(3).map(str::len).sum();
    let session =
        read_session(&file(&folder, [&text[..at], &long, &text[at..]].concat().as_bytes())).unwrap().session;
    assert_eq!(session.warnings, [Warning::DamagedLines { lines: 1, trials: vec![0] }]);
    assert_eq!((session.trials.len(), session.ending), (3, Ending::Complete));
}

#[test]
fn damage_does_not_make_a_repeated_round_count_twice() {
    let folder = tempfile::tempdir().unwrap();
    let mut entries = entries();
    // The second trial is the first one's round again; the line that notes it is gone.
    for entry in &mut entries {
        if let Entry::Begin(begin) = entry {
            (begin.round, begin.attempt) = (begin.trial as u32 / 2, begin.trial as u32 % 2);
        }
    }
    let mut lines: Vec<String> = entries.iter().map(to_line).collect();
    lines.insert(5, "damaged\n".into());
    let session = read_session(&file(&folder, lines.concat().as_bytes())).unwrap().session;
    let counted: Vec<u64> =
        session.trials.iter().filter(|trial| session.is_counted(trial)).map(|trial| trial.number).collect();
    assert_eq!(counted, [1, 2]);
    assert_eq!(session.warnings, [Warning::DamagedLines { lines: 1, trials: vec![] }]);
}

#[test]
fn a_record_whose_head_is_damaged_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let refused = read_session(&file(&folder, damaged(&[1]).as_bytes()));
    assert!(matches!(refused, Err(RecordError::NotARecord { .. })));
    let refused = read_session(&file(&folder, damaged(&[2]).as_bytes()));
    assert!(matches!(refused, Err(RecordError::Damaged { line: 2, .. })));
}

#[test]
fn a_torn_record_goes_on_after_its_last_whole_line() {
    let folder = tempfile::tempdir().unwrap();
    let text: String = entries().iter().map(to_line).collect();
    let path = file(&folder, &text.as_bytes()[..text.len() - 5]);
    let (mut writer, recording) = Writer::resume(&path).unwrap();
    assert_eq!(recording.torn_line, Some(12));
    writer.append(&Entry::Resumed { at: "later".into(), command: vec![], boot: "now".into() }).unwrap();
    writer.append(entries().last().unwrap()).unwrap();
    assert_eq!(read_session(&path).unwrap().session.ending, Ending::Complete);
}

#[test]
fn a_packed_record_is_read_and_goes_on_as_text() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("session.tare");
    let noted = |trial: Entry| match trial {
        Entry::End(end) => Entry::End(End { notes: vec!["a line of the kernel ".repeat(4_500); 1], ..end }),
        other => other,
    };
    let write = |entries: Vec<Entry>| {
        let _ = fs::remove_file(&path);
        let mut writer = Writer::create(&path).unwrap();
        entries.iter().for_each(|entry| writer.append(entry).unwrap());
        fs::set_permissions(&path, fs::Permissions::from_mode(0o640)).unwrap();
        writer.pack();
        fs::read(&path).unwrap()
    };
    assert!(!write(entries()).starts_with(&[0x1f, 0x8b]), "a short one stays as it is");
    let packed = write(entries().into_iter().map(noted).collect());
    assert!(packed.starts_with(&[0x1f, 0x8b]) && packed.len() < 20_000, "{}", packed.len());
    assert_eq!(fs::metadata(&path).unwrap().mode() & 0o777, 0o640);
    assert!(is_record(&path) && read_session(&path).unwrap().session.trials.len() == 3);
    drop(Writer::resume(&path).unwrap());
    assert_eq!(fs::read(&path).unwrap(), packed, "nothing was added");
    let (mut writer, recording) = Writer::resume(&path).unwrap();
    assert_eq!((recording.session.ending, recording.torn_line), (Ending::Complete, None));
    writer.append(&Entry::Resumed { at: "later".into(), command: vec![], boot: "now".into() }).unwrap();
    assert!(matches!(Writer::resume(&path), Err(RecordError::InUse { .. })));
    writer.append(entries().last().unwrap()).unwrap();
    writer.sync().unwrap();
    assert_eq!(fs::metadata(&path).unwrap().len(), writer.bytes());
    assert_eq!(read_session(&path).unwrap().session.trials.len(), 3);
    writer.pack();
    assert!(fs::read(&path).unwrap().starts_with(&[0x1f, 0x8b]));
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1, "nothing else is left");
    let link = folder.path().join("link.tare");
    std::os::unix::fs::symlink("session.tare", &link).unwrap();
    Writer::resume(&link).unwrap().0.append(entries().last().unwrap()).unwrap();
    assert!(fs::symlink_metadata(&link).unwrap().is_symlink());
    assert!(!fs::read(&path).unwrap().starts_with(&[0x1f, 0x8b]), "its lines are in the place of the file");
    fs::write(&path, &packed[..packed.len() / 2]).unwrap();
    assert!(read_session(&path).unwrap().torn_line.is_some());
}

#[test]
fn trials_of_a_resumed_session_follow_those_before_in_time() {
    let folder = tempfile::tempdir().unwrap();
    let mut entries = entries();
    // The second and the third trial ran after the session was resumed, with a clock of their own.
    entries.insert(5, Entry::Resumed { at: "later".into(), command: vec![], boot: "now".into() });
    let lines: String = entries.iter().map(to_line).collect();
    let session = read_session(&file(&folder, lines.as_bytes())).unwrap().session;
    let started: Vec<u64> = session.trials.iter().map(|trial| trial.started_ns).collect();
    assert_eq!(started, [0, 200 + 1, 200 + 2], "the first ended after 200 ns");
}

#[test]
fn a_record_of_another_build_is_refused_in_one_sentence() {
    let folder = tempfile::tempdir().unwrap();
    let lines = || entries().iter().map(to_line).collect::<Vec<String>>();
    let changed = |at: usize, from: &str, to: &str| {
        let mut lines = lines();
        let json = lines[at][9..].trim_end().replacen(from, to, 1);
        assert_ne!(json, lines[at][9..].trim_end());
        lines[at] = format!("{:08x} {json}\n", crc32fast::hash(json.as_bytes()));
        lines.concat()
    };
    let this = format!("\"schema\":{SCHEMA}");
    let of_schema = |schema: u32| (schema, changed(0, &this, &format!("\"schema\":{schema}")));
    // This schema, as another build wrote it: a header, a plan and an entry that do not fit.
    let unfit = [(0, "\"binary\""), (1, "\"looks\""), (3, "\"batch\"")];
    let unfit = unfit.map(|(at, field)| (SCHEMA, changed(at, field, "\"renamed\"")));
    for (schema, text) in [0, 1, 2, 3, SCHEMA + 1].map(of_schema).into_iter().chain(unfit) {
        let path = file(&folder, text.as_bytes());
        let refusals = [read_record(&path).unwrap_err(), Writer::resume(&path).unwrap_err()];
        for refused in refusals {
            assert!(
                matches!(refused, RecordError::OtherSchema { found, .. } if found == schema),
                "{refused}"
            );
            let sentence = format!(
                "{} is a record of schema {schema}, and this build of tare reads only the records of schema {SCHEMA} \
                 that it writes: measure again with this build",
                path.display()
            );
            assert_eq!(refused.to_string(), sentence);
        }
        assert!(is_record(&path), "it is never written over");
    }
}

#[test]
fn a_record_has_one_writer_at_a_time() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("session.tare");
    let mut writer = Writer::create(&path).unwrap();
    entries()[..4].iter().for_each(|entry| writer.append(entry).unwrap());
    assert!(matches!(Writer::resume(&path), Err(RecordError::InUse { .. })));
    drop(writer);
    let (writer, _) = Writer::resume(&path).unwrap();
    assert!(matches!(Writer::resume(&path), Err(RecordError::InUse { .. })));
    drop(writer);
    assert!(Writer::resume(&path).is_ok());
}

#[test]
fn lines_outside_any_trial_and_sessions_at_once_are_named() {
    let folder = tempfile::tempdir().unwrap();
    let mut entries = entries();
    // As if a second writer had cut off the begin of a trial that ran.
    entries.remove(5);
    *entries.last_mut().unwrap() = Entry::Ended { ending: Ending::Complete, at: "".into(), others: 2 };
    let text: String = entries.iter().map(to_line).collect();
    let session = read_session(&file(&folder, text.as_bytes())).unwrap().session;
    assert_eq!(session.trials.len(), 2);
    let warnings = [Warning::StrayLines { lines: 2 }, Warning::SessionsAtOnce { others: 2 }];
    assert_eq!(session.warnings, warnings);
}

#[test]
fn a_writer_notices_that_its_record_is_removed_or_cut() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("session.tare");
    let begun = || {
        let mut writer = Writer::create(&path).unwrap();
        entries()[..4].iter().for_each(|entry| writer.append(entry).unwrap());
        writer.sync().unwrap();
        writer
    };
    let mut writer = begun();
    fs::OpenOptions::new().write(true).open(&path).unwrap().set_len(10).unwrap();
    assert!(matches!(writer.sync(), Err(RecordError::Io { action: "continue", .. })));
    fs::remove_file(&path).unwrap();
    let mut writer = begun();
    fs::remove_file(&path).unwrap();
    assert!(matches!(writer.sync(), Err(RecordError::Io { action: "continue", .. })));
}

#[test]
fn two_records_in_one_file_are_refused() {
    let folder = tempfile::tempdir().unwrap();
    let text: String = entries().iter().map(to_line).collect();
    let refused = |text: &str| read_session(&file(&folder, text.as_bytes())).unwrap_err();
    assert!(matches!(refused(&text.repeat(2)), RecordError::Second { entry: "header", line: 13, .. }));
    let plan = to_line(&entries()[1]);
    assert!(matches!(refused(&(text.clone() + &plan)), RecordError::Second { entry: "plan", line: 13, .. }));
}
