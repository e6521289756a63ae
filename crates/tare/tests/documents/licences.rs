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

#[test]
fn the_licence_of_everything_that_is_linked_is_in_the_program() {
    let _lock = book::lock_documents();
    // What is built here does not need those of other systems.
    cargo(&["fetch", "--locked", "--quiet"]);
    let metadata: Value =
        serde_json::from_str(&cargo(&["metadata", "--format-version", "1", "--offline"])).unwrap();
    let linked: BTreeSet<String> = TARGETS.iter().flat_map(|target| linked(target)).collect();
    let mut all = String::new();
    let mut found = BTreeSet::new();
    for package in metadata["packages"].as_array().unwrap() {
        let of = |key: &str| package[key].as_str().unwrap_or_default();
        let crate_ = format!("{} {}", of("name"), of("version"));
        if linked.contains(&crate_) {
            let text = fs::read_to_string(text(Path::new(of("manifest_path")).parent().unwrap())).unwrap();
            let lines: Vec<&str> = text.lines().map(str::trim_end).collect();
            all += &format!("==== {crate_}: {}\n\n{}\n\n", of("license"), lines.join("\n").trim());
            found.insert(crate_);
        }
    }
    assert_eq!(found, linked);
    book::compare_or_rewrite(&book::repository_root().join("crates/tare-report/src/licences.txt"), &all);
}
