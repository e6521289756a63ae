//! When values that were measured would mislead if they were compared, and why.

use tare_data::batch::OUTSIDE;
use tare_data::facts::Facts;
use tare_data::facts::keys::{
    CLOCK_STEP_NS, CPU_EMULATED, NETWORK_CHAINS, NETWORK_RULES, OUTSIDE_IMAGE_DIRECT,
};
use tare_data::metric::{Metric, Reading};
use tare_data::session::declared::{Promise, Times};
use tare_data::session::{PlannedCase, TargetFacts};
use tare_data::unit::Unit;
use tare_data::warning::Warning;

use crate::statistics::tails;
use crate::verdicts::summary::reads_single_operations;

/// Coarsest clock with which single operations are timed: a millisecond is longer than most of them.
const COARSEST_STEP_NS: u64 = 1_000_000;

/// File systems whose bytes stay in memory.
const IN_MEMORY: [&str; 2] = ["tmpfs", "ramfs"];

/// Reads the step of an environment's clock, where it is too coarse to time single operations.
pub(crate) fn coarse_step(facts: Option<&TargetFacts>) -> Option<u64> {
    facts?.inside.get_integer(CLOCK_STEP_NS).filter(|step| *step > COARSEST_STEP_NS)
}

/// Finds the packet filters of the baseline, where the environment is known to have none.
pub(crate) fn filtered_baseline([target, baseline]: [Option<&TargetFacts>; 2]) -> Option<Warning> {
    let count = |facts: &TargetFacts, key: &str| {
        facts.outside.get_integer(key).or_else(|| facts.inside.get_integer(key))
    };
    let chains = count(baseline?, NETWORK_CHAINS).filter(|chains| *chains > 0)?;
    let rules = count(baseline?, NETWORK_RULES)?;
    (count(target?, NETWORK_CHAINS)? == 0).then_some(Warning::FilteredBaseline { chains, rules })
}

/// Tells whether the processor of an environment is emulated.
pub(crate) fn is_emulated(facts: Option<&TargetFacts>) -> bool {
    facts.is_some_and(|facts| {
        [&facts.inside, &facts.outside].iter().any(|f| f.get(CPU_EMULATED).is_some_and(|by| by != "no"))
    })
}

/// Returns the reason why a metric of a case may not be compared between an environment and the baseline, if there is one.
pub(crate) fn find_comparison_objection(
    planned: &PlannedCase,
    metric: &Metric,
    target: Option<&TargetFacts>,
    baseline: Option<&TargetFacts>,
) -> Option<String> {
    // If both are emulated, the difference between them is still the layer.
    if planned.declared.times == Times::Processor && is_emulated(target) != is_emulated(baseline) {
        let whose = match is_emulated(target) {
            true => "the processor is emulated",
            false => "the baseline's processor is emulated",
        };
        return Some(whose.to_owned());
    }
    let of_target = find_target_objection(planned, metric, target);
    of_target.or_else(|| {
        find_target_objection(planned, metric, baseline).map(|reason| format!("in the baseline: {reason}"))
    })
}

/// Returns the reason why a metric of a case says nothing about an environment, if there is one.
pub(crate) fn find_target_objection(
    planned: &PlannedCase,
    metric: &Metric,
    facts: Option<&TargetFacts>,
) -> Option<String> {
    let facts = facts?;
    if let Some(step_ns) = coarse_step(Some(facts)).filter(|_| reads_single_operations(metric.reading)) {
        return Some(format!("its clock moves in steps of {step_ns} ns"));
    }
    let place = planned.case.place.as_ref().and_then(|place| facts.places.get(place));
    planned.declared.rests_on.iter().find_map(|&promise| {
        let facts = match promise {
            Promise::Sync | Promise::EachWrite | Promise::Direct | Promise::CacheControl => place?,
            Promise::MemoryCounters if reads_memory_counters(metric) => &facts.inside,
            Promise::MemoryCounters => return None,
        };
        // The host knows the file system under a place; inside, a file server may hide it.
        dishonest(facts, promise.fact_key()).or_else(|| refuted_by_host(facts, promise))
    })
}

fn reads_memory_counters(metric: &Metric) -> bool {
    metric.unit == Unit::Bytes && metric.series != OUTSIDE
}

/// Reads the failure of an honesty check; none where it passed or was not made.
fn dishonest(facts: &Facts, key: &str) -> Option<String> {
    facts.get(key).filter(|found| *found != "ok").map(str::to_owned)
}

fn refuted_by_host(facts: &Facts, promise: Promise) -> Option<String> {
    let is = |key: &str, value: &str| facts.get(key) == Some(value);
    let in_memory = IN_MEMORY.into_iter().find(|name| is("outside.filesystem", name));
    // Newer kernels show the option in the longer form.
    let is_volatile = |option: &str| matches!(option, "volatile" | "fsync=volatile");
    let volatile = |options: &str| options.split(',').any(is_volatile);
    match (promise, in_memory) {
        (Promise::EachWrite | Promise::MemoryCounters, _) => None,
        (_, Some(name)) => Some(format!("the host keeps this place in memory ({name})")),
        (Promise::Sync, None) => (facts.get("outside.options").is_some_and(volatile))
            .then(|| "the host mounts it volatile: fdatasync does nothing".into()),
        (Promise::Direct | Promise::CacheControl, None) => {
            (is(OUTSIDE_IMAGE_DIRECT, "no")).then(|| "its image is read through the host's page cache".into())
        }
    }
}

/// Explains why trials of so few operations give no quantile worth comparing; none if they do.
pub(crate) fn too_few(metric: &Metric, operations: u64) -> Option<String> {
    let Reading::Quantile(q) = metric.reading else {
        return None;
    };
    let least = tails::least_operations(q)?;
    (operations < least)
        .then(|| format!("too few operations a trial for {}: {operations} of {least}", metric.name))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn filtered(chains: &str) -> TargetFacts {
        let mut outside = Facts::default();
        outside.add_fact(NETWORK_CHAINS, chains);
        outside.add_fact(NETWORK_RULES, "7");
        let (inside, places) = (Facts::default(), Default::default());
        TargetFacts { target: "x".into(), inside, outside, places }
    }

    #[test]
    fn filters_of_the_baseline_alone_are_told_where_both_are_known() {
        let [none, four, unknown] = ["0", "4", ""].map(filtered);
        let expected = Some(Warning::FilteredBaseline { chains: 4, rules: 7 });
        assert_eq!(filtered_baseline([Some(&none), Some(&four)]), expected);
        for [target, baseline] in [[&four, &four], [&four, &none], [&unknown, &four], [&none, &unknown]] {
            assert_eq!(filtered_baseline([Some(target), Some(baseline)]), None);
        }
        assert_eq!(filtered_baseline([None, Some(&four)]), None);
    }
}
