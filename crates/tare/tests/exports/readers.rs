//! Every format, read by its reader, with the same values as the JSON document.

use std::fs;
use std::path::PathBuf;
use std::process::Command;

use serde_json::Value;

use crate::program::Program;
use crate::reading::{find_reader, keeps_to, repository_root, run_reader, run_script};
use crate::records::{HOSTILE, Made, USUAL, with_record};

/// Exports a record, and returns the file along with the JSON document of the same record.
fn exported(made: Made, format: &str, file: &str) -> (Program, PathBuf, Value) {
    let program = with_record(made);
    let said = program.run_tare(&["report", "--json", "--export", &format!("{format}={file}"), "s.tare"]);
    assert_eq!(said.code, Some(0), "{said:?}");
    let (path, document) = (program.path(file), said.parse_json());
    (program, path, document)
}

/// Finds the row of the system call's headline.
fn system_call(document: &Value) -> &Value {
    let rows = document["rows"].as_array().unwrap();
    rows.iter().find(|row| row["probe"] == "sys.getppid" && row["headline"] == true).unwrap()
}

fn close(a: &Value, b: &Value) {
    let (a, b) = (a.as_f64().unwrap(), b.as_f64().unwrap());
    assert!((a / b - 1.0).abs() < 1e-9, "{a} and {b}");
}

const HOSTILE_RECORD: Made = Made { hostile: true, ..USUAL };

#[test]
fn parquet_and_csv_are_read_by_duckdb_and_pyarrow() {
    let Some(python) = find_reader("parquet_and_csv_are_read_by_duckdb_and_pyarrow", "python") else {
        return;
    };
    let (program, parquet, document) = exported(HOSTILE_RECORD, "parquet", "trials.parquet");
    program.run_tare(&["report", "--export", "csv=cells.csv", "s.tare"]);
    let csv = program.path("cells.csv");
    let read =
        run_script(&python, "parquet.py", &[parquet.to_str().unwrap(), csv.to_str().unwrap(), "sys.getppid"]);
    let session = tare_record::read_session(&program.path("s.tare")).unwrap().session;
    let metrics = |case: &str| session.plan.cases.iter().find(|c| c.id == case).unwrap().metrics.len();
    let rows: usize = session.trials.iter().map(|trial| metrics(&trial.case)).sum();
    assert_eq!((&read["rows"], &read["duckdb_rows"]), (&rows.into(), &rows.into()));
    assert_eq!(read["labels"], serde_json::json!([HOSTILE]), "texts are kept as they are");
    for (column, kind) in
        [("value", "double"), ("round", "int64"), ("counted", "bool"), ("environment", "string")]
    {
        assert_eq!(read["types"][column], kind, "{column}");
    }
    let targets = read["environments"].as_array().unwrap();
    let of = |target: &str| targets.iter().find(|row| row[0] == target).unwrap();
    assert_eq!(targets.len(), 3, "native, native again, container: {targets:?}");
    assert_eq!((&of("native again")[1], &of("container")[3]), (&"control".into(), &12.into()));
    let row = system_call(&document);
    close(&of("native")[2], &row["baseline"]["median"]);
    close(&of("container")[2], &row["cells"][0]["comparison"]["level"]["median"]);
    let cell = read["cells"].as_array().unwrap().iter().find(|cell| cell[0] == "container").unwrap();
    assert_eq!(cell[1], "slower");
    close(&cell[2], &row["cells"][0]["comparison"]["slowdown"]);
}

#[test]
fn junit_is_read_by_junitparser() {
    let Some(python) = find_reader("junit_is_read_by_junitparser", "python") else { return };
    for (made, label) in
        [(USUAL, "system call"), (HOSTILE_RECORD, "a \"b\" <c> & 50 %: d,e\\f\u{fffd}::error::g`|h ]]>")]
    {
        let program = with_record(made);
        program.run_tare(&["report", "--export", "junit=free.xml", "s.tare"]);
        let said =
            program.run_tare(&["report", "--export", "junit=gated.xml", "--fail-if", "slower>2", "s.tare"]);
        assert_eq!(said.code, Some(6), "{said:?}");
        let read = |file: &str| run_script(&python, "junit.py", &[program.path(file).to_str().unwrap()]);
        let (free, gated) = (read("free.xml"), read("gated.xml"));
        let counts =
            |read: &Value| [&read["tests"], &read["failures"], &read["skipped"]].map(|n| n.as_u64().unwrap());
        assert_eq!((counts(&free), counts(&gated)), ([3, 0, 1], [3, 2, 1]));
        let case = &gated["cases"][0];
        assert_eq!((&case["suite"], &case["environment"]), (&"container".into(), &"container".into()));
        assert!(case["name"].as_str().unwrap().starts_with(label), "{case}");
        assert!(case["failed"][0].as_str().unwrap().starts_with("slower>2: against native: 3x ("), "{case}");
        let cases = gated["cases"].as_array().unwrap();
        let skipped =
            cases.iter().find(|case| case["skipped"].as_array().is_some_and(|s| !s.is_empty())).unwrap();
        assert_eq!(skipped["skipped"][0], "not measured: not supported: no primes here, 100 % sure");
    }
}

