//! Facts that differ between two records: possible causes of a change in a layer's cost.

use std::collections::BTreeMap;
use tare_data::facts::keys::RUNTIME_COMMAND as COMMAND;

use serde::Serialize;
use tare_data::facts::Facts;
use tare_data::session::TargetFacts;

use crate::change::judged::Judged;
use crate::facts::PASSING;

/// From this number of hex digits on a word is the name of a session, as in folders and commands.
const SESSION_DIGITS: usize = 16;

/// A fact that was otherwise.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
pub struct ChangedFact {
    pub key: String,
    /// None where it was not known.
    pub old: Option<String>,
    pub new: Option<String>,
    /// Whose it is: environments by name, `this machine` or `tare`.
    pub of: Vec<String>,
}

/// Finds facts of two records that differ, by key; a fact that several environments share is listed once.
pub(crate) fn changed_facts(old: &Judged, new: &Judged) -> Vec<ChangedFact> {
    let mut found: BTreeMap<(String, Option<String>, Option<String>), Vec<String>> = BTreeMap::new();
    let mut note = |of: &str, old: &Facts, new: &Facts| {
        for (key, then, now) in differing(old, new) {
            found.entry((key, then, now)).or_default().push(of.to_owned());
        }
    };
    note("tare", &program(old), &program(new));
    note("this machine", &old.header.host, &new.header.host);
    for target in &new.facts {
        if let Some(then) = old.facts.iter().find(|facts| facts.target == target.target) {
            note(&target.target, &all(then), &all(target));
        }
    }
    let fact = |((key, old, new), of)| ChangedFact { key, old, new, of };
    found.into_iter().map(fact).collect()
}

fn program(record: &Judged) -> Facts {
    let mut facts = Facts::default();
    facts.add_fact("tare.version", &record.header.tare);
    facts.add_fact("tare.binary", &record.header.binary);
    facts
}

/// Merges every fact of an environment, by where it was taken.
fn all(facts: &TargetFacts) -> Facts {
    let mut all = facts.inside.clone();
    for (key, value) in &facts.outside.0 {
        all.add_fact(format!("outside.{key}"), value);
    }
    for (place, facts) in &facts.places {
        for (key, value) in &facts.0 {
            all.add_fact(format!("place.{place}.{key}"), value);
        }
    }
    all
}

fn differing(old: &Facts, new: &Facts) -> Vec<(String, Option<String>, Option<String>)> {
    let mut keys: Vec<&String> = old.0.keys().chain(new.0.keys()).collect();
    keys.sort_unstable();
    keys.dedup();
    let is_reading = |key: &str| PASSING.iter().any(|passing| *passing != COMMAND && key.ends_with(passing));
    let differs = |key: &&String| {
        !is_reading(key) && old.get(key).map(without_session) != new.get(key).map(without_session)
    };
    let of = |facts: &Facts, key: &str| facts.get(key).map(str::to_owned);
    keys.into_iter().filter(differs).map(|key| (key.clone(), of(old, key), of(new, key))).collect()
}

/// Removes the names of sessions from a text.
fn without_session(text: &str) -> String {
    let words = text.split_inclusive(|c: char| !c.is_ascii_hexdigit());
    words
        .map(|word| {
            let digits = word.trim_end_matches(|c: char| !c.is_ascii_hexdigit());
            if digits.len() == SESSION_DIGITS { &word[digits.len()..] } else { word }
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn facts(pairs: &[(&str, &str)]) -> Facts {
        Facts(pairs.iter().map(|(key, value)| ((*key).into(), (*value).into())).collect())
    }

    #[test]
    fn a_session_s_own_folder_is_no_change_and_another_flag_is() {
        let command = |session: &str, platform: &str| {
            facts(&[(
                "runtime.command",
                &format!("/bin/runsc --root=/var/tmp/tare-{session}/1 --platform={platform}"),
            )])
        };
        let old = command("0aa670993b430dfd", "systrap");
        assert_eq!(differing(&old, &command("b82d2f24124708b9", "systrap")), []);
        assert_eq!(differing(&old, &command("b82d2f24124708b9", "kvm")).len(), 1);
    }

    #[test]
    fn readings_are_no_changes_and_what_comes_or_goes_is_one() {
        let old =
            facts(&[("clock.read_ns", "28"), ("own.file_system.free_bytes", "1"), ("kernel.release", "6.1")]);
        let new = facts(&[("clock.read_ns", "35"), ("own.file_system.free_bytes", "2"), ("cpu.smt", "0")]);
        assert_eq!(
            differing(&old, &new),
            [("cpu.smt".into(), None, Some("0".into())), ("kernel.release".into(), Some("6.1".into()), None)]
        );
    }
}
