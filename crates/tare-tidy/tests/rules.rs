//! The rules that a compiler does not know: who may import whom, what is listed, how long things are,
//! and which calls are not made.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

/// Which of our crates each may import; see ARCHITECTURE.md. No other arrow.
const EDGES: &[(&str, &[&str])] = &[
    ("tare-data", &[]),
    ("tare-probes", &["tare-data"]),
    ("tare-record", &["tare-data"]),
    ("tare-analysis", &["tare-data"]),
    ("tare-lab", &["tare-data", "tare-probes", "tare-record", "tare-analysis"]),
    ("tare-report", &["tare-data", "tare-analysis"]),
    ("tare", &["tare-data", "tare-probes", "tare-record", "tare-analysis", "tare-lab", "tare-report"]),
    ("tare-tidy", &[]),
];

/// Longest file of code, tests included.
const LONGEST_FILE: usize = 500;

/// Calls that a crate does not make, and what it does instead.
const BANNED: &[(&[&str], &str, &str)] = &[
    (&["tare-data", "tare-analysis", "tare-report"], "std::fs::", "pure crates are given what they need"),
    (&["tare-data", "tare-analysis", "tare-report"], "Instant::now", "time is passed in"),
    (&["tare-data", "tare-analysis", "tare-report"], "SystemTime", "time is passed in"),
    (
        &["tare-data", "tare-analysis", "tare-report", "tare-lab", "tare-probes"],
        "env::var(",
        "only crate tare reads the environment",
    ),
    (
        &["tare-data", "tare-record", "tare-analysis", "tare-lab", "tare-report"],
        " println!",
        "only crate tare draws on the terminal",
    ),
    (&["tare-probes"], "clap", "the agent takes no arguments of a person's"),
    (&["tare-probes"], "toml", "the agent reads requests, not studies"),
];

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").canonicalize().unwrap()
}

fn sources(folder: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for entry in fs::read_dir(folder).into_iter().flatten().map(Result::unwrap) {
        let path = entry.path();
        if path.is_dir() {
            found.extend(sources(&path));
        } else if path.extension().is_some_and(|e| e == "rs") {
            found.push(path);
        }
    }
    found
}

fn crates() -> BTreeMap<String, PathBuf> {
    let entries = fs::read_dir(root().join("crates")).unwrap().map(|e| e.unwrap().path());
    entries.map(|path| (path.file_name().unwrap().to_str().unwrap().to_owned(), path)).collect()
}

/// A source without its tests, which may do what it may not.
fn without_tests(text: &str) -> &str {
    text.find("#[cfg(test)]").map_or(text, |at| &text[..at])
}

#[test]
fn crates_import_only_along_the_arrows() {
    let listed: BTreeSet<&str> = EDGES.iter().map(|(name, _)| *name).collect();
    assert_eq!(listed, crates().keys().map(String::as_str).collect());
    for (name, allowed) in EDGES {
        let manifest = fs::read_to_string(crates()[*name].join("Cargo.toml")).unwrap();
        let dependencies = manifest.split("[dependencies]").nth(1).unwrap_or("");
        let dependencies = dependencies.split("\n[").next().unwrap();
        let imported: BTreeSet<&str> = dependencies
            .lines()
            .filter_map(|line| line.split(['.', ' ', '=']).next())
            .filter(|word| word.starts_with("tare"))
            .collect();
        let allowed: BTreeSet<&str> = allowed.iter().copied().collect();
        assert!(imported.is_subset(&allowed), "{name} imports {imported:?}, and may import {allowed:?}");
    }
}

#[test]
fn every_file_opens_with_its_purpose_and_tells_one_story() {
    for folder in crates().values() {
        for path in sources(folder) {
            let text = fs::read_to_string(&path).unwrap();
            assert!(text.starts_with("//! "), "{} does not open with a sentence of purpose", path.display());
            let lines = text.lines().count();
            assert!(lines <= LONGEST_FILE, "{} has {lines} lines: two stories?", path.display());
        }
    }
}

#[test]
fn banned_calls_are_not_made() {
    for (names, call, instead) in BANNED {
        for name in *names {
            for path in sources(&crates()[*name].join("src")) {
                let text = fs::read_to_string(&path).unwrap();
                let made = without_tests(&text)
                    .lines()
                    .map(|line| line.split("//").next().unwrap_or(""))
                    .any(|line| line.contains(call));
                assert!(!made, "{} calls {call}: {instead}", path.display());
            }
        }
    }
}

#[test]
fn nothing_is_left_unfinished() {
    // This file, which holds the words themselves, is left out.
    let words = ["todo!", "unimplemented!", "#[ignore", "dbg!", "FIXME"];
    for folder in crates().values() {
        for path in sources(folder).into_iter().filter(|path| !path.ends_with("tests/rules.rs")) {
            let text = fs::read_to_string(&path).unwrap();
            for word in words {
                assert!(!text.contains(word), "{} holds {word}", path.display());
            }
        }
    }
}

#[test]
fn every_study_is_listed_and_every_list_entry_is_there() {
    let listed = fs::read_to_string(crates()["tare-lab"].join("src/study.rs")).unwrap();
    for entry in fs::read_dir(root().join("studies")).unwrap() {
        let name = entry.unwrap().file_name().into_string().unwrap();
        assert!(
            listed.contains(&format!("studies/{name}\"")),
            "{name} is not in the list of shipped studies"
        );
    }
}

#[test]
fn modules_have_names_that_say_something() {
    for folder in crates().values() {
        for path in sources(folder) {
            let stem = path.file_stem().unwrap().to_str().unwrap().to_owned();
            let vague = ["util", "utils", "common", "helpers", "core", "manager", "misc"];
            assert!(!vague.contains(&stem.as_str()), "{} could hold anything", path.display());
        }
    }
}
