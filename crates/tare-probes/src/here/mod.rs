//! Here: facts that tell an unprivileged process where it runs, each read or tried so that none of them can hold it up.
//!
//! A session's facts are read once by an agent that somebody entered. These are read by a person's own command, anywhere: every risky
//! step runs in a child with a deadline, and nothing that could name the person or the machine is kept.

mod bounded;
mod code;
mod command;
mod costs;
mod filters;
mod first;
mod kin;
mod limits;
mod machine;
mod marks;
mod mounted;
mod namespaces;
mod places;
mod steps;

use std::path::PathBuf;

use tare_data::facts::Facts;
use tare_data::facts::Surroundings;

pub use self::command::run_twice;
pub use self::places::Place;
use self::steps::Risk::{Harmless, NeedsChild};
use self::steps::Steps;
use crate::harness::stopwatch::now_ns;

/// Time for a step that only reads, in ms: gVisor under strace needs a tenth.
const READING_MS: u64 = 500;
/// Time for a step that times something.
const TIMING_MS: u64 = 1_000;
/// Time for a place, whose file system may be far away.
const PLACE_MS: u64 = 300;
/// Time for the files of the working folder: slow operations are fewer then.
const FILES_MS: u64 = 1_200;

/// Extent of the answer.
#[derive(Clone, Debug)]
pub struct Wanted {
    /// Environment variables that are set, of those in [`VARIABLES`], and the value of `container`.
    pub variables: Facts,
    pub places: Vec<Place>,
    /// Folders on which the working folder may be compared with another file system.
    pub references: Vec<PathBuf>,
    /// Time in which everything must be done, in ms.
    pub longest_ms: u64,
}

/// Variables that say something, or beginnings of their names. Their values are not kept.
pub const VARIABLES: [&str; 14] = [
    "APPTAINER_",
    "CI",
    "CODEX_SANDBOX",
    "CODESPACES",
    "GITHUB_ACTIONS",
    "GITLAB_CI",
    "KUBERNETES_SERVICE_HOST",
    "PROOT_",
    "SANDBOX_RUNTIME",
    "SINGULARITY_",
    "SNAP",
    "WSL_DISTRO_NAME",
    "WSL_INTEROP",
    "AWS_LAMBDA_FUNCTION_NAME",
];

/// Finds out where this process runs and what limits it. Creates nothing that outlives it.
pub fn collect_surroundings(wanted: &Wanted) -> Surroundings {
    let began_ns = now_ns();
    let mut steps = Steps::until(began_ns + wanted.longest_ms * 1_000_000);
    steps.facts = wanted.variables.clone();
    collect_where(&mut steps);
    steps.run_step("limits", READING_MS, Harmless, limits::note_all);
    for place in &wanted.places {
        steps.run_step(place.role, PLACE_MS, NeedsChild, |noting| places::note_place(noting, place));
    }
    steps.run_step("kernel times", TIMING_MS, Harmless, costs::note_kernel);
    if let Some(work) = wanted.places.iter().find(|place| place.role == "work") {
        collect_file_times(&mut steps, work, &wanted.references);
    }
    Surroundings { facts: steps.facts, lost: steps.lost, took_ms: (now_ns() - began_ns) / 1_000_000 }
}

/// Finds facts of the layers around this process. Writes nothing.
pub fn collect_layers(variables: &Facts, longest_ms: u64) -> Facts {
    let mut steps = Steps::until(now_ns() + longest_ms * 1_000_000);
    steps.facts = variables.clone();
    collect_where(&mut steps);
    steps.facts
}

/// Measures files in a folder that goes away, also where the step was ended.
fn collect_file_times(steps: &mut Steps, work: &Place, references: &[PathBuf]) {
    // Some started at the same moment have other numbers.
    let name = format!("{}{}-{:x}", costs::PREFIX, rustix::process::getpid().as_raw_nonzero(), now_ns());
    steps
        .run_step("files", FILES_MS, NeedsChild, |noting| costs::note_files(noting, work, references, &name));
    steps.extend(PLACE_MS);
    for place in std::iter::once(&work.path).chain(references) {
        steps.run_step("tidying", PLACE_MS, NeedsChild, |_| costs::remove_left(place, &name));
    }
}

/// Collects facts of where this process runs.
fn collect_where(steps: &mut Steps) {
    steps.note_here(first::note_all);
    let tracer = steps.facts.get_integer("tracer");
    steps.run_step("processor", READING_MS, Harmless, machine::note_processor);
    steps.run_step("namespaces", READING_MS, Harmless, namespaces::note_all);
    steps.run_step("process", READING_MS, Harmless, filters::note_process);
    steps.run_step("processes", READING_MS, Harmless, move |noting| kin::note_all(noting, tracer));
    steps.run_step("mounts", READING_MS, Harmless, mounted::note_all);
    steps.run_step("root", READING_MS, Harmless, places::note_root);
    steps.run_step("marks", READING_MS, Harmless, marks::note_all);
    steps.run_step("control groups", READING_MS, Harmless, marks::note_control_groups);
    steps.run_step("kernel", READING_MS, Harmless, machine::note_kernel_files);
    steps.run_step("firmware", READING_MS, Harmless, machine::note_firmware);
    steps.run_step("times", TIMING_MS, Harmless, code::note_times);
    steps.run_step("code", TIMING_MS, Harmless, code::note_rewriting);
    steps.run_step("tracing", READING_MS, NeedsChild, filters::note_tracing);
    steps.run_step("pidfd", READING_MS, NeedsChild, namespaces::note_by_pidfd);
    steps.run_step("kernel log", READING_MS, NeedsChild, filters::note_kernel_log);
    steps.run_step("landlock", READING_MS, NeedsChild, filters::note_landlock_room);
    steps.run_step("seccomp", READING_MS, NeedsChild, filters::note_seccomp_room);
    steps.run_step("unknown call", READING_MS, NeedsChild, filters::note_unknown_call);
}
