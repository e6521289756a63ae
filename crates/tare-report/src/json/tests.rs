//! The JSON document against its published schema, and against a hostile record.

use std::collections::BTreeSet;

use boon::{Compiler, Schemas};
use proptest::prelude::*;
use serde_json::{Value, json};
use tare_data::failure::{Failure, FailureKind};
use tare_data::session::{RepeatedRound, TargetFacts};

use super::*;
use crate::imported::Own;
use crate::language::Language;
use crate::specimen;
use crate::text::json::render_escaped_json;

fn document(targets: usize) -> Value {
    serde_json::from_str(&render_json(&specimen::make_session(targets), &specimen::make_findings(targets)))
        .unwrap()
}

/// Validates a document by the published schema, and returns the first complaint.
pub(crate) fn complaint(document: &Value) -> Option<String> {
    let mut schema: Value =
        serde_json::from_str(include_str!("../../../../docs/reference/report.schema.json"))
            .expect("the schema is JSON");
    close(&mut schema);
    let mut schemas = Schemas::new();
    let mut compiler = Compiler::new();
    compiler.add_resource("file:///report.schema.json", schema).unwrap();
    let index = compiler.compile("file:///report.schema.json", &mut schemas).unwrap();
    schemas.validate(document, index).err().map(|e| e.to_string())
}

/// Forbids fields that the schema does not describe: readers ignore them, but we do not write them.
fn close(schema: &mut Value) {
    match schema {
        Value::Object(map) => {
            if map.contains_key("required") {
                map.insert("additionalProperties".into(), json!(false));
            }
            map.values_mut().for_each(close);
        }
        Value::Array(items) => items.iter_mut().for_each(close),
        _ => {}
    }
}

