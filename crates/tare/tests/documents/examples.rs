//! Examples of records and frames: written by the code that writes real ones, and read back.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;

use tare_data::batch::{Batch, Histogram, Phase, RunEnd, Sample};
use tare_data::build::Build;
use tare_data::facts::Facts;
use tare_data::failure::{Failure, FailureKind};
use tare_data::frame::{Frame, LONGEST_REQUEST, PROTOCOL, Received, Splitter, encode_frame};
use tare_data::names::{Case, Parameters};
use tare_data::request::{Amount, Piece, Request, TrialRequest};
use tare_data::session::identity::Identity;
use tare_data::session::lasting::{LastingWork, Stretch};
use tare_data::session::limits::{GroupCounts, Idle, LimitCounts, Quota};
use tare_data::session::outcome::{Captured, Lines, OutcomeRun, Part, Said, Written};
use tare_data::session::{
    Ending, Header, Interference, Plan, PlannedCase, RepeatedRound, Role, Session, TargetFacts,
};
use tare_import::import_file;
use tare_record::entry::{Begin, End, Pair, SCHEMA, Side, to_line};
use tare_record::{Contents, Entry};
use tare_specimen::{change_sides, make_plan, make_sides, plan_case};

use crate::book;

const CASE: &str = "sys.getppid";
const VERSION: &str = "0.1.0";
const BOOT: &str = "a1b2c3d4e5f60718293a4b5c6d7e8f90";

/// Lays these lines into the fence of that name in a document; the document must have one.
fn lay(document: &str, fence_name: &str, lines: &str) {
    let path = book::repository_root().join(document);
    let laid = book::keep_fences(&path, |fence, _| {
        (fence.split_info() == ("text", Some(fence_name))).then(|| lines.to_owned())
    });
    assert_eq!(laid, 1, "{document} has no fence 'text {fence_name}', or several");
}

fn facts(pairs: &[(&str, &str)]) -> Facts {
    Facts(pairs.iter().map(|(key, value)| ((*key).into(), (*value).into())).collect())
}

fn interference() -> Interference {
    Interference {
        steal_ns: Some(0),
        switches_voluntary: Some(1),
        switches_forced: Some(0),
        batches_interrupted: None,
        faults_minor: Some(9),
        faults_major: Some(0),
        canary_ns: Some(351_204),
        ..Interference::default()
    }
}

/// Builds a batch of warm operations that were timed together.
pub fn make_warm_batch(operations: u64, elapsed_ns: u64) -> Batch {
    let sample = Sample::Throughput { operations, bytes: 0, elapsed_ns };
    Batch { series: "call".into(), phase: Phase::Warm, started_ns: 88_120_004_511, sample }
}

fn cold() -> Batch {
    Batch { phase: Phase::Cold, started_ns: 88_120_001_377, ..make_warm_batch(1, 1_240) }
}

fn case() -> Case {
    Case { probe: CASE.into(), parameters: Parameters::default(), place: None, peer: None }
}

fn plan() -> Plan {
    let probe = tare_probes::find_probe(CASE).unwrap();
    let planned = PlannedCase {
        label: (probe.label)(&Parameters::default()),
        definition: probe.definition_hash(&Parameters::default()),
        declared: probe.declare_case(&Parameters::default()),
        amount: Amount::Operations { batch: 23_000, batches: 1 },
        pairs: [("container".to_owned(), Amount::Operations { batch: 345, batches: 4 })].into(),
        ..plan_case(case(), probe.metrics())
    };
    let mut targets = make_sides([("native", Role::Baseline), ("container", Role::Subject)]);
    let about = ["the host itself", "Linux namespaces, made by tare"];
    change_sides(&mut targets, |at, side| side.short_description = about[at].into());
    Plan { seed: 0x7f3a_91c2, ..make_plan(targets, vec![planned], vec![1]) }
}

/// Builds the first entries of a record with two environments.
pub fn make_opening_entries() -> Vec<Entry> {
    let header = Header {
        tare: VERSION.into(),
        binary: "9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08".into(),
        started: "2026-01-31T12:00:00+01:00".into(),
        command: ["run", "--rounds", "1", "--only", CASE, "--in", "container"].map(str::to_owned).into(),
        host: facts(&[("cpu.count", "2"), ("kernel.release", "6.12.0")]),
        identity: Some(Identity {
            session: "0b7e3f6a5d1c49288f0e6a1b2c3d4e5f".into(),
            machine: "5f2b1c0d9e8f7a6b4c3d2e1f0a9b8c7d".into(),
            boot: BOOT.into(),
        }),
        fleet: None,
    };
    let target = |target: &str, inside: &[(&str, &str)], outside: &[(&str, &str)]| {
        let (target, inside, outside) = (target.into(), facts(inside), facts(outside));
        Entry::Facts(TargetFacts { target, inside, outside, places: BTreeMap::new() })
    };
    vec![
        Entry::Record { schema: SCHEMA, header },
        target("native", &[("clock.step_ns", "1")], &[]),
        target("container", &[("clock.step_ns", "1")], &[("runtime.seccomp", "none")]),
        Entry::Plan(plan()),
    ]
}

