//! Every probe runs small, proves its work, and is registered and described as it should be.

mod planted;

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};

use tare_data::batch::{Batch, ENDED, HELD, Phase, Sample};
use tare_data::failure::{Failure, FailureKind};
use tare_data::names::{Case, Parameters};
use tare_data::peer::Peer;
use tare_data::request::{Amount, TrialRequest};

use crate::PROBES;
use crate::counts::Count;
use crate::harness::folder::Folder;
use crate::harness::trial::Trial;
use crate::probe::{Probe, Size};
use crate::probes::run_of;

/// Builds a request for a small trial of a probe: 23 operations a batch.
pub fn make_trial_request(probe: &Probe, parameters: &[(&str, &str)]) -> TrialRequest {
    let mut all = probe.default_parameters(Size::Short);
    for (key, value) in parameters {
        assert!(all.0.insert((*key).into(), (*value).into()).is_some(), "{} has no {key}", probe.name);
    }
    TrialRequest {
        turn: None,
        trial: 1,
        case: Case {
            probe: probe.name.into(),
            parameters: all,
            place: probe.needs_place().then(|| "own".into()),
            peer: probe.needs_peer().then(|| "loopback".into()),
        },
        amount: Amount::Operations { batch: 23, batches: 2 },
        directory: None,
        peer: probe.needs_peer().then_some(Peer::Loopback),
        seed: 7,
        deadline_ms: 10_000,
        slower: 0.0,
        settling_ms: 0,
        nonce: 0,
    }
}

/// Waits for this test's turn, which lasts as long as what is returned. A process that one test forks has the files, locks and pipes of
/// all others for as long as it lives: so whoever forks, or starts a program that it has written, takes a turn.
pub fn take_turn() -> MutexGuard<'static, ()> {
    static TURN: Mutex<()> = Mutex::new(());
    // A test that failed in its turn has left nothing that the next one could find.
    TURN.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Runs a trial in this process, in a fresh folder, and returns its batches. One at a time, as trials are.
pub fn run_trial(request: &TrialRequest) -> Result<Vec<Batch>, Failure> {
    let mut batches = Vec::new();
    run_trial_into(request, &mut batches).map(|()| batches)
}

/// Runs a trial as [`run_trial`] does, and returns its batches even if it fails.
pub fn run_trial_into(request: &TrialRequest, batches: &mut Vec<Batch>) -> Result<(), Failure> {
    let _turn = take_turn();
    let place = Place::new();
    let folder = Folder::make_fresh(&place.0).unwrap();
    let mut sink = |batch| batches.push(batch);
    let program = find_agent();
    let mut trial = Trial::new(request, &program, Some(folder.door()), &mut sink);
    run_of(&request.case.probe).unwrap()(&mut trial)
}

/// Finds the agent that cargo built beside this test: deps/../examples/agent.
pub fn find_agent() -> PathBuf {
    let test = std::env::current_exe().unwrap();
    let agent = test.parent().and_then(Path::parent).unwrap().join("examples/agent");
    assert!(agent.exists(), "{} is built with the tests", agent.display());
    agent
}

struct Place(PathBuf);

