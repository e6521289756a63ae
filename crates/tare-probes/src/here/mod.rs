//! Here: facts that tell an unprivileged process where it runs, each read or tried so that none of them can hold it up.
//!
//! A session's facts are read once by an agent that somebody entered. These are read by a person's own command, anywhere: every risky
//! step runs in a child with a deadline, and nothing that could name the person or the machine is kept.

pub(crate) mod bounded;
mod command;
mod filters;
pub(crate) mod first;
pub(crate) mod kin;
mod left_over;
mod limits;
pub(crate) mod machine;
mod marks;
mod mounted;
pub(crate) mod namespaces;
mod places;
pub(crate) mod steps;
pub mod texts;
mod times;

use std::collections::BTreeSet;
use std::path::PathBuf;
use tare_data::facts::keys::{BURST_GAPS, BURST_RAN, CYCLE_ADDITION, CYCLE_MULTIPLICATION};

use tare_data::facts::{Facts, Surroundings};
use tare_paths::marked::LeftOver;

pub use self::command::run_twice;
pub use self::left_over::remove_left_over;
use self::left_over::{FILES, PRICES};
pub use self::places::Place;
use self::steps::Risk::{Harmless, NeedsChild};
use self::steps::Steps;
use self::times::{burst, code, costs, prices};
use crate::harness::stopwatch::now_ns;

/// Time for a step that only reads, in ms: gVisor under strace needs a tenth.
const READING_MS: u64 = 500;
/// Time for a step that times something.
const TIMING_MS: u64 = 1_000;
/// Time for a place, whose file system may be far away.
const PLACE_MS: u64 = 300;
/// Time for the files of the working folder: slow operations are fewer then.
const FILES_MS: u64 = 1_200;

/// Time for prices, of which the last operations are left out where each takes long.
const PRICES_MS: u64 = 1_200;
/// Time for keeping the processors busy, which others may use as well.
const BURST_MS: u64 = 1_000;
/// Words for a folder that is gone, where others have the reason why they stay.
const REMOVED: &str = "removed, since a tare here that was killed had left it";
/// Passes over everything that is timed, where there is time for a thorough answer.
const PASSES: usize = 3;
/// Beginnings of the keys of facts that are times in blocks, to which a later pass adds its own.
const SERIES: [&str; 6] = ["cost.", "price.", BURST_GAPS, BURST_RAN, CYCLE_ADDITION, CYCLE_MULTIPLICATION];

/// Extent of the answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Extent {
    /// Layers and limits that can be read, and no times.
    Where,
    Usual,
    /// Times are taken in three passes.
    Thorough,
}

/// The request for an answer.
#[derive(Clone, Debug)]
pub struct Wanted {
    pub extent: Extent,
    /// Environment variables that are set, of those in [`VARIABLES`], and the value of `container`.
    pub variables: Facts,
    pub places: Vec<Place>,
    /// Folders on which the working folder may be compared with another file system, those in memory first.
    pub references: Vec<PathBuf>,
    /// Time in which everything must be done, in ms.
    pub longest_ms: u64,
}

/// Variables that say something, or beginnings of their names. Their values are not kept.
pub const VARIABLES: [&str; 15] = [
    "APPTAINER_",
    "CI",
    "CODEX_SANDBOX",
    "CODESPACES",
    "GITHUB_ACTIONS",
    "GITLAB_CI",
    "KUBERNETES_SERVICE_HOST",
    "PROOT_",
    "REMOTE_CONTAINERS",
    "SANDBOX_RUNTIME",
    "SINGULARITY_",
    "SNAP",
    "WSL_DISTRO_NAME",
    "WSL_INTEROP",
    "AWS_LAMBDA_FUNCTION_NAME",
];