/// Builds the entries of one trial, including its beginning and end.
pub fn make_trial_entries(
    trial: u64,
    target: &str,
    attempt: u32,
    steal_ns: u64,
    batches: Vec<Batch>,
) -> Vec<Entry> {
    let begin = Begin {
        trial,
        case: CASE.into(),
        target: target.into(),
        round: 0,
        attempt,
        position: (trial % 2) as u32,
        start: attempt,
        started_ns: 1_204_551_000 + trial * 31_000_000,
    };
    let end = End {
        trial,
        host_elapsed_ns: 5_120_408,
        agent_elapsed_ns: Some(5_098_114),
        inside: interference(),
        outside: Interference { steal_ns: Some(steal_ns), canary_ns: None, ..interference() },
        failure: None,
        notes: vec![],
    };
    let mut entries = vec![Entry::Begin(begin)];
    entries.extend(batches.into_iter().map(|batch| Entry::Batch { trial, batch }));
    entries.push(Entry::End(end));
    entries
}

/// Builds a session of one round that is disturbed, stopped by its user, and resumed.
fn record() -> Vec<Entry> {
    let mut entries = make_opening_entries();
    entries.extend(make_trial_entries(
        0,
        "container",
        0,
        0,
        vec![cold(), make_warm_batch(23_000, 4_002_311)],
    ));
    entries.extend(make_trial_entries(1, "native", 0, 30_000_000, vec![make_warm_batch(23_000, 9_881_027)]));
    let reason = "the hypervisor took 30 ms of a trial".into();
    entries.push(Entry::Limits(LimitCounts {
        target: "container".into(),
        begins: true,
        groups: vec![make_counts()],
        idle: Some(Idle { watched_ns: 95_120_000, used_ns: 10_000_000 }),
    }));
    entries.push(Entry::Stretch(Stretch {
        target: "container".into(),
        work: LastingWork::Arithmetic,
        round: 0,
        operations: 2_310,
        elapsed_ns: 300_121_004,
        slice_ns: 129_640.0,
    }));
    let shown = [(3_300_174, "ring: ok".to_owned())].into();
    let lines = Lines { hashes: vec![[3_300_174, 3_300_174], [81_002, 77_310]], is_cut: false, shown };
    entries.push(Entry::Outcome(OutcomeRun {
        case: CASE.into(),
        target: "container".into(),
        start: 0,
        end: RunEnd::ExitCode(1),
        parts: [(Part::Output, lines)].into(),
    }));
    entries.push(Entry::Repeated(RepeatedRound { case: CASE.into(), round: 0, attempt: 0, reason }));
    entries.push(Entry::Ended {
        ending: Ending::Interrupted,
        at: "2026-01-31T12:00:02+01:00".into(),
        others: 0,
    });
    let command = ["run", "--resume", "session.tare"].map(str::to_owned).into();
    entries.push(Entry::Resumed { at: "2026-01-31T12:05:10+01:00".into(), command, boot: BOOT.into() });
    entries.extend(make_trial_entries(2, "native", 1, 0, vec![make_warm_batch(23_000, 3_990_174)]));
    entries.extend(make_trial_entries(3, "container", 1, 0, vec![make_warm_batch(23_000, 4_008_240)]));
    entries.push(Entry::Pair(Box::new(make_pair())));
    entries.push(Entry::Ended {
        ending: Ending::Complete,
        at: "2026-01-31T12:05:11+01:00".into(),
        others: 0,
    });
    entries
}

/// Builds the counts of a control group with a quota of two processors.
fn make_counts() -> GroupCounts {
    let quota = Some(Quota { quota_us: 200_000, period_us: 100_000 });
    GroupCounts { group: ":/job/".into(), quota, periods: 14, throttled: 0, throttled_ns: 0 }
}

