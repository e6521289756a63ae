//! Studies in documents: each can be planned, and every key of a study is explained.

use std::fs;

use tare_lab::study::Study;

use crate::book;

#[test]
fn every_study_in_a_document_can_be_planned() {
    let mut planned = 0;
    for path in book::documents() {
        let text = fs::read_to_string(&path).unwrap();
        for fence in book::fences(&text) {
            let ("toml", Some(name)) = fence.words() else { continue };
            let study =
                Study::parse(&text[fence.body.clone()], name).unwrap_or_else(|e| panic!("{path:?}: {e}"));
            let asked = study.asked(None, None).unwrap_or_else(|e| panic!("{path:?}: {e}"));
            assert!(!asked.is_empty(), "{path:?}: {name} asks for nothing");
            planned += 1;
        }
    }
    assert!(planned > 0, "no document shows a study");
}

/// The keys that a study's reader names when it finds one that it does not know.
fn known_keys(text: &str) -> Vec<String> {
    let error = Study::parse(text, "x").expect_err("there is no key 'nonsense'").to_string();
    let (_, known) = error.split_once("expected one of").unwrap_or_else(|| panic!("{error}"));
    known.split('`').skip(1).step_by(2).map(str::to_owned).collect()
}

#[test]
fn every_key_of_a_study_is_explained() {
    let page = fs::read_to_string(book::root().join("docs/study-format.md")).unwrap();
    let case = "name = 'x'\ntitle = 'x'\nabout = ''\nbudget = '1m'\n[[case]]\nnonsense = 1\n";
    for key in known_keys("nonsense = 1").iter().chain(&known_keys(case)) {
        assert!(page.contains(&format!("| `{key}` |")), "docs/study-format.md does not explain '{key}'");
    }
}