#[test]
fn every_kind_of_warning_is_in_the_schema() {
    let schema: Value =
        serde_json::from_str(include_str!("../../../../docs/reference/report.schema.json")).unwrap();
    let kinds = &schema["$defs"]["warning"]["properties"]["kind"]["enum"];
    let listed: BTreeSet<&str> = kinds.as_array().unwrap().iter().filter_map(Value::as_str).collect();
    // An error of serde lists the names of all variants, in marks.
    let error = serde_json::from_str::<tare_data::warning::Warning>(r#"{"no_such_kind": {}}"#)
        .unwrap_err()
        .to_string();
    let known: BTreeSet<&str> = error.split('`').skip(3).step_by(2).collect();
    assert!(known.len() > 20, "{error}");
    assert_eq!(listed, known);
}

#[test]
fn documents_keep_to_the_published_schema() {
    for targets in 0..=6 {
        assert_eq!(complaint(&document(targets)), None);
    }
    let mut session = specimen::make_session(2);
    session.repeated.push(RepeatedRound {
        case: "sys.getppid".into(),
        round: 3,
        attempt: 0,
        reason: "steal above 5 %".into(),
    });
    session.plan.cases[0]
        .missing
        .insert("native".into(), Failure::new(FailureKind::NotPermitted, "needs root"));
    let mut findings = specimen::make_findings(2);
    findings.rows[0].baseline = None;
    let read: Value = serde_json::from_str(&render_json(&session, &findings)).unwrap();
    assert_eq!(complaint(&read), None);
    assert_eq!(read["rows"][0]["baseline_missing"]["kind"], "not_permitted");
    assert_eq!(read["repeated"][0]["reason"], "steal above 5 %");
}

#[test]
fn articles_beside_a_session_keep_to_the_schema() {
    let (session, mut findings) = (specimen::make_session(2), specimen::make_findings(2));
    let text = include_str!("../../../../published/qiita-wsl-guest-native.toml");
    let text = text.replace("proc.fork_hold", "proc.spawn").replace("{ ballast = \"none\" }", "{}");
    tare_analysis::published::place_beside(&mut findings, &session, &[toml::from_str(&text).unwrap()]);
    let mut read: Value = serde_json::from_str(&render_json(&session, &findings)).unwrap();
    assert_eq!(complaint(&read), None);
    let article = &read["articles"][0];
    assert_eq!(article["claims"].as_array().unwrap().len(), 10);
    assert_eq!(article["without_row"][0]["words"], "no row of this session; proc.spawn measures it");
    assert!(read["rows"].as_array().unwrap().iter().any(|row| row["published"][0]["printed"][0] == "4.53"));
    read["articles"][0]["claims"][0].as_object_mut().unwrap().remove("text");
    assert!(complaint(&read).is_some());
}

#[test]
fn results_of_other_tools_keep_to_the_schema_too() {
    let (session, findings) = (specimen::make_session(2), specimen::make_findings(2));
    let row = &findings.rows[0];
    let beside = Beside {
        case: row.case.clone(),
        label: row.label.clone(),
        metric: row.metric.name.clone(),
        unit: row.metric.unit,
        own: vec![Own { target: "native".into(), median: 60.0, low: 59.0, high: f64::NAN, rounds: 6 }],
        tool: "sysbench".into(),
        origin: "sysbench 1.0.20".into(),
        environment: None,
        figure: "events".into(),
        statistic: "mean".into(),
        value: 61.5,
        written: "61.50".into(),
        open: vec!["threads=1".into()],
    };
    let mut read: Value = serde_json::from_str(&render_beside(&session, &findings, &[beside])).unwrap();
    assert_eq!(complaint(&read), None);
    read["beside"][0].as_object_mut().unwrap().remove("origin");
    assert!(complaint(&read).is_some());
}

#[test]
fn the_schema_refuses_what_is_not_such_a_document() {
    let mut other = document(1);
    other["schema"] = json!("something else");
    assert!(complaint(&other).is_some());
    let mut unknown = document(1);
    unknown["rows"][0]["cells"][0]["verdict"] = json!("slow");
    assert!(complaint(&unknown).is_some());
    let mut missing = document(1);
    missing["rows"][0].as_object_mut().unwrap().remove("baseline");
    assert!(complaint(&missing).is_some());
    let mut extra = document(1);
    extra["rows"][0]["extra"] = json!(1);
    assert!(complaint(&extra).is_some());
}

#[test]
fn a_cell_has_estimate_interval_verdict_and_raw_values() {
    let document = document(2);
    let cell = &document["rows"][0]["cells"][1];
    assert_eq!(cell["environment"], "gvisor");
    assert_eq!((&cell["answer"], &cell["why"]), (&json!("slower"), &Value::Null));
    assert_eq!(cell["comparison"]["slowdown"], 24.13);
    assert!(cell["comparison"]["low"].as_f64().unwrap() < 24.13);
    assert_eq!(cell["comparison"]["level"]["values"].as_array().unwrap().len(), 18);
    assert_eq!(document["plan"]["seed"], "7f3a91c2");
    assert_eq!(document["facts"]["environments"][2]["inside"]["kernel.release"], "6.18.44");
}

#[test]
fn what_is_not_a_number_is_null_and_the_document_still_valid() {
    let mut findings = specimen::make_findings(1);
    let level = findings.rows[0].baseline.as_mut().unwrap();
    (level.median, level.low) = (f64::NAN, f64::NEG_INFINITY);
    let text = render_json(&specimen::make_session(1), &findings);
    let read: Value = serde_json::from_str(&text).unwrap();
    assert_eq!(read["rows"][0]["baseline"]["median"], Value::Null);
    assert_eq!(complaint(&read), None);
}

proptest! {
    #[test]
    fn any_text_survives_and_nothing_of_it_acts(text in any::<String>()) {
        let shown = render_escaped_json(&json!({ "name": text }));
        let acts = shown.contains(['<', '>', '&', '\u{2028}', '\u{202e}']);
        prop_assert!(!acts);
        prop_assert!(!shown.chars().any(char::is_control));
        let read: Value = serde_json::from_str(&shown).unwrap();
        prop_assert_eq!(read["name"].as_str().unwrap(), text);
    }
}

#[test]
fn a_page_has_the_short_description_of_an_environment_in_its_language() {
    let mut session = specimen::make_session(1);
    tare_specimen::change_sides(&mut session.plan.targets, |at, side| {
        side.short_description = if at == 0 { "virtual machine by QEMU" } else { "" }.into();
    });
    let findings = specimen::make_findings(1);
    let described = |language| {
        let document = serde_json::to_value(Document::from_findings(&session, &findings, language)).unwrap();
        let environments = &document["plan"]["environments"];
        [0, 1].map(|place| environments[place]["short_description"].clone())
    };
    assert_eq!(described(Language::English), ["virtual machine by QEMU", ""]);
    assert_eq!(described(Language::Japanese), ["QEMUの仮想マシン", ""]);
}

#[test]
fn a_page_says_if_a_guest_s_disk_is_the_host_s_cache() {
    let findings = specimen::make_findings(1);
    let described = |is_direct: &str| {
        let mut session = specimen::make_session(1);
        tare_specimen::change_sides(&mut session.plan.targets, |at, side| {
            side.short_description = if at == 1 { "virtual machine by QEMU" } else { "" }.into();
        });
        let target = &session.plan.targets[1];
        let mut facts = tare_data::facts::Facts::default();
        facts.add_fact("outside.image_direct", is_direct);
        let name = target.name.clone();
        session.facts.retain(|facts| facts.target != name);
        let places = [("own".to_owned(), facts)].into();
        let (inside, outside) = Default::default();
        session.facts.push(TargetFacts { target: name, places, inside, outside });
        let document =
            serde_json::to_value(Document::from_findings(&session, &findings, Language::English)).unwrap();
        document["plan"]["environments"][1]["short_description"].clone()
    };
    assert_eq!(described("yes"), "virtual machine by QEMU; its disk bypasses the host's cache");
    assert_eq!(described("no"), "virtual machine by QEMU; its disk is the host's cache");
    assert_eq!(described(""), "virtual machine by QEMU");
}