/// Builds a pair of trials that took turns.
fn make_pair() -> Pair {
    let side = |trial: u64, target: &str, elapsed_ns: [u64; 4]| {
        let sample =
            Sample::Stretches { operations: 345, bytes: 0, elapsed_ns: elapsed_ns.into(), histogram: None };
        Side {
            trial,
            target: target.into(),
            start: 1,
            host_elapsed_ns: 1_204_310,
            agent_elapsed_ns: Some(1_198_004),
            batches: vec![Batch { series: "call".into(), phase: Phase::Warm, started_ns: 61_000, sample }],
            inside: Interference::default(),
            failure: None,
            notes: Vec::new(),
        }
    };
    let sides = [
        side(4, "container", [60_118, 60_095, 60_240, 60_101]),
        side(5, "native", [59_870, 59_902, 60_011, 59_866]),
    ];
    Pair {
        case: CASE.into(),
        round: 2,
        attempt: 0,
        started_ns: 95_000_000,
        sides,
        outside: Interference::default(),
    }
}

/// Builds a record of another tool's results.
fn imported_record() -> Vec<Entry> {
    let output = "1024+0 records in\n1024+0 records out\n\
                  1073741824 bytes (1.1 GB, 1.0 GiB) copied, 0.642771 s, 1.7 GB/s\n";
    let imported = import_file(output.as_bytes(), "dd.txt", Some("gvisor")).unwrap().remove(0);
    let command =
        ["import", "dd.txt", "--environment", "gvisor", "--out", "imported.tare"].map(str::to_owned).into();
    let Some(Entry::Record { schema, header }) = make_opening_entries().into_iter().next() else {
        unreachable!()
    };
    let header = Header { command, host: facts(&[]), identity: None, ..header };
    let at = "2026-01-31T12:00:00+01:00".into();
    vec![
        Entry::Record { schema, header },
        Entry::Imported(imported),
        Entry::Ended { ending: Ending::Complete, at, others: 0 },
    ]
}

fn kind(entry: &Entry) -> &'static str {
    match entry {
        Entry::Record { .. } => "record",
        Entry::Facts(_) => "facts",
        Entry::Plan(_) => "plan",
        Entry::Begin(_) => "begin",
        Entry::Batch { .. } => "batch",
        Entry::End(_) => "end",
        Entry::Pair(_) => "pair",
        Entry::Repeated(_) => "repeated",
        Entry::Limits(_) => "limits",
        Entry::Stretch(_) => "stretch",
        Entry::Outcome(_) => "outcome",
        Entry::Imported(_) => "imported",
        Entry::Resumed { .. } => "resumed",
        Entry::Ended { .. } => "ended",
    }
}

/// Writes the examples of records into their document: a session's, and one of another tool's figures.
pub fn keep_record() -> [String; 2] {
    let examples = [("session.tare", record()), ("imported.tare", imported_record())];
    examples.map(|(name, entries)| {
        let lines: String = entries.iter().map(to_line).collect();
        lay("docs/reference/record-format.md", name, &lines);
        lines
    })
}

#[test]
fn the_record_in_the_document_is_one() {
    let _lock = book::lock_documents();
    let [lines, imported] = keep_record();
    let page = fs::read_to_string(book::repository_root().join("docs/reference/record-format.md")).unwrap();
    let kinds: BTreeSet<&str> = record().iter().chain(&imported_record()).map(kind).collect();
    assert_eq!(kinds.len(), 14, "the examples show every kind of entry");
    let all = lines.clone() + &imported;
    for kind in kinds {
        assert!(page.contains(&format!("| `{kind}` |")), "the document does not explain '{kind}'");
        assert!(all.contains(&format!(" {{\"{kind}\":")), "'{kind}' is not what such a line begins with");
    }
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("session.tare");
    fs::write(&path, &lines).unwrap();
    let recording = tare_record::read_session(&path).unwrap();
    assert_eq!((recording.torn_line, recording.whole_bytes), (None, lines.len() as u64));
    let Session { trials, ending, plan, .. } = &recording.session;
    assert_eq!((trials.len(), *ending, plan.seed), (6, Ending::Complete, 0x7f3a_91c2));
    let counted = trials.iter().filter(|trial| recording.session.is_counted(trial)).count();
    assert_eq!(counted, 4, "the disturbed attempt is kept, and does not count");
    fs::write(&path, &imported).unwrap();
    let Ok(Contents::Imported(read)) = tare_record::read_record(&path) else {
        panic!("it holds no figures of other tools")
    };
    assert_eq!(read.imported.len(), 1);
}

