//! Links: every target in this repository exists, headings and tests included.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use crate::book;

/// Finds the targets of all links in a text.
fn targets(text: &str) -> impl Iterator<Item = &str> {
    text.split("](").skip(1).filter_map(|rest| rest.split(')').next())
}

/// Lists the anchors that renderers usually give to headings: lower case, no punctuation, hyphens for blanks.
fn anchors(text: &str) -> BTreeSet<String> {
    let headings = text.lines().filter_map(|line| line.strip_prefix('#'));
    headings
        .map(|heading| {
            let kept = heading.trim_start_matches('#').trim().to_lowercase();
            let kept = kept.chars().filter(|c| c.is_alphanumeric() || " -_".contains(*c));
            kept.map(|c| if c == ' ' { '-' } else { c }).collect()
        })
        .collect()
}

fn check(document: &Path, target: &str) {
    let (file, anchor) = target.split_once('#').unwrap_or((target, ""));
    let to: PathBuf = match file {
        "" => document.to_owned(),
        file => document.parent().unwrap().join(file),
    };
    assert!(to.exists(), "{} points to {target}, which is not there", document.display());
    if !anchor.is_empty() {
        let headings = anchors(&book::without_fences(&fs::read_to_string(&to).unwrap()));
        assert!(
            headings.contains(anchor),
            "{} points to {target}; there is {headings:?}",
            document.display()
        );
    }
}

#[test]
fn every_link_leads_somewhere() {
    let _lock = book::lock_documents();
    let mut checked = 0;
    for path in book::list_documents() {
        let text = book::without_fences(&fs::read_to_string(&path).unwrap());
        for target in targets(&text).filter(|target| !target.contains("://")) {
            check(&path, target);
            checked += 1;
        }
    }
    assert!(checked > 20, "only {checked} links were found");
}

/// Folders whose files documents name by their path from the root.
const NAMED: [&str; 5] = ["crates/", "docs/", "studies/", "fixtures/", ".ci/"];

#[test]
fn every_file_that_is_named_is_there() {
    let _lock = book::lock_documents();
    for path in book::list_documents() {
        let text = book::without_fences(&fs::read_to_string(&path).unwrap());
        for named in text.split('`').skip(1).step_by(2) {
            // Capital letters and stars stand for names to be chosen.
            let literal = !named.contains(|c: char| c.is_whitespace() || c.is_ascii_uppercase() || c == '*');
            if literal && NAMED.iter().any(|folder| named.starts_with(folder)) {
                assert!(book::repository_root().join(named).exists(), "{} names {named}", path.display());
            }
        }
    }
}

#[test]
fn every_document_is_reached_from_the_readme() {
    let _lock = book::lock_documents();
    let root = book::repository_root();
    let mut reached = BTreeSet::new();
    let mut ahead = vec![root.join("README.md")];
    while let Some(path) = ahead.pop() {
        if !reached.insert(path.clone()) {
            continue;
        }
        let text = fs::read_to_string(&path).unwrap();
        let files = targets(&text).filter(|target| !target.contains("://"));
        let files = files.map(|target| target.split('#').next().unwrap()).filter(|f| f.ends_with(".md"));
        ahead.extend(files.filter_map(|file| path.parent().unwrap().join(file).canonicalize().ok()));
    }
    let docs = book::list_documents().into_iter().filter(|path| path.starts_with(root.join("docs")));
    let lost: Vec<PathBuf> = docs.filter(|path| !reached.contains(path)).collect();
    assert!(lost.is_empty(), "nothing leads from README.md to {lost:?}");
}

#[test]
fn the_table_of_contents_lists_every_page() {
    let docs = book::repository_root().join("docs");
    let contents = fs::read_to_string(docs.join("SUMMARY.md")).unwrap();
    let listed: BTreeSet<PathBuf> = targets(&contents).map(|target| docs.join(target)).collect();
    for page in book::list_documents().into_iter().filter(|page| page.starts_with(&docs)) {
        assert!(listed.contains(&page) || page.ends_with("SUMMARY.md"), "docs/SUMMARY.md lacks {page:?}");
    }
}

/// Adds the names of all tests in the sources of a folder.
fn add_tests(folder: &Path, names: &mut BTreeSet<String>) {
    for entry in fs::read_dir(folder).unwrap().map(Result::unwrap) {
        let path = entry.path();
        // Links lead to folders of the repository.
        if entry.file_type().unwrap().is_dir() {
            add_tests(&path, names);
        } else if path.extension().is_some_and(|end| end == "rs") {
            let text = fs::read_to_string(&path).unwrap();
            let functions =
                text.split("#[test]").skip(1).filter_map(|rest| rest.split_once("fn ")?.1.split_once('('));
            names.extend(functions.map(|(name, _)| name.to_owned()));
        }
    }
}

/// Tells whether a quoted text is the name of a test: several words of code.
fn is_test_name(text: &&str) -> bool {
    text.trim_matches('_').contains('_')
        && text.chars().all(|c| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '_')
}

#[test]
fn each_promise_on_security_names_tests_that_are_there() {
    let _lock = book::lock_documents();
    let page = fs::read_to_string(book::repository_root().join("docs/internals/security.md")).unwrap();
    let mut tests = BTreeSet::new();
    add_tests(&book::repository_root().join("crates"), &mut tests);
    let page = book::without_fences(&page);
    let promises = page.split("\n- ").skip(1).map(|rest| rest.split("\n\n").next().unwrap_or_default());
    let mut promised = 0;
    for promise in promises {
        let named: Vec<&str> = promise.split('`').skip(1).step_by(2).filter(is_test_name).collect();
        assert!(!named.is_empty() && promise.ends_with('`'), "no test is named for: {promise}");
        let missing: Vec<_> = named.into_iter().filter(|name| !tests.contains(*name)).collect();
        assert!(missing.is_empty(), "no tests of these names: {missing:?}");
        promised += 1;
    }
    assert!(promised > 40, "only {promised} promises were found");
}