/// Finds out where this process runs and what limits it. Creates nothing that outlives it, and removes folders that earlier runs left:
/// also returns what became of each, by its path.
pub fn collect_surroundings(wanted: &Wanted) -> (Surroundings, Facts) {
    let began_ns = now_ns();
    let mut steps = Steps::until(began_ns + wanted.longest_ms * 1_000_000);
    steps.facts = wanted.variables.clone();
    collect_where(&mut steps);
    steps.run_step("limits", READING_MS, Harmless, limits::note_all);
    for place in &wanted.places {
        steps.run_step(place.role, PLACE_MS, NeedsChild, |noting| places::note_place(noting, place));
    }
    let passes = match wanted.extent {
        Extent::Where => 0,
        Extent::Usual => 1,
        Extent::Thorough => PASSES,
    };
    // Some started at the same moment have other numbers.
    let name = left_over::name_run(rustix::process::getpid().as_raw_nonzero().get(), began_ns);
    if passes == 0 {
        // Slow new code is a sign of a layer, but no times were asked for.
        steps.facts.0.retain(|key, _| !key.starts_with("cost."));
    }
    for _ in 0..passes {
        add_series(&mut steps, |steps| collect_times(steps, wanted, &name, began_ns));
    }
    steps.facts.0.remove(prices::TOOK);
    // Last, since times are missed more.
    steps.run_step("refused", TIMING_MS, NeedsChild, filters::refused::note_refused);
    let left = if passes > 0 { remove_folders(&mut steps, wanted, &name) } else { Facts::default() };
    let took_ms = (now_ns() - began_ns) / 1_000_000;
    (Surroundings { facts: steps.facts, lost: steps.lost, took_ms }, left)
}

/// Collects times of one pass, the most telling first.
fn collect_times(steps: &mut Steps, wanted: &Wanted, name: &str, zero_ns: u64) {
    let references = &wanted.references;
    let collect_prices = |steps: &mut Steps, earlier: &Facts| {
        steps.run_step("prices", PRICES_MS, NeedsChild, |noting| {
            let name = format!("{name}-{PRICES}");
            prices::note_prices(noting, references, &name, earlier, prices::LONGEST_NS)
        })
    };
    steps.run_step("clock", TIMING_MS, Harmless, costs::note_clock);
    // Before everything that a quota would make slow.
    steps.run_step("burst", BURST_MS, NeedsChild, |noting| burst::note_burst(noting, zero_ns));
    steps.facts.0.remove(prices::TOOK);
    if let Some(work) = wanted.places.iter().find(|place| place.role == "work") {
        steps.run_step("files", FILES_MS, NeedsChild, |noting| {
            costs::note_files(noting, work, references, &format!("{name}-{FILES}"))
        });
    }
    collect_prices(steps, &Facts::default());
    let earlier = steps.facts.clone();
    add_series(steps, |steps| {
        steps.run_step("clock", TIMING_MS, Harmless, costs::note_clock);
        collect_prices(steps, &earlier);
    });
}

/// Removes folders of steps that were ended, and those of earlier runs. Tells by path of all that it does not pass over.
fn remove_folders(steps: &mut Steps, wanted: &Wanted, name: &str) -> Facts {
    steps.extend(PLACE_MS);
    let work = wanted.places.iter().filter(|place| place.role == "work").map(|place| &place.path);
    let places: BTreeSet<&PathBuf> = work.chain(&wanted.references).collect();
    let facts = std::mem::take(&mut steps.facts);
    for place in places {
        steps.run_step("tidying", PLACE_MS, NeedsChild, |noting| {
            for LeftOver { folder, left_because } in left_over::remove_left(place, name) {
                let because = left_because.unwrap_or_else(|| REMOVED.to_owned());
                noting.add_fact(&folder.to_string_lossy(), because);
            }
        });
    }
    std::mem::replace(&mut steps.facts, facts)
}

/// Collects times in blocks, and adds them to those that are there.
fn add_series(steps: &mut Steps, collect: impl FnOnce(&mut Steps)) {
    let before = take_series(&mut steps.facts);
    collect(steps);
    join_series(&mut steps.facts, before);
}

/// Takes times in blocks out of facts, so that another pass can note its own.
fn take_series(facts: &mut Facts) -> Facts {
    let is_series = |key: &String| SERIES.iter().any(|begin| key.starts_with(begin));
    let keys: Vec<String> = facts.0.keys().filter(|key| is_series(key)).cloned().collect();
    Facts(keys.into_iter().filter_map(|key| facts.0.remove_entry(&key)).collect())
}

/// Puts the blocks of earlier passes in front of those of the last.
fn join_series(facts: &mut Facts, before: Facts) {
    for (key, earlier) in before.0 {
        let joined = facts.get(&key).map_or(earlier.clone(), |later| format!("{earlier} {later}"));
        facts.add_fact(key, joined);
    }
}

/// Finds facts of the layers around this process. Writes nothing.
pub fn collect_layers(variables: &Facts, longest_ms: u64) -> Facts {
    let mut steps = Steps::until(now_ns() + longest_ms * 1_000_000);
    steps.facts = variables.clone();
    collect_where(&mut steps);
    steps.facts
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
    steps.run_step("listener", READING_MS, NeedsChild, filters::note_listener);
    steps.run_step("unknown call", READING_MS, NeedsChild, filters::note_unknown_call);
}