fn requests() -> Vec<Request> {
    let trial = TrialRequest {
        turn: None,
        trial: 7,
        case: Case { probe: "file.sync".into(), place: Some("own".into()), ..case() },
        amount: Amount::Operations { batch: 40, batches: 5 },
        directory: Some("/own".into()),
        peer: None,
        seed: 1234,
        deadline_ms: 5_000,
        slower: 0.0,
        settling_ms: 0,
        nonce: 81_985_529_216_486_895,
    };
    let places = BTreeMap::from([("own".to_owned(), "/own".to_owned())]);
    let piece = Piece {
        directory: "/own".into(),
        command: "build".into(),
        name: "build.sh".into(),
        offset: 0,
        executable: true,
        bytes: "IyEvYmluL3NoCg".into(),
    };
    vec![Request::Describe { places }, Request::Carry(piece), Request::Trial(Box::new(trial)), Request::Leave]
}

fn frames() -> Vec<Frame> {
    let mut histogram = Histogram::new();
    [58_112, 60_004, 58_390].iter().for_each(|&elapsed_ns| histogram.record(elapsed_ns));
    let sample =
        Sample::Latency { operations: 3, bytes: 12_288, elapsed_ns: 177_310, histogram: histogram.encode() };
    let batch = Batch { series: "commit".into(), phase: Phase::Warm, started_ns: 88_130_000_000, sample };
    let places = BTreeMap::from([("own".to_owned(), facts(&[("file_system.type", "ext4")]))]);
    let failure = Failure::new(FailureKind::Deadline, "5000 ms");
    let digest = "e02dc5f0fdd89d3805906093cfe21ff9701cff9e".to_owned();
    let agent = Build { target: "x86_64-linux".into(), digest };
    let said = Said {
        pid: 4711,
        output: Captured { lines: vec!["ring: ok".into()], is_cut: false },
        errors: Captured::default(),
        files: Some(vec![Written { path: "out/report.txt".into(), size: Some(7), hash: Some(81_002) }]),
    };
    vec![
        Frame::Hello {
            protocol: PROTOCOL,
            version: VERSION.into(),
            agent,
            clock_ns: 88_119_000_000,
            signs: Default::default(),
        },
        Frame::Description { facts: facts(&[("kernel.release", "6.12.0")]), places },
        Frame::Carried { failure: None },
        Frame::Begun { trial: 7, nonce: 81_985_529_216_486_895, clock_ns: 88_129_000_000 },
        Frame::Batch { trial: 7, batch },
        Frame::Said { trial: 7, said },
        Frame::Done { trial: 7, interference: interference(), clock_ns: 88_131_000_000 },
        Frame::Failed { trial: 8, failure, clock_ns: 93_131_000_000 },
        Frame::Bye,
    ]
}

fn request_name(request: &Request) -> &'static str {
    match request {
        Request::Describe { .. } => "describe",
        Request::Carry(_) => "carry",
        Request::Trial(_) => "trial",
        Request::Leave => "leave",
    }
}

fn frame_name(frame: &Frame) -> &'static str {
    match frame {
        Frame::Hello { .. } => "hello",
        Frame::Description { .. } => "description",
        Frame::Carried { .. } => "carried",
        Frame::Begun { .. } => "begun",
        Frame::Batch { .. } => "batch",
        Frame::Said { .. } => "said",
        Frame::Done { .. } => "done",
        Frame::Failed { .. } => "failed",
        Frame::Bye => "bye",
    }
}

#[test]
fn the_frames_in_the_document_are_read_as_they_were_meant() {
    let _lock = book::lock_documents();
    let document = "docs/internals/agent-protocol.md";
    let asked: String = requests().iter().map(encode_frame).collect();
    let said: String = frames().iter().map(encode_frame).collect();
    assert!(asked.lines().all(|line| line.len() < LONGEST_REQUEST));
    lay(document, "requests", &asked);
    lay(document, "frames", &said);
    let read: Vec<Received<Frame>> = Splitter::default().push(said.as_bytes());
    assert_eq!(read, frames().into_iter().map(Received::Frame).collect::<Vec<_>>());
    let read: Vec<Received<Request>> = Splitter::default().push(asked.as_bytes());
    assert_eq!(read, requests().into_iter().map(Received::Frame).collect::<Vec<_>>());
    let page = fs::read_to_string(book::repository_root().join(document)).unwrap();
    let names: BTreeSet<&str> =
        requests().iter().map(request_name).chain(frames().iter().map(frame_name)).collect();
    assert_eq!(names.len(), 13, "the examples show every request and frame");
    for name in names {
        assert!(page.contains(&format!("| `{name}` |")), "{document} does not explain '{name}'");
    }
}
