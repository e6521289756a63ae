//! Recorded facts of real environments, each with its truth.

use std::path::Path;

use serde::Deserialize;

use super::layers::Confidence;
use super::signs::parse_release;
use super::*;

/// Facts that were found in an environment, and its layers, the innermost first.
#[derive(Deserialize)]
struct Fixture {
    layers: Vec<String>,
    /// Namespaces of the process itself; absent where another kernel numbers them.
    own: Option<Vec<String>>,
    facts: Facts,
}

fn read_fixtures() -> Vec<(String, Fixture)> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fixtures/here");
    let mut all: Vec<(String, Fixture)> = std::fs::read_dir(folder)
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .map(|path| {
            let text = std::fs::read_to_string(&path).unwrap();
            let name = path.file_stem().unwrap().to_string_lossy().into_owned();
            let fixture = toml::from_str(&text).unwrap_or_else(|e| panic!("{name}: {e}"));
            (name, fixture)
        })
        .collect();
    all.sort_by(|one, other| one.0.cmp(&other.0));
    all
}

fn name_layers(found: &Where) -> Vec<&str> {
    let told = found.layers.iter().filter(|layer| layer.confidence > Confidence::Possible);
    told.map(|layer| layer.name).collect()
}

#[test]
fn every_recorded_environment_is_recognised() {
    let fixtures = read_fixtures();
    let wrong: Vec<String> = fixtures
        .iter()
        .filter_map(|(name, fixture)| {
            let found = recognise_layers(&fixture.facts);
            let told = name_layers(&found);
            (told != fixture.layers).then(|| format!("{name}: {:?}, and told {told:?}", fixture.layers))
        })
        .collect();
    assert!(wrong.is_empty(), "{} of {}:\n{}", wrong.len(), fixtures.len(), wrong.join("\n"));
}

#[test]
fn namespaces_of_recorded_environments_are_told_from_the_first_ones() {
    let mut wrong = Vec::new();
    for (name, fixture) in read_fixtures() {
        let Some(own) = &fixture.own else { continue };
        for (kind, found) in recognise_layers(&fixture.facts).namespaces {
            let expected = if own.iter().any(|own| own == kind) { Namespace::Own } else { Namespace::First };
            if ![expected, Namespace::Unknown].contains(&found) {
                wrong.push(format!("{name}: {kind} is {found:?}"));
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn no_facts_are_no_layers() {
    let found = recognise_layers(&Facts::default());
    assert_eq!(found.layers, []);
    assert!(found.namespaces.values().all(|namespace| *namespace == Namespace::Unknown));
}

#[test]
fn a_mark_without_namespaces_is_left_over() {
    let mut facts = Facts::default();
    for kind in ["cgroup", "ipc", "mnt", "net", "pid", "time", "user", "uts"] {
        let (_, first) = namespaces::FIRST.iter().find(|(known, _)| *known == kind).unwrap();
        facts.add_fact(format!("namespace.{kind}"), first.to_string());
    }
    facts.add_fact("kernel.release", "6.18.1");
    facts.add_fact("mounts", "read");
    facts.add_fact("marks", "/.dockerenv /run/.containerenv");
    facts.add_fact("variables.container", "podman");
    assert_eq!(recognise_layers(&facts).layers, []);
}

#[test]
fn releases_are_compared_by_their_first_two_parts() {
    assert_eq!(parse_release("6.18.44-fc"), Some(618));
    assert_eq!(parse_release("6.1.0-30-amd64"), Some(601));
    assert_eq!(parse_release("2.6.78"), Some(206));
    assert_eq!(parse_release("lies"), None);
}
