//! `deny.toml` without cargo-deny: licences, banned crates and sources, from what cargo has on this machine.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::Value;

/// The one platform that a release is built for.
const PLATFORM: &str = "x86_64-unknown-linux-gnu";

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").canonicalize().unwrap()
}

fn rules() -> toml::Table {
    fs::read_to_string(root().join("deny.toml")).unwrap().parse().unwrap()
}

/// The texts of a list in a table of the rules.
fn texts(table: &str, key: &str) -> Vec<String> {
    let list = rules()[table][key].as_array().unwrap().clone();
    let text = |value: &toml::Value| value.get("name").unwrap_or(value).as_str().unwrap().to_owned();
    list.iter().map(text).collect()
}

/// Every package that a build for the platform may use, our own included.
fn packages() -> Vec<Value> {
    let mut cargo = Command::new(env!("CARGO"));
    cargo.args(["metadata", "--offline", "--locked", "--format-version", "1", "--filter-platform", PLATFORM]);
    let output = cargo.current_dir(root()).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let mut metadata: Value = serde_json::from_slice(&output.stdout).unwrap();
    serde_json::from_value(metadata["packages"].take()).unwrap()
}

/// Whether an SPDX expression is satisfied by `allowed` licences. A slash is an old way to write OR.
fn permitted(expression: &str, allowed: &[String]) -> bool {
    let spaced = expression.replace('/', " OR ").replace('(', " ( ").replace(')', " ) ");
    let words: Vec<&str> = spaced.split_whitespace().collect();
    let (answer, rest) = either(&words, allowed);
    assert!(rest.is_empty(), "not an SPDX expression: {expression}");
    answer
}

/// Parses `A OR B`; what is left of the words comes back.
fn either<'a>(words: &'a [&'a str], allowed: &[String]) -> (bool, &'a [&'a str]) {
    let (mut answer, mut rest) = both(words, allowed);
    while let ["OR", after @ ..] = rest {
        let (next, left) = both(after, allowed);
        (answer, rest) = (answer | next, left);
    }
    (answer, rest)
}

/// Parses `A AND B`.
fn both<'a>(words: &'a [&'a str], allowed: &[String]) -> (bool, &'a [&'a str]) {
    let (mut answer, mut rest) = one(words, allowed);
    while let ["AND", after @ ..] = rest {
        let (next, left) = one(after, allowed);
        (answer, rest) = (answer & next, left);
    }
    (answer, rest)
}

/// Parses a licence, one with an exception, or an expression in parentheses.
fn one<'a>(words: &'a [&'a str], allowed: &[String]) -> (bool, &'a [&'a str]) {
    match words {
        ["(", after @ ..] => match either(after, allowed) {
            (answer, [")", rest @ ..]) => (answer, rest),
            _ => panic!("a parenthesis stays open: {words:?}"),
        },
        // An exception permits more than its licence alone.
        [licence, "WITH", _, rest @ ..] | [licence, rest @ ..] => {
            (allowed.iter().any(|one| one == licence), rest)
        }
        [] => panic!("an SPDX expression ends early"),
    }
}

#[test]
fn licences_may_be_linked_into_a_program_under_mit() {
    let allowed = texts("licenses", "allow");
    for package in packages() {
        let licence = package["license"].as_str().unwrap_or_else(|| panic!("{package}: no licence"));
        assert!(permitted(licence, &allowed), "{}: {licence} is not in deny.toml", package["name"]);
    }
}

#[test]
fn banned_crates_are_not_used() {
    let banned = texts("bans", "deny");
    for package in packages() {
        let name = package["name"].as_str().unwrap();
        assert!(!banned.iter().any(|one| one == name), "{name} is banned in deny.toml");
    }
}

#[test]
fn crates_come_from_the_registries_that_are_named() {
    let registries = texts("sources", "allow-registry");
    for package in packages() {
        let Some(source) = package["source"].as_str() else { continue };
        let source = source.strip_prefix("registry+").unwrap_or(source);
        assert!(registries.iter().any(|one| one == source), "{}: {source}", package["name"]);
    }
}

#[test]
fn expressions_of_licences_are_evaluated() {
    let allowed = ["MIT".to_owned(), "ISC".to_owned()];
    for good in
        ["MIT", "GPL-3.0 OR MIT", "MIT/GPL-3.0", "(GPL-3.0 OR ISC) AND MIT", "MIT WITH LLVM-exception"]
    {
        assert!(permitted(good, &allowed), "{good}");
    }
    for bad in ["GPL-3.0", "MIT AND GPL-3.0", "(MIT OR ISC) AND GPL-3.0", "GPL-3.0 WITH LLVM-exception"] {
        assert!(!permitted(bad, &allowed), "{bad}");
    }
}
