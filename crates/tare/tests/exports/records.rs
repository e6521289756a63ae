//! Records with known costs: a real session whose values follow a rule, and whose texts are hostile.

use std::fs;
use std::path::Path;
use std::sync::OnceLock;

use tare_data::batch::{Batch, Phase, Sample};
use tare_data::failure::{Failure, FailureKind};
use tare_record::Entry;
use tare_record::entry::{from_line, to_line};

use crate::program::Program;

/// Cases that measure a time, a rate of bytes, and one that will be a gap.
const ONLY: &str = "sys.getppid,cpu.primes?max_prime=20000&threads=1,file.seq?bs=4KiB*loop=plain*op=write*size=32MiB*sync=fdatasync*";
const ROUNDS: &str = "12";
/// A label that every format must escape.
pub const HOSTILE: &str = "a \"b\" <c> & 50 %: d,e\\f\n::error::g`|h ]]> {i}";

/// Reads the entries of a real session of native and a container.
fn real() -> &'static [Entry] {
    static REAL: OnceLock<Vec<Entry>> = OnceLock::new();
    REAL.get_or_init(|| {
        let program = Program::new();
        let said = program.run_tare(&[
            "run",
            "--in",
            "container",
            "--only",
            ONLY,
            "--rounds",
            ROUNDS,
            "--record",
            "real.tare",
        ]);
        assert_eq!(said.code, Some(0), "{said:?}");
        let bytes = fs::read(program.path("real.tare")).unwrap();
        bytes.split_inclusive(|byte| *byte == b'\n').map(|line| from_line(line).unwrap()).collect()
    })
}

/// Properties of a synthetic session.
#[derive(Clone, Copy)]
pub struct Made {
    /// Cost of the container.
    pub cost: f64,
    /// Spread of its rounds, as a fraction.
    pub spread: f64,
    pub hostile: bool,
    /// Definition of every case, where it is another.
    pub definition: Option<&'static str>,
    pub kernel: &'static str,
    pub started: Option<&'static str>,
    /// Nanoseconds that an operation takes in native.
    pub native_ns: f64,
}

pub const USUAL: Made = Made {
    cost: 3.0,
    spread: 0.004,
    hostile: false,
    definition: None,
    kernel: "6.1",
    started: None,
    native_ns: 1000.0,
};

/// Writes a record in which native takes a given time an operation, and primes cannot be found in the container.
pub fn write_record(path: &Path, made: Made) {
    let mut target_of_trial = (String::new(), 0);
    let mut left_out = None;
    let mut text = String::new();
    for entry in real() {
        let mut entry = entry.clone();
        match &mut entry {
            Entry::Record { header, .. } => {
                header.host.add_fact("kernel.release", made.kernel);
                if let Some(identity) = &mut header.identity {
                    identity.session = session_of(path);
                }
                header.started = made.started.map_or(header.started.clone(), Into::into);
            }
            Entry::Plan(plan) => {
                for case in &mut plan.cases {
                    case.definition = made.definition.map_or(case.definition.clone(), Into::into);
                    if made.hostile {
                        case.label = HOSTILE.into();
                    }
                    if case.case.probe == "cpu.primes" {
                        let failure = Failure::new(FailureKind::NotSupported, "no primes here, 100 % sure");
                        case.missing.insert("container".into(), failure);
                    }
                }
            }
            Entry::Begin(begin) => {
                target_of_trial = (begin.target.clone(), begin.round);
                let is_missing = begin.target == "container" && begin.case.starts_with("cpu.primes");
                left_out = is_missing.then_some(begin.trial);
            }
            Entry::Batch { batch, .. } => {
                let (target, round) = &target_of_trial;
                set_time(batch, target, *round, made);
            }
            Entry::Pair(pair) => {
                let has_container = pair.sides.iter().any(|side| side.target == "container");
                left_out =
                    (has_container && pair.case.starts_with("cpu.primes")).then_some(pair.sides[0].trial);
                for side in &mut pair.sides {
                    for batch in &mut side.batches {
                        set_time(batch, &side.target, pair.round, made);
                    }
                }
            }
            Entry::Facts(_)
            | Entry::End(_)
            | Entry::Repeated(_)
            | Entry::Limits(_)
            | Entry::Outcome(_)
            | Entry::Stretch(_)
            | Entry::Resumed { .. }
            | Entry::Ended { .. }
            | Entry::Imported(_) => {}
        }
        // An environment without a case has no trials of it.
        if left_out.is_none()
            || !matches!(entry, Entry::Begin(_) | Entry::Batch { .. } | Entry::End(_) | Entry::Pair(_))
        {
            text.push_str(&to_line(&entry));
        }
    }
    fs::write(path, text).unwrap();
}

/// Gives a batch the time that the rule says.
fn set_time(batch: &mut Batch, target: &str, round: u32, made: Made) {
    let cost = if target == "container" { made.cost } else { 1.0 };
    let place = (f64::from(round) * 0.618).fract() - 0.5;
    let each_ns = made.native_ns * cost * (1.0 + place * made.spread);
    match &mut batch.sample {
        _ if batch.phase == Phase::Cold => {}
        Sample::Throughput { operations, elapsed_ns, .. } => {
            *elapsed_ns = (*operations as f64 * each_ns) as u64
        }
        Sample::Stretches { operations, elapsed_ns, .. } => {
            elapsed_ns.fill((*operations as f64 * each_ns) as u64)
        }
        Sample::Latency { .. } | Sample::Gauge { .. } => {}
    }
}

/// Derives a session ID from the file name, so that each file is a different session.
fn session_of(path: &Path) -> String {
    let sum = path
        .display()
        .to_string()
        .bytes()
        .fold(7, |sum: u128, b| sum.wrapping_mul(257).wrapping_add(b.into()));
    format!("{sum:032x}")
}

/// Sets up a program whose folder contains such a record, `s.tare`.
pub fn with_record(made: Made) -> Program {
    let program = Program::new();
    write_record(&program.path("s.tare"), made);
    program
}