impl Place {
    fn new() -> Place {
        use std::sync::atomic::{AtomicU32, Ordering};
        static NUMBER: AtomicU32 = AtomicU32::new(0);
        let number = NUMBER.fetch_add(1, Ordering::Relaxed);
        // Beside the build, not in /tmp, which may be in memory.
        let path = find_agent().with_file_name(format!("probe-test-{}-{number}", std::process::id()));
        std::fs::create_dir(&path).unwrap();
        Place(path)
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

fn operations(batch: &Batch) -> u64 {
    batch.sample.iter_timed().next().map_or(0, |timed| timed.operations)
}

/// Tells whether the system is emulated: builds for other processors say so (bench/targets.sh).
pub fn is_emulated() -> bool {
    std::env::var_os("TARE_EMULATED").is_some()
}

/// Recognises a counted program that ends with its own reason: an emulator traces nothing.
fn is_unsupported(request: &TrialRequest, failure: &Failure) -> bool {
    failure.kind == FailureKind::NotSupported || request.case.probe == "demand.command"
}

/// Runs a trial. None where the system is emulated and the emulator does not have what the probe needs.
pub fn run_if_supported(request: &TrialRequest) -> Option<Vec<Batch>> {
    match run_trial(request) {
        Ok(batches) => Some(batches),
        Err(e) if is_emulated() && is_unsupported(request, &e) => None,
        Err(e) => panic!("{}: {e}", request.case.probe),
    }
}

#[test]
fn every_probe_does_23_operations_and_proves_them() {
    for probe in PROBES {
        let Some(batches) = run_if_supported(&make_trial_request(probe, &[])) else { continue };
        let warm: Vec<_> = batches.iter().filter(|b| b.phase == Phase::Warm).collect();
        let headline = probe.metrics[0].series;
        assert!(warm.iter().any(|b| b.series == headline), "{} has no {headline}", probe.name);
        for batch in warm.iter().filter(|b| !matches!(b.sample, Sample::Gauge { .. })) {
            assert!(operations(batch) > 0, "{} did nothing in {}", probe.name, batch.series);
        }
        for batch in batches.iter().filter(|b| !matches!(b.sample, Sample::Gauge { .. })) {
            let demanded = if batch.phase == Phase::Cold { 1 } else { 23 };
            let count = Count::from_case(&make_trial_request(probe, &[]).case, &batch.series, demanded);
            assert!(
                count.matches_operations(operations(batch)),
                "{} {}: {count:?}",
                probe.name,
                batch.series
            );
        }
        let series: BTreeSet<&str> = batches.iter().map(|b| b.series.as_str()).collect();
        for metric in probe.metrics {
            // Requests at disks show only where no other program makes some.
            let optional = matches!(metric.series, "requests" | "blocks of 4K" | "processor")
                || matches!(metric.name, "memory" | "pss" | "outside")
                || metric.name.starts_with("fsync");
            assert!(optional || series.contains(metric.series), "{} lacks {}", probe.name, metric.series);
        }
        // The host reads what is held, and how runs ended.
        let known = |series: &&&str| {
            probe.metrics.iter().any(|m| m.series == **series) || [HELD, ENDED].contains(*series)
        };
        assert_eq!(series.iter().find(|series| !known(series)), None, "{} is not read", probe.name);
    }
}

#[test]
fn every_probe_calibrates() {
    for probe in PROBES {
        let mut request = make_trial_request(probe, &[]);
        request.amount = Amount::Calibrate;
        let Some(batches) = run_if_supported(&request) else { continue };
        assert!(!batches.is_empty(), "{}", probe.name);
    }
}

#[test]
fn the_list_and_the_folders_hold_the_same() {
    let files = |folder: &str| -> BTreeSet<String> {
        // From the crate's folder, in which tests run: those for other processors are built elsewhere.
        std::fs::read_dir(folder)
            .unwrap()
            .map(|entry| entry.unwrap().file_name().into_string().unwrap())
            .filter_map(|name| name.strip_suffix(".rs").map(str::to_owned))
            .filter(|name| name != "mod" && name != "tests")
            .collect()
    };
    let listed: BTreeSet<String> = PROBES.iter().map(|probe| probe.name.replace('.', "_")).collect();
    assert_eq!(files("src/probes"), listed);
    assert_eq!(files("src/descriptions"), listed);
    for probe in PROBES {
        assert!(run_of(probe.name).is_ok(), "{} has no loop", probe.name);
    }
    assert_eq!(listed.len(), PROBES.len(), "a probe is listed twice");
}

#[test]
fn every_description_is_whole() {
    for probe in PROBES {
        for text in [probe.title, probe.summary, probe.timed, probe.not_timed, probe.distorted_by] {
            assert!(!text.is_empty() && !text.contains("  "), "{}: {text:?}", probe.name);
        }
        let label = (probe.label)(&probe.default_parameters(Size::Short));
        assert!(label.chars().count() <= 22, "{}: {label} is too long for a row", probe.name);
        assert!(!(probe.label)(&Parameters::default()).is_empty(), "{}", probe.name);
        let names: BTreeSet<_> = probe.metrics.iter().map(|m| m.name).collect();
        assert_eq!(names.len(), probe.metrics.len(), "{} names a metric twice", probe.name);
    }
}

#[test]
fn a_probe_refuses_a_parameter_that_it_cannot_use() {
    for probe in PROBES {
        for parameter in probe.parameters {
            let failure = run_trial(&make_trial_request(probe, &[(parameter.name, "\u{1}nonsense")]));
            assert!(failure.is_err(), "{} takes any {}", probe.name, parameter.name);
        }
    }
}

#[test]
fn a_definition_changes_only_on_purpose() {
    let lines = |size| {
        let line = |p: &&Probe| {
            let parameters = p.default_parameters(size);
            format!("{size:?} {} {} {}\n", p.name, p.definition_hash(&parameters), (p.label)(&parameters))
        };
        PROBES.iter().map(line).collect::<String>()
    };
    let now = lines(Size::Short) + &lines(Size::Reference);
    let known = include_str!("definitions.txt");
    // Figures of different definitions are never compared: with a change here, old records stand apart. If
    // that is meant, raise the probe's revision and put these lines into definitions.txt.
    assert_eq!(now, known, "definitions.txt should hold:\n{now}");
}
