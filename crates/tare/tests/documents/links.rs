//! Links: every target in this repository exists, headings included.

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
