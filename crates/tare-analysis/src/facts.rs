//! Differences of an environment from the baseline, fact by fact.

use std::collections::{BTreeMap, BTreeSet};
use tare_data::facts::keys::{
    CLOCK_STEP_NS, CPU_FLAGS, FILE_SYSTEM_FREE_BYTES, KERNEL_COMMAND_LINE, MOUNT_UPPER, PROOF_AT_NS,
    RUNTIME_COMMAND,
};

use tare_data::facts::Facts;
use tare_data::session::{Role, Session, TargetFacts};

/// Facts that differ from one moment, or one start, to the next, and say nothing of an environment: they are
/// measured, counted down or made up each time.
pub(crate) const PASSING: [&str; 7] = [
    "clock.read_ns",
    CLOCK_STEP_NS,
    FILE_SYSTEM_FREE_BYTES,
    MOUNT_UPPER,
    RUNTIME_COMMAND,
    "proof",
    PROOF_AT_NS,
];
/// Facts that are lists of words in no order.
const WORDS: [&str; 2] = [CPU_FLAGS, KERNEL_COMMAND_LINE];

/// Facts of an environment that are different, or not known, in the baseline.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TargetDifferences {
    pub target: String,
    pub differences: Vec<Difference>,
}

/// A fact that differs; places' facts have `place.NAME.` before their key, facts from outside `outside.`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Difference {
    pub key: String,
    /// None where the environment does not know it.
    pub here: Option<String>,
    /// None where the baseline does not know it.
    pub baseline: Option<String>,
    /// For facts that are lists of words: which the environment has and the baseline has not, and the other way round.
    pub words: Option<(Vec<String>, Vec<String>)>,
}

/// Compares every subject with the baseline, in the order of the plan.
pub fn compare_facts(session: &Session) -> Vec<TargetDifferences> {
    let of = |name: &str| session.facts.iter().rev().find(|facts| facts.target == name).map(all);
    let targets = &session.plan.targets;
    let baseline = targets.of_role(Role::Baseline).next();
    let baseline = baseline.and_then(|target| of(&target.name)).unwrap_or_default();
    let subjects = targets.of_role(Role::Subject);
    subjects
        .filter_map(|target| {
            let differences = compare(&of(&target.name)?, &baseline);
            Some(TargetDifferences { target: target.name.clone(), differences })
        })
        .collect()
}

/// Collects all facts of an environment, under keys that name their source.
fn all(facts: &TargetFacts) -> BTreeMap<String, String> {
    let prefixed = |prefix: String, facts: &Facts| -> Vec<(String, String)> {
        let lasting = facts.0.iter().filter(|(key, _)| !PASSING.contains(&key.as_str()));
        lasting.map(|(key, value)| (format!("{prefix}{key}"), value.clone())).collect()
    };
    let places = facts.places.iter().flat_map(|(name, facts)| prefixed(format!("place.{name}."), facts));
    let inside = prefixed(String::new(), &facts.inside);
    inside.into_iter().chain(prefixed("outside.".to_owned(), &facts.outside)).chain(places).collect()
}

fn compare(target: &BTreeMap<String, String>, baseline: &BTreeMap<String, String>) -> Vec<Difference> {
    let keys: BTreeSet<&String> = target.keys().chain(baseline.keys()).collect();
    let differ = keys.into_iter().filter(|key| target.get(*key) != baseline.get(*key));
    // Versions explain most of the others.
    let (versions, others): (Vec<&String>, Vec<&String>) =
        differ.partition(|key| key.ends_with("version") || key.ends_with("release"));
    versions
        .into_iter()
        .chain(others)
        .map(|key| {
            let (here, baseline) = (target.get(key).cloned(), baseline.get(key).cloned());
            let words = match (&here, &baseline) {
                (Some(here), Some(baseline)) if WORDS.contains(&key.as_str()) => {
                    Some((lacking(here, baseline), lacking(baseline, here)))
                }
                _ => None,
            };
            Difference { key: key.clone(), here, baseline, words }
        })
        .collect()
}

/// Finds the words of one list that are not in the other.
fn lacking(list: &str, other: &str) -> Vec<String> {
    let other: BTreeSet<&str> = other.split_whitespace().collect();
    list.split_whitespace().filter(|word| !other.contains(word)).map(str::to_owned).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn known(pairs: &[(&str, &str)]) -> BTreeMap<String, String> {
        pairs.iter().map(|(key, value)| ((*key).to_owned(), (*value).to_owned())).collect()
    }

    #[test]
    fn what_is_the_same_is_no_difference_and_what_is_missing_is_one() {
        let baseline = known(&[("kernel.release", "6.1"), ("cpu.count", "2"), ("cpu.flags", "fpu sse avx")]);
        let target = known(&[("kernel.release", "4.4"), ("cpu.flags", "sse amx fpu"), ("wsl.version", "1")]);
        let found = compare(&target, &baseline);
        let keys: Vec<&str> = found.iter().map(|difference| difference.key.as_str()).collect();
        assert_eq!(keys, ["kernel.release", "wsl.version", "cpu.count", "cpu.flags"], "versions come first");
        assert_eq!((&found[2].here, found[2].baseline.as_deref()), (&None, Some("2")));
        assert_eq!(found[3].words, Some((vec!["amx".to_owned()], vec!["avx".to_owned()])));
        assert_eq!(compare(&target, &target), []);
    }

    #[test]
    fn places_and_the_view_from_outside_are_told_apart_and_passing_facts_left_out() {
        let mut place = Facts::default();
        place.add_fact("file_system.type", "ext4");
        place.add_fact("file_system.free_bytes", "1");
        let mut outside = Facts::default();
        outside.add_fact("runtime.version", "1.1");
        let (target, inside) = ("x".to_owned(), Facts::default());
        let facts = TargetFacts { target, inside, outside, places: [("own".to_owned(), place)].into() };
        let keys: Vec<String> = all(&facts).into_keys().collect();
        assert_eq!(keys, ["outside.runtime.version", "place.own.file_system.type"]);
    }
}