#[test]
fn junit_keeps_to_the_schema_of_jenkins() {
    let Some(xmllint) = find_reader("junit_keeps_to_the_schema_of_jenkins", "xmllint") else { return };
    for made in [USUAL, HOSTILE_RECORD] {
        let program = with_record(made);
        for conditions in [&[][..], &["--fail-if", "slower>2", "--fail-if", "missing"]] {
            program.run_tare(&[&["report", "--export", "junit=cells.xml"], conditions, &["s.tare"]].concat());
            let mut command = Command::new(&xmllint);
            command.args(["--noout", "--schema"]).arg(repository_root().join("fixtures/formats/junit.xsd"));
            command.arg(program.path("cells.xml"));
            run_reader(command);
        }
    }
}

#[test]
fn openmetrics_is_read_by_the_parser_of_prometheus() {
    let Some(python) = find_reader("openmetrics_is_read_by_the_parser_of_prometheus", "python") else {
        return;
    };
    let (_program, path, document) = exported(HOSTILE_RECORD, "openmetrics", "tare.prom");
    let read = run_script(&python, "openmetrics.py", &[path.to_str().unwrap()]);
    let sample = |family: &str, target: &str| {
        let samples = read[family]["samples"].as_array().unwrap();
        let wanted = |s: &&Value| {
            s[1]["environment"] == target && s[1]["probe"] == "sys.getppid" && s[1]["headline"] == "true"
        };
        samples.iter().find(wanted).unwrap_or_else(|| panic!("no {family} of {target}"))[2].clone()
    };
    let row = system_call(&document);
    close(&sample("tare_slowdown_ratio", "container"), &row["cells"][0]["comparison"]["slowdown"]);
    let seconds = row["baseline"]["median"].as_f64().unwrap() * 1e-9;
    close(&sample("tare_time_seconds", "native"), &seconds.into());
    assert_eq!(
        (&read["tare_time_seconds"]["type"], &read["tare_time_seconds"]["unit"]),
        (&"gauge".into(), &"seconds".into())
    );
    assert_eq!(
        (&read["tare_answer"]["type"], &read["tare_session"]["type"]),
        (&"stateset".into(), &"info".into())
    );
    let states = read["tare_answer"]["samples"].as_array().unwrap();
    let true_states = states.iter().filter(|s| s[1]["environment"] == "container" && s[2] == 1.0);
    assert!(true_states.clone().any(|s| s[1]["tare_answer"] == "slower"), "{states:?}");
    let names: std::collections::BTreeSet<_> =
        states.iter().map(|s| s[1]["tare_answer"].to_string()).collect();
    assert_eq!(true_states.count() * names.len(), states.len(), "one state of each set is true");
}

#[test]
fn what_hyperfine_s_readers_want_is_there() {
    let Some(hyperfine) = find_reader("what_hyperfine_s_readers_want_is_there", "hyperfine") else { return };
    let (program, path, document) = exported(HOSTILE_RECORD, "hyperfine", "ours.json");
    let theirs = program.path("theirs.json");
    let mut command = Command::new(hyperfine);
    command.args([
        "--runs",
        "2",
        "--style",
        "none",
        "--parameter-list",
        "environment",
        "true",
        "{environment}",
        "--export-json",
    ]);
    run_reader({
        command.arg(&theirs);
        command
    });
    let read = |path: PathBuf| -> Value { serde_json::from_str(&fs::read_to_string(path).unwrap()).unwrap() };
    let (ours, theirs) = (read(path), read(theirs));
    let names = |value: &Value| value.as_object().unwrap().keys().cloned().collect::<Vec<_>>();
    assert_eq!(names(&ours), names(&theirs));
    let (ours, theirs) = (&ours["results"][0], &theirs["results"][0]);
    assert_eq!(names(ours), names(theirs));
    for name in names(theirs) {
        let kind = std::mem::discriminant::<Value>;
        // Values that tare does not measure are null, never zero.
        let same = kind(&ours[&name]) == kind(&theirs[&name])
            || (["user", "system"].contains(&&*name) && ours[&name].is_null());
        assert!(same, "{name}: {} and {}", ours[&name], theirs[&name]);
    }
    assert!(ours["parameters"]["environment"].is_string() && theirs["parameters"]["environment"].is_string());
    let found = system_call(&document);
    close(&(ours["median"].as_f64().unwrap() * 1e9).into(), &found["baseline"]["median"]);
    // Twelve rounds with the container, and six with the control.
    assert_eq!(ours["times"].as_array().unwrap().len(), 18);
}

#[test]
fn the_json_document_keeps_to_its_schema() {
    let Some(checker) = find_reader("the_json_document_keeps_to_its_schema", "check-jsonschema") else {
        return;
    };
    for made in [USUAL, HOSTILE_RECORD] {
        let (_program, path, document) = exported(made, "json", "out.json");
        keeps_to(&checker, "docs/reference/report.schema.json", &path);
        let read: Value = serde_json::from_str(&fs::read_to_string(&path).unwrap()).unwrap();
        assert_eq!(read, document);
    }
}
