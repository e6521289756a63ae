//! A hostile environment's messages can be written, and whatever is written can be read.

#![allow(clippy::disallowed_methods, reason = "tests write the files that they read")]

use std::path::{Path, PathBuf};

use tare_data::batch::{Batch, Phase, Sample};
use tare_data::facts::Facts;
use tare_data::failure::{Failure, FailureKind};
use tare_data::frame::{Frame, LONGEST_FRAME, MARKER, Received, Splitter, encode_frame};
use tare_data::session::{Interference, Role, TargetFacts};
use tare_record::entry::{Begin, End};
use tare_record::{Entry, Writer, read_session};
use tare_specimen::{list_opening_entries, make_plan, make_session, make_sides};

/// Begins a record in a folder.
fn begun(folder: &Path) -> (PathBuf, Writer) {
    let path = folder.join("session.tare");
    let mut writer = Writer::create(&path).unwrap();
    let session = make_session(make_plan(make_sides([("native", Role::Baseline)]), vec![], vec![1]));
    list_opening_entries(&session).iter().for_each(|entry| writer.append(entry).unwrap());
    let (case, target) = ("null".into(), "native".into());
    let (round, attempt, position, start, started_ns) = Default::default();
    let begin = Begin { trial: 0, case, target, round, attempt, position, start, started_ns };
    writer.append(&Entry::Begin(begin)).unwrap();
    (path, writer)
}

fn end(failure: Option<Failure>, notes: Vec<String>) -> Entry {
    let (inside, outside) = (Interference::default(), Interference::default());
    Entry::End(End { trial: 0, host_elapsed_ns: 1, agent_elapsed_ns: None, inside, outside, failure, notes })
}

/// Decodes, as the host does, a line in which a byte or an escape, in place of `FILL`, fills a frame.
fn received(frame: &Frame, fill: &[u8]) -> Vec<Received<Frame>> {
    let line = encode_frame(frame);
    let (_, json) = line[MARKER.len()..].trim_end().split_once(' ').unwrap();
    let (before, after) = json.split_once("FILL").unwrap();
    let times = (LONGEST_FRAME - json.len() - 64) / fill.len();
    let bytes = [before.as_bytes(), &fill.repeat(times), after.as_bytes()].concat();
    // The checksum is that of the text as a host decodes it.
    let sum = crc32fast::hash(String::from_utf8_lossy(&bytes).as_bytes());
    let line = [format!("{MARKER}{sum:08x} ").as_bytes(), &bytes, b"\n"].concat();
    Splitter::default().push(&line)
}

/// Writes the received frames and notes as a session does, and reads them back.
fn survives(frame: &Frame, fill: &[u8]) {
    let folder = tempfile::tempdir().unwrap();
    let (path, mut writer) = begun(folder.path());
    let mut notes = Vec::new();
    let mut failed = None;
    for line in received(frame, fill) {
        match line {
            Received::Frame(Frame::Batch { batch, .. }) => {
                writer.append(&Entry::Batch { trial: 0, batch }).unwrap();
            }
            Received::Frame(Frame::Failed { failure, .. }) => failed = Some(failure),
            Received::Frame(Frame::Description { facts: inside, places }) => {
                let (target, outside) = ("native".into(), Facts::default());
                writer.append(&Entry::Facts(TargetFacts { target, inside, outside, places })).unwrap();
            }
            Received::Frame(other) => panic!("{other:?}"),
            Received::Note(note) => notes.push(note),
        }
    }
    // As many notes as are kept, each as long and as much escaped as one may be.
    let note = [&[1; LONGEST_FRAME / 2][..], b"\n"].concat();
    for line in Splitter::default().push::<Frame>(&note.repeat(64)) {
        let Received::Note(note) = line else { panic!() };
        notes.push(note);
    }
    notes.truncate(64);
    writer.append(&end(failed, notes)).unwrap();
    let session = read_session(&path).unwrap().session;
    assert_eq!(session.trials.len(), 1);
}

#[test]
fn what_a_hostile_environment_sends_can_be_written_and_read() {
    let sample = Sample::Throughput { operations: 1, bytes: 0, elapsed_ns: 1 };
    let batch = Batch { series: "FILL".into(), phase: Phase::Warm, started_ns: 1, sample };
    let failure = Failure { kind: FailureKind::Broken, reason: "FILL".into() };
    let mut facts = Facts::default();
    facts.add_fact("kernel.release", "FILL");
    let frames = [
        Frame::Batch { trial: 0, batch },
        Frame::Failed { trial: 0, failure, clock_ns: 1 },
        Frame::Description { facts, places: Default::default() },
    ];
    let fills: [&[u8]; 5] = [b"\xff", b"\\u0001", b"\\\\", "\u{2028}".as_bytes(), b"x"];
    for (frame, fill) in frames.iter().flat_map(|frame| fills.map(|fill| (frame, fill))) {
        survives(frame, fill);
    }
}
