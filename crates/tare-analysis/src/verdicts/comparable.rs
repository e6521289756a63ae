//! When values that were measured would mislead if they were compared, and why.

use tare_data::facts::Facts;
use tare_data::metric::{Metric, Reading};
use tare_data::names::Case;
use tare_data::session::TargetFacts;

use crate::findings::Family;
use crate::statistics::tails;
use crate::verdicts::summary::reads_single_operations;

/// Coarsest clock with which single operations are timed: a millisecond is longer than most of them.
const COARSEST_STEP_NS: u64 = 1_000_000;

/// File systems whose bytes stay in memory.
const IN_MEMORY: [&str; 2] = ["tmpfs", "ramfs"];

/// The step of an environment's clock, where it is too coarse to time single operations.
pub(crate) fn coarse_step(facts: Option<&TargetFacts>) -> Option<u64> {
    facts?.inside.integer("clock.step_ns").filter(|step| *step > COARSEST_STEP_NS)
}

/// Whether the processor of an environment is emulated.
pub(crate) fn is_emulated(facts: Option<&TargetFacts>) -> bool {
    facts.is_some_and(|facts| {
        [&facts.inside, &facts.outside].iter().any(|f| f.get("cpu.emulated").is_some_and(|by| by != "no"))
    })
}

/// Whether a case times instructions alone: nothing of it reaches a kernel, so that on an emulated processor it
/// times the emulator.
fn times_the_processor(case: &Case) -> bool {
    const OTHERS: [&str; 5] = ["mem.copy", "mem.latency", "null", "time.read", "time.spin"];
    Family::of(&case.probe) == Family::Cpu || OTHERS.contains(&case.probe.as_str())
}

/// Why this metric of this case, measured in the environment and in the baseline, may not be compared; none if it may.
pub(crate) fn objection(
    case: &Case,
    metric: &Metric,
    target: Option<&TargetFacts>,
    baseline: Option<&TargetFacts>,
) -> Option<String> {
    // Where both are emulated, what lies between them is still the layer.
    if times_the_processor(case) && is_emulated(target) != is_emulated(baseline) {
        let whose = if is_emulated(target) { "the processor" } else { "the baseline's processor" };
        return Some(format!("{whose} is emulated"));
    }
    let of_target = of_one(case, metric, target);
    of_target.or_else(|| of_one(case, metric, baseline).map(|reason| format!("in the baseline: {reason}")))
}

/// What speaks against the values of one environment, whatever they are compared with.
fn of_one(case: &Case, metric: &Metric, facts: Option<&TargetFacts>) -> Option<String> {
    let facts = facts?;
    if let Some(step_ns) = coarse_step(Some(facts)).filter(|_| reads_single_operations(metric.reading)) {
        return Some(format!("its clock moves in steps of {step_ns} ns"));
    }
    let place = case.place.as_ref().and_then(|place| facts.places.get(place));
    let checks = [
        (needs_sync(case), place, "honesty.sync", HostCheck::Sync),
        (needs_each_write(case), place, "honesty.dsync", HostCheck::None),
        (needs_direct(case), place, "honesty.direct", HostCheck::Cache),
        (needs_cache_control(case), place, "honesty.cache", HostCheck::Cache),
        (needs_memory(case, metric), Some(&facts.inside), "honesty.memory", HostCheck::None),
    ];
    let needed = checks.into_iter().filter(|(needed, ..)| *needed);
    needed.filter_map(|(_, facts, key, host)| Some((facts?, key, host))).find_map(|(facts, key, host)| {
        // The host knows what lies under a place; inside, a file server may hide it.
        dishonest(facts, key).or_else(|| host.finds(facts))
    })
}

/// What an honesty check found; none where it passed or was not made.
fn dishonest(facts: &Facts, key: &str) -> Option<String> {
    facts.get(key).filter(|found| *found != "ok").map(str::to_owned)
}

/// What the host's own facts of a place can speak against.
#[derive(Clone, Copy)]
enum HostCheck {
    Sync,
    Cache,
    None,
}

impl HostCheck {
    fn finds(self, facts: &Facts) -> Option<String> {
        let is = |key: &str, value: &str| facts.get(key) == Some(value);
        let in_memory = IN_MEMORY.into_iter().find(|name| is("outside.filesystem", name));
        // Newer kernels show the option in the longer form.
        let is_volatile = |option: &str| matches!(option, "volatile" | "fsync=volatile");
        let volatile = |options: &str| options.split(',').any(is_volatile);
        match (self, in_memory) {
            (HostCheck::None, _) => None,
            (_, Some(name)) => Some(format!("the host keeps this place in memory ({name})")),
            (HostCheck::Sync, _) if facts.get("outside.options").is_some_and(volatile) => {
                Some("the host mounts it volatile: fdatasync does nothing".into())
            }
            (HostCheck::Cache, _) if is("outside.image_direct", "no") => {
                Some("its image is read through the host's page cache".into())
            }
            _ => None,
        }
    }
}

fn parameter_is(case: &Case, key: &str, test: impl Fn(&str) -> bool) -> bool {
    case.parameters.text(key).is_ok_and(test)
}

fn writes(case: &Case) -> bool {
    !parameter_is(case, "op", |op| op == "read")
}

/// Whether it times the way to the disk, so that syncing must be real.
fn needs_sync(case: &Case) -> bool {
    match case.probe.as_str() {
        "file.sync" => true,
        "file.seq" => {
            let synced = |sync: &str| matches!(sync, "fdatasync" | "fsync" | "dsync");
            writes(case) && parameter_is(case, "sync", synced)
        }
        "file.random" => {
            !parameter_is(case, "mode", |mode| mode == "rndrd")
                && !parameter_is(case, "fsync_every", |requests| requests == "0")
        }
        _ => false,
    }
}

/// Whether each of its writes must be durable.
fn needs_each_write(case: &Case) -> bool {
    case.probe == "file.seq" && writes(case) && parameter_is(case, "sync", |sync| sync == "dsync")
}

/// Whether it goes past the page cache, so that O_DIRECT must be.
fn needs_direct(case: &Case) -> bool {
    let direct = |key: &str| parameter_is(case, key, |how| how.contains("direct"));
    case.probe == "file.queue" || (writes(case) && direct("sync")) || (!writes(case) && direct("cache"))
}

/// Whether it starts from a cold cache, so that dropping it must work.
fn needs_cache_control(case: &Case) -> bool {
    !writes(case) && parameter_is(case, "cache", |cache| cache == "cold")
}

/// Whether it reads the environment's own word on memory.
fn needs_memory(case: &Case, metric: &Metric) -> bool {
    matches!(case.probe.as_str(), "proc.fork_hold" | "proc.thread_hold")
        && matches!(metric.name.as_str(), "memory" | "pss")
}

/// Why trials of so few operations give no quantile worth comparing; none if they do.
pub(crate) fn too_few(metric: &Metric, operations: u64) -> Option<String> {
    let Reading::Quantile(q) = metric.reading else {
        return None;
    };
    let least = tails::least_operations(q)?;
    (operations < least)
        .then(|| format!("too few operations a trial for {}: {operations} of {least}", metric.name))
}
