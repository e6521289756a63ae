//! Constants that documents quote: a table row that begins with a constant's name gives its value next.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use tare_data::frame::PROTOCOL;
use tare_record::entry::SCHEMA;
use tare_report::json::VERSION;

use crate::book;

/// Collects the constants of all crates, each with its values as written. Some names occur in several files.
fn constants() -> BTreeMap<String, Vec<String>> {
    let mut found = BTreeMap::new();
    for folder in fs::read_dir(book::repository_root().join("crates")).unwrap() {
        collect(&folder.unwrap().path().join("src"), &mut found);
    }
    found
}

fn collect(folder: &Path, found: &mut BTreeMap<String, Vec<String>>) {
    for entry in fs::read_dir(folder).unwrap().map(Result::unwrap) {
        if entry.file_type().unwrap().is_dir() {
            collect(&entry.path(), found);
            continue;
        }
        let text = fs::read_to_string(entry.path()).unwrap();
        for line in text.lines() {
            let Some((_, rest)) = line.split_once("const ") else { continue };
            let Some((name, rest)) = rest.split_once(": ") else { continue };
            let Some((_, value)) = rest.split_once(" = ") else { continue };
            found.entry(name.to_owned()).or_default().push(value.trim_end_matches(';').to_owned());
        }
    }
}

/// Parses a table row that quotes a constant into its name and value.
fn quoted(line: &str) -> Option<(&str, &str)> {
    let mut cells = line.strip_prefix("| `")?.split("` | `");
    let name = cells.next()?;
    let value = cells.next()?.split('`').next()?;
    let is_constant = name.len() > 1 && name.chars().all(|c| c.is_ascii_uppercase() || c == '_');
    is_constant.then_some((name, value))
}

#[test]
fn quoted_constants_have_their_values() {
    let constants = constants();
    let mut checked = 0;
    for path in book::list_documents() {
        for (name, value) in fs::read_to_string(&path).unwrap().lines().filter_map(quoted) {
            let values = constants.get(name).unwrap_or_else(|| panic!("{path:?}: there is no {name}"));
            assert!(values.iter().any(|v| v == value), "{path:?}: {name} is {values:?}, not {value}");
            checked += 1;
        }
    }
    assert!(checked > 0, "no document quotes a constant");
}

#[test]
fn the_change_log_and_the_format_name_the_versions_that_are_written() {
    let read = |name: &str| fs::read_to_string(book::repository_root().join(name)).unwrap();
    let changes = read("CHANGELOG.md");
    let newest = changes.split("\n## ").nth(1).unwrap();
    let versions = format!("Record schema {SCHEMA}, agent protocol {PROTOCOL}, JSON document {VERSION}.");
    assert!(newest.contains(&versions), "CHANGELOG.md does not say: {versions}");
    let today = format!("`schema` is a single number, {SCHEMA} today.");
    assert!(
        read("docs/reference/record-format.md").contains(&today),
        "record-format.md does not say: {today}"
    );
}
