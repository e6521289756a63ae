//! `crates/tare-report/src/licences.txt`: the licence of every crate in the program, which `tare self licences` prints.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::Value;

use crate::book;

/// Targets that link different crates. The processor makes no difference.
const TARGETS: [&str; 2] = ["x86_64-unknown-linux-gnu", "x86_64-pc-windows-gnu"];

fn cargo(arguments: &[&str]) -> String {
    let output =
        Command::new(env!("CARGO")).current_dir(book::repository_root()).args(arguments).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap()
}

/// Lists the crates that are linked into the program for a target, each as `NAME VERSION`.
fn linked(target: &str) -> BTreeSet<String> {
    let edges = ["-e", "normal,no-proc-macro", "--target", target, "--prefix", "none", "--no-dedupe"];
    let tree = cargo(&[&["tree", "--offline", "-p", "tare", "--format", "{p}"][..], &edges].concat());
    let foreign = tree.lines().filter(|line| !line.contains('('));
    foreign
        .filter_map(|line| line.split_once(" v"))
        .map(|(name, version)| format!("{name} {version}"))
        .collect()
}

/// Finds the licence file of a crate: the MIT licence if there is a choice, because it is the shortest.
fn text(folder: &Path) -> PathBuf {
    let mut files: Vec<PathBuf> = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    let name = |path: &PathBuf| path.file_name().unwrap().to_string_lossy().to_uppercase();
    files.retain(|path| {
        path.is_file() && ["LICEN", "COPYING", "UNLICENSE"].iter().any(|l| name(path).starts_with(l))
    });
    files.sort_by_key(|path| (!name(path).contains("MIT"), name(path)));
    files.into_iter().next().unwrap_or_else(|| panic!("{} has no text of its licence", folder.display()))
}

/// Terms, and the crates that have them, each with its lines of copyright.
struct Text {
    terms: Vec<String>,
    holders: Vec<String>,
}

/// Adds a crate's licence to the terms that are the same, but for their line breaks and capitals.
fn add_text(texts: &mut Vec<Text>, heading: &str, text: &str) {
    let is_holder = |paragraph: &&str| {
        let first = paragraph.trim_start().to_lowercase();
        ["copyright", "mit license", "the mit license"].iter().any(|begin| first.starts_with(begin))
    };
    let paragraphs = || text.trim().split("\n\n").filter(|paragraph| !paragraph.trim().is_empty());
    let (holders, terms): (Vec<&str>, Vec<&str>) = paragraphs().partition(is_holder);
    let holder = [&[heading], &holders[..]].concat().join("\n");
    let words = |terms: &[String]| -> Vec<String> {
        terms.iter().flat_map(|text| text.split_whitespace()).map(str::to_lowercase).collect()
    };
    let terms: Vec<String> = terms.into_iter().map(str::to_owned).collect();
    match texts.iter_mut().find(|known| words(&known.terms) == words(&terms)) {
        Some(known) => known.holders.push(holder),
        None => texts.push(Text { terms, holders: vec![holder] }),
    }
}

#[test]
fn the_licence_of_everything_that_is_linked_is_in_the_program() {
    let _lock = book::lock_documents();
    // Builds for this system do not need the crates of others.
    cargo(&["fetch", "--locked", "--quiet"]);
    let metadata: Value =
        serde_json::from_str(&cargo(&["metadata", "--format-version", "1", "--offline"])).unwrap();
    let linked: BTreeSet<String> = TARGETS.iter().flat_map(|target| linked(target)).collect();
    let mut texts: Vec<Text> = Vec::new();
    let mut found = BTreeSet::new();
    for package in metadata["packages"].as_array().unwrap() {
        let of = |key: &str| package[key].as_str().unwrap_or_default();
        let crate_ = format!("{} {}", of("name"), of("version"));
        if linked.contains(&crate_) {
            let text = fs::read_to_string(text(Path::new(of("manifest_path")).parent().unwrap())).unwrap();
            let lines: Vec<&str> = text.lines().map(str::trim_end).collect();
            add_text(&mut texts, &format!("==== {crate_}: {}", of("license")), &lines.join("\n"));
            found.insert(crate_);
        }
    }
    assert_eq!(found, linked);
    let rows =
        texts.iter().map(|text| format!("{}\n\n{}\n\n", text.holders.join("\n\n"), text.terms.join("\n\n")));
    let all =
        format!("Terms hold for all programs that are named above them.\n\n{}", rows.collect::<String>());
    book::compare_or_rewrite(&book::repository_root().join("crates/tare-report/src/licences.txt"), &all);
}
