//! Size: a record may be longer than memory, and one that may be written may be read.

#![allow(clippy::disallowed_methods, reason = "tests write the files that they read")]

use std::fs::OpenOptions;
use std::io::Write;
use std::path::{Path, PathBuf};

use tare_data::batch::Batches;
use tare_data::batch::{Batch, EncodedHistogram, Phase, Sample};
use tare_data::failure::FailureKind;
use tare_data::frame::{LONGEST_NOTE, MOST_NOTES};
use tare_data::session::{Ending, Interference, Role};
use tare_record::entry::{Begin, End, to_line};
use tare_record::{Entry, MOST_BATCHES, RecordError, Writer, read_session};
use tare_specimen::{list_opening_entries, make_plan, make_session, make_sides};

/// Begins a record in a folder.
fn begun(folder: &Path) -> (PathBuf, Writer) {
    let path = folder.join("session.tare");
    let mut writer = Writer::create(&path).unwrap();
    let session = make_session(make_plan(make_sides([("native", Role::Baseline)]), vec![], vec![1]));
    list_opening_entries(&session).iter().for_each(|entry| writer.append(entry).unwrap());
    (path, writer)
}

fn begin(trial: u64) -> Entry {
    let (case, target) = ("null".into(), "native".into());
    let (round, attempt, position, start, started_ns) = Default::default();
    Entry::Begin(Begin { trial, case, target, round, attempt, position, start, started_ns })
}

fn end(trial: u64, notes: Vec<String>) -> Entry {
    let (inside, outside) = (Interference::default(), Interference::default());
    Entry::End(End {
        trial,
        host_elapsed_ns: 1,
        agent_elapsed_ns: None,
        inside,
        outside,
        failure: None,
        notes,
    })
}

fn batch(series: &str, operations: u64, length: usize) -> Batch {
    let histogram = EncodedHistogram("x".repeat(length));
    let sample = Sample::Latency { operations, bytes: 0, elapsed_ns: 1, histogram };
    Batch { series: series.into(), phase: Phase::Warm, started_ns: 0, sample }
}

#[test]
fn batches_beyond_what_is_held_are_read_from_the_record() {
    let folder = tempfile::tempdir().unwrap();
    let (path, mut writer) = begun(folder.path());
    let of_trial = |trial| vec![batch("call", trial, 400_000), batch("other", trial, 5), batch("call", 7, 9)];
    let mut kept: Vec<Batches> = Vec::new();
    for trial in 0..130 {
        writer.append(&begin(trial)).unwrap();
        let from = writer.bytes();
        // A line of another trial that was not cut off comes in between.
        writer.append(&Entry::Batch { trial: 999, batch: batch("call", 1, 1) }).unwrap();
        for batch in of_trial(trial) {
            writer.append(&Entry::Batch { trial, batch }).unwrap();
        }
        kept.push(writer.keep_batches(trial, from, of_trial(trial)));
        writer.append(&end(trial, vec![])).unwrap();
    }
    let session = read_session(&path).unwrap().session;
    let lying = |batches: &Batches| format!("{batches:?}").contains("Lying");
    for all in [&kept, &session.trials.iter().map(|trial| trial.batches.clone()).collect()] {
        assert!(!lying(&all[0]) && lying(&all[129]));
        for (trial, batches) in (0..).zip(all) {
            assert_eq!(*batches, Batches::from(of_trial(trial)), "{trial}");
            let other: Vec<Batch> = batches.iter_series("other").map(|batch| batch.into_owned()).collect();
            assert_eq!(other, [batch("other", trial, 5)]);
            assert_eq!(batches.iter_series("call").count(), 2);
        }
    }
    let mut last = kept.pop().unwrap();
    last.push(batch("more", 1, 1));
    assert_eq!(last.iter().count(), 4);
    assert!(!lying(&last));
}

#[test]
fn a_record_is_full_before_a_reader_would_refuse_it() {
    let folder = tempfile::tempdir().unwrap();
    let (path, mut writer) = begun(folder.path());
    let notes = vec!["\u{1}".repeat(LONGEST_NOTE); MOST_NOTES];
    let mut trials = 0;
    while writer.has_room() {
        writer.append(&begin(trials)).unwrap();
        writer.append(&end(trials, notes.clone())).unwrap();
        trials += 1;
    }
    assert!(trials > 100, "{trials}");
    // It can go on from there, and finds that it is full again.
    drop(writer);
    let (mut writer, recording) = Writer::resume(&path).unwrap();
    assert_eq!(recording.session.trials.len() as u64, trials);
    assert!(!writer.has_room());
    writer.append(&Entry::Ended { ending: Ending::Complete, at: String::new(), others: 0 }).unwrap();
    let refused = (0..5).find_map(|trial| writer.append(&end(trial, notes.clone())).err());
    assert!(matches!(refused, Some(RecordError::TooMuch { .. })), "{refused:?}");
    assert_eq!(read_session(&path).unwrap().session.ending, Ending::Complete);
    // Written nevertheless, it is not read.
    let mut file = OpenOptions::new().append(true).open(&path).unwrap();
    (0..5).for_each(|trial| file.write_all(to_line(&end(trial, notes.clone())).as_bytes()).unwrap());
    assert!(matches!(read_session(&path), Err(RecordError::TooMuch { .. })));
}

#[test]
fn a_trial_with_too_many_batches_is_kept_and_does_not_count() {
    let folder = tempfile::tempdir().unwrap();
    let (path, mut writer) = begun(folder.path());
    let line = to_line(&Entry::Batch { trial: 0, batch: batch("call", 1, 1) });
    writer.append(&begin(0)).unwrap();
    drop(writer);
    let mut file = OpenOptions::new().append(true).open(&path).unwrap();
    file.write_all(line.repeat(MOST_BATCHES + 1).as_bytes()).unwrap();
    file.write_all(to_line(&end(0, vec![])).as_bytes()).unwrap();
    let session = read_session(&path).unwrap().session;
    let failure = session.trials[0].failure.as_ref().unwrap();
    assert_eq!(failure.kind, FailureKind::Broken);
    assert!(failure.reason.contains("batches"), "{failure:?}");
    assert_eq!(session.trials[0].batches.iter().count(), 0);
}
