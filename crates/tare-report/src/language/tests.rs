//! Tests that a catalogue has exactly the messages that are said, each with its values.

use std::collections::BTreeSet;
use std::path::Path;

use tare_data::failure::FailureKind;

use super::catalogue::{Catalogue, JAPANESE, Piece, extract_values, split_template};
use super::messages::{list_literals, of_page, of_program, strip_value_names};
use super::*;

/// Kinds of failures, whose words are in records.
const FAILURES: [FailureKind; 7] = [
    FailureKind::NotSupported,
    FailureKind::NotPermitted,
    FailureKind::NotComparable,
    FailureKind::WrongWork,
    FailureKind::Broken,
    FailureKind::Deadline,
    FailureKind::Died,
];

fn japanese() -> &'static Catalogue {
    assert!(!JAPANESE.shared.is_empty(), "the catalogue cannot be read");
    &JAPANESE
}

fn names(template: &str) -> BTreeSet<&str> {
    let name = |piece| match piece {
        Piece::Name(name) => Some(name),
        Piece::Text(_) => None,
    };
    split_template(template).into_iter().filter_map(name).collect()
}

/// Compares the messages of some sources with those of a catalogue.
fn same(said: &BTreeSet<String>, own: &BTreeMap<String, String>) {
    let shared = japanese().shared.keys().cloned().collect::<BTreeSet<_>>();
    let own = own.keys().cloned().collect::<BTreeSet<_>>();
    let known = &own | &shared;
    let missing: Vec<_> = said.difference(&known).collect();
    assert_eq!(missing.len(), 0, "without Japanese: {missing:#?}");
    let left: Vec<_> = known.difference(said).collect();
    assert_eq!(left.len(), 0, "said nowhere: {left:#?}");
}

#[test]
fn no_message_of_the_program_lacks_japanese_and_none_is_left_over() {
    let mut said = of_program();
    said.extend(FAILURES.map(|kind| kind.description().to_owned()));
    same(&said, &japanese().program);
}

#[test]
fn no_message_of_the_page_lacks_japanese_and_none_is_left_over() {
    same(&of_page(), &japanese().page);
}

#[test]
fn what_other_crates_say_is_said_by_them() {
    let said = list_literals();
    let japanese = japanese();
    let keys = japanese.texts.keys().chain(japanese.titles.keys());
    // A text that a more general one makes begins as that does: `cannot create {path}` and `cannot {} {}`.
    let begins = |key: &str, text: &str| !text.starts_with('{') && extract_values(text, key).is_some();
    let is_said =
        |key: &&String| said.contains(&strip_value_names(key)) || said.iter().any(|text| begins(key, text));
    let left: Vec<_> = keys.filter(|key| !is_said(key)).collect();
    assert_eq!(left.len(), 0, "said nowhere: {left:#?}");
}

/// Reads the files of articles, studies and launchers, which have descriptions.
fn read_described_files() -> String {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let folders = ["published", "studies", "launchers"].map(|name| root.join(name));
    let files = folders.iter().flat_map(|folder| std::fs::read_dir(folder).unwrap());
    let kinds = root.join("crates/tare-lab/src/study/kinds.toml");
    files
        .map(|entry| entry.unwrap().path())
        .chain([kinds])
        .map(|path| std::fs::read_to_string(path).unwrap())
        .collect()
}

#[test]
fn what_is_described_in_japanese_is_described_somewhere() {
    let (said, files) = (list_literals(), read_described_files());
    // The first line of a command's help is its comment, which a full stop ends.
    let comments = std::fs::read_dir(Path::new(env!("CARGO_MANIFEST_DIR")).join("../tare/src/args")).unwrap();
    let comments = comments.map(|entry| entry.unwrap().path());
    let arguments = comments.chain([Path::new(env!("CARGO_MANIFEST_DIR")).join("../tare/src/args.rs")]);
    let help: String = arguments.map(|path| std::fs::read_to_string(path).unwrap()).collect();
    let help = help.replace("\n/// ", " ");
    let is_said = |key: &&String| said.contains(*key) || files.contains(*key) || help.contains(*key);
    let left: Vec<_> = japanese().descriptions.keys().filter(|key| !is_said(key)).collect();
    assert_eq!(left.len(), 0, "described nowhere: {left:#?}");
}

#[test]
fn every_text_of_the_shipped_articles_is_described_in_japanese() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../published");
    for entry in std::fs::read_dir(folder).unwrap() {
        let text = std::fs::read_to_string(entry.unwrap().path()).unwrap();
        let article: tare_analysis::published::Published = toml::from_str(&text).unwrap();
        let claims = article.claims.iter().flat_map(|claim| [Some(&claim.text), claim.needs.as_ref()]);
        let figures = article.figures.iter().flat_map(|of| [Some(&of.name), of.because.as_ref()]);
        let ratios = article.ratios.iter().map(|ratio| Some(&ratio.name));
        for text in claims.chain(figures).chain(ratios).flatten().chain([&article.title]) {
            assert!(Language::Japanese.find_description(text).is_some(), "{}: {text}", article.id);
        }
    }
}

#[test]
fn every_message_has_the_same_values_in_every_language() {
    let Catalogue { shared, program, page, titles, texts, descriptions: _ } = japanese();
    for (english, other) in [shared, program, page, titles, texts].into_iter().flatten() {
        assert_eq!(names(english), names(other), "{english}");
    }
}

#[test]
fn what_is_not_in_the_catalogue_stays_english() {
    assert_eq!(Language::Japanese.word("not in any catalogue"), "not in any catalogue");
    assert_eq!(Language::Japanese.translate_text("runsc: exit code 128"), "runsc: exit code 128");
    assert_eq!(Language::Japanese.translate_title("sqlite"), "sqlite");
    assert_eq!(Language::English.translate_text("update tare"), "update tare");
}

#[test]
fn an_error_of_another_crate_keeps_its_values() {
    let text = |english| Language::Japanese.translate_text(english);
    assert_eq!(text("there is no study 'quikc'"), "スタディ'quikc'はありません");
    assert_eq!(text("cannot read a b.tare"), "a b.tareを読めません");
    assert_eq!(text("cannot read the study mine.toml"), "スタディmine.tomlを読めません");
    assert_eq!(text("cannot draw a seed"), "cannot draw a seed");
}

#[test]
fn counts_times_and_lists_are_those_of_the_language() {
    let ja = Language::Japanese;
    assert_eq!(ja.counted(1, "run", "runs"), "1回の実行");
    assert_eq!(ja.format_duration(97.4), "1分37秒");
    assert_eq!(ja.format_duration(7320.0), "2時間2分");
    assert_eq!(ja.format_duration(f64::NAN), "時間不明");
    assert_eq!(ja.join_with_and(&["a".into(), "b".into(), "c".into()]), "a、b、c");
    assert_eq!(ja.translate_ratio("24.1x"), "24.1倍");
    assert_eq!(ja.translate_title("UDP round trip >host"), "UDP往復 >host");
    assert_eq!(ja.translate_title("futex round trip"), "futex往復");
    assert_eq!(ja.translate_title("read 4K, warm @ext4"), "読み取り 4K、キャッシュあり @ext4");
    assert_eq!(Language::English.join_with_and(&["a".into(), "b".into(), "c".into()]), "a, b and c");
}
