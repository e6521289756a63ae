//! Studies in documents: each can be planned, and every key of a study is explained.

use std::fs;

use tare_lab::study::Study;

use crate::book;

#[test]
fn every_study_in_a_document_can_be_planned() {
    let mut planned = 0;
    for path in book::list_documents() {
        let text = fs::read_to_string(&path).unwrap();
        for fence in book::find_fences(&text) {
            let ("toml", Some(name)) = fence.split_info() else { continue };
            let mut study =
                Study::parse(&text[fence.body.clone()], name).unwrap_or_else(|e| panic!("{path:?}: {e}"));
            // As if the files that it carries along lay beside it.
            let folder = tempfile::tempdir().unwrap();
            for name in study.commands.values().flat_map(|command| &command.carry) {
                fs::write(folder.path().join(name), "carried").unwrap();
            }
            study.folder = folder.path().to_owned();
            let selected = study.expand_cases(None, None).unwrap_or_else(|e| panic!("{path:?}: {e}"));
            assert!(!selected.is_empty(), "{path:?}: {name} asks for nothing");
            planned += 1;
        }
    }
    assert!(planned > 0, "no document shows a study");
}

/// Extracts the known keys from the error about an unknown one.
fn known_keys(text: &str) -> Vec<String> {
    let error = Study::parse(text, "x").expect_err("there is no key 'nonsense'").to_string();
    let (_, known) = error.split_once("expected one of").unwrap_or_else(|| panic!("{error}"));
    known.split('`').skip(1).step_by(2).map(str::to_owned).collect()
}

#[test]
fn every_key_of_a_study_is_explained() {
    let page = fs::read_to_string(book::repository_root().join("docs/reference/study-format.md")).unwrap();
    let case = "name = 'x'\ntitle = 'x'\nabout = ''\nbudget = '1m'\n[[case]]\nnonsense = 1\n";
    let command = "name = 'x'\ntitle = 'x'\nabout = ''\nbudget = '1m'\n[probe.x]\nnonsense = 1\n";
    let keys = [known_keys("nonsense = 1"), known_keys(case), known_keys(command)].concat();
    for key in keys {
        // Two keys of one kind share a line.
        assert!(
            page.contains(&format!("| `{key}`")) || page.contains(&format!(", `{key}` |")),
            "docs/reference/study-format.md does not explain '{key}'"
        );
    }
}

/// Converts a study to JSON, as an editor does to check TOML against a schema.
fn as_json(text: &str) -> serde_json::Value {
    let value: toml::Value = toml::from_str(text).unwrap();
    serde_json::to_value(value).unwrap()
}

/// Validates a study against the published schema, and returns the first error.
fn complaint(text: &str) -> Option<String> {
    let mut schemas = boon::Schemas::new();
    let mut compiler = boon::Compiler::new();
    compiler.add_resource("file:///study.schema.json", tare_lab::study::schema::make_study_schema()).unwrap();
    let index = compiler.compile("file:///study.schema.json", &mut schemas).unwrap();
    schemas.validate(&as_json(text), index).err().map(|e| e.to_string())
}

#[test]
fn the_schema_for_editors_takes_every_shipped_study_and_refuses_slips() {
    let _lock = book::lock_documents();
    let schema = format!("{:#}\n", tare_lab::study::schema::make_study_schema());
    book::compare_or_rewrite(&book::repository_root().join("docs/reference/study.schema.json"), &schema);
    for (name, text) in tare_lab::study::SHIPPED {
        assert_eq!(complaint(text), None, "{name}");
    }
    let study = |rest: &str| format!("name='x'\ntitle='x'\nabout=''\nbudget='1m'\n{rest}");
    assert_eq!(complaint(&study("[probe.b]\ncommand=['x']")), None);
    for wrong in [
        "",
        "budgte='1m'\n[[case]]\nprobe='null'",
        "[[case]]\nprobe='nul'",
        "[[case]]\nprobe='file.seq'\nparameters={bz='4K'}",
        "[probe.b]\ncommand=[]",
        "published=['nowhere']\n[[case]]\nprobe='null'",
    ] {
        assert!(complaint(&study(wrong)).is_some(), "{wrong}");
    }
}
