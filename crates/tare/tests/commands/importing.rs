//! Importing: into a record and out of it again, next to a session, and nothing written when a file is
//! refused.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use serde_json::Value;
use tare_data::imported::Imported;
use tare_import::import_file;

use crate::program::{Program, Said};

fn fixtures() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fixtures/imported")
}

fn fixture(name: &str) -> String {
    fixtures().join(name).to_str().unwrap().to_owned()
}

fn ok(said: Said) -> String {
    assert_eq!(said.code, Some(0), "{said:?}");
    said.out
}

#[test]
fn what_is_imported_is_a_table_and_a_document() {
    let program = Program::new();
    let files = [fixture("netperf-keys.txt"), fixture("dd-c.txt")];
    let made =
        ok(program.run_tare(&["import", &files[0], &files[1], "--out", "i.tare", "--environment", "gvisor"]));
    let table = ok(program.run_tare(&["report", "i.tare"]));
    assert_eq!(made, format!("{table}\nrecord  i.tare\n"));
    assert!(table.starts_with("imported: figures that other tools stated."), "{table}");
    for part in ["netperf · in gvisor · netperf-keys.txt", "p99", "25 us", "27.8 GB/s", "protocol=tcp"] {
        assert!(table.contains(part), "no '{part}' in {table}");
    }
    let json: Value = serde_json::from_str(&ok(program.run_tare(&["report", "i.tare", "--json"]))).unwrap();
    assert_eq!((json["schema"].as_str(), json["version"].as_u64()), (Some("tare-imported"), Some(1)));
    assert_eq!(json["imported"][0]["figures"][0]["values"][1]["value"], 7420.0);
    assert_eq!(json["imported"][0]["source"]["sha256"].as_str().map(str::len), Some(64));
    let again = ok(program.run_tare(&[
        "import",
        &files[0],
        &files[1],
        "--json",
        "--out",
        "j.tare",
        "--environment",
        "gvisor",
    ]));
    assert_eq!(serde_json::from_str::<Value>(&again).unwrap(), json);
}

#[test]
fn a_log_with_several_tools_is_one_file_with_a_table_for_each() {
    let program = Program::new();
    let log = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fixtures/posted/case-mixture.txt");
    let made = ok(program.run_tare(&["import", log.to_str().unwrap(), "--out", "i.tare"]));
    assert!(made.contains("1 file, 7 figures"), "{made}");
    for part in ["dd · case-mixture.txt", "iperf3 · case-mixture.txt", "hyperfine · case-mixture.txt"] {
        assert!(made.contains(part), "no '{part}' in {made}");
    }
    let table = ok(program.run_tare(&["report", "i.tare"]));
    assert_eq!(made, format!("{table}\nrecord  i.tare\n"));
}

#[test]
fn a_refused_file_leaves_nothing_behind() {
    let program = Program::new();
    let cut = fs::read(fixture("sysbench-cpu.txt")).unwrap();
    fs::write(program.path("cut.txt"), &cut[..cut.len() - 4]).unwrap();
    fs::write(program.path("other.txt"), "hello\n").unwrap();
    for (name, cause) in [
        ("cut.txt", "line 30, column"),
        ("other.txt", "line 1, column 1 (byte 0): no known output begins here"),
        ("none.txt", "No such file"),
        (".", "is a directory"),
    ] {
        let said = program.run_tare(&["import", &fixture("dd-c.txt"), name, "--out", "i.tare"]);
        assert_eq!(said.code, Some(5), "{said:?}");
        assert!(said.err.contains(&format!("error: cannot import {name}")), "{}", said.err);
        assert!(
            said.err.lines().any(|line| line.starts_with("caused by: ") && line.contains(cause)),
            "{}",
            said.err
        );
        assert!(!program.path("i.tare").exists(), "{name} is refused, and a record is there");
    }
    fs::write(program.path("i.tare"), "mine").unwrap();
    let said = program.run_tare(&["import", &fixture("dd-c.txt"), "--out", "i.tare"]);
    assert_eq!(said.code, Some(4), "{said:?}");
    assert!(said.err.contains("--out RECORD"), "{}", said.err);
    assert_eq!(fs::read_to_string(program.path("i.tare")).unwrap(), "mine");
}

#[test]
fn a_cut_record_of_imports_says_so() {
    let program = Program::new();
    ok(program.run_tare(&["import", &fixture("dd-two.txt"), &fixture("dd-c.txt"), "--out", "i.tare"]));
    let whole = fs::read_to_string(program.path("i.tare")).unwrap();
    let lines: Vec<&str> = whole.split_inclusive('\n').collect();
    assert_eq!(lines.len(), 4);
    fs::write(program.path("cut.tare"), lines[..3].concat()).unwrap();
    let said = program.run_tare(&["report", "cut.tare"]);
    assert_eq!(said.code, Some(5));
    assert!(said.err.contains("ends in the middle of an import"), "{}", said.err);
    let said = program.run_tare(&["run", "--resume", "i.tare"]);
    assert_eq!(said.code, Some(5));
    assert!(said.err.contains("holds figures of other tools, not a session"), "{}", said.err);
}

const NEED_SESSION: &str =
    "--html, --markdown, --csv, --published, --export, --fail-if and --beside need a session";

#[test]
fn figures_stand_beside_a_session_and_are_marked() {
    let program = Program::new();
    ok(program
        .run_tare(&["run", "--only", "net.rr", "--in", "native", "--rounds", "1", "--record", "s.tare"]));
    ok(program.run_tare(&["import", &fixture("netperf-keys.txt"), &fixture("dd-c.txt"), "--out", "i.tare"]));
    let own = ok(program.run_tare(&["report", "s.tare"]));
    let both = ok(program.run_tare(&["report", "s.tare", "--beside", "i.tare"]));
    assert!(both.starts_with(&own), "a session's own report does not change:\n{both}");
    let beside = both.strip_prefix(&own).unwrap();
    assert!(beside.contains("Beside: figures of other tools."), "{beside}");
    assert!(beside.contains("no slowdown, interval or verdict") && beside.contains("netperf"), "{beside}");
    let json: Value =
        serde_json::from_str(&ok(program.run_tare(&["report", "s.tare", "--beside", "i.tare", "--json"])))
            .unwrap();
    let metrics: BTreeSet<&str> =
        json["beside"].as_array().unwrap().iter().map(|beside| beside["metric"].as_str().unwrap()).collect();
    assert_eq!(metrics, BTreeSet::from(["max", "mean", "min", "p50", "p90", "p99", "rate", "sd"]));
    let plain: Value = serde_json::from_str(&ok(program.run_tare(&["report", "s.tare", "--json"]))).unwrap();
    assert_eq!(json["rows"], plain["rows"], "verdicts do not know of imports");
    let markdown = ok(program.run_tare(&["report", "s.tare", "--beside", "i.tare", "--markdown"]));
    assert!(markdown.contains("| probe | metric | tare | another tool |"), "{markdown}");
    for (arguments, cause) in [
        (["report", "s.tare", "--beside", "s.tare"], "two sessions cannot be paired"),
        (["report", "i.tare", "--beside", "i.tare"], NEED_SESSION),
        (["report", "i.tare", "--export", "csv"], NEED_SESSION),
        (["report", "i.tare", "--html", "i.html"], NEED_SESSION),
    ] {
        let said = program.run_tare(&arguments);
        assert_eq!(said.code, Some(2), "{said:?}");
        assert!(said.err.contains(cause), "{}", said.err);
    }
    assert!(!program.path("i.html").exists());
}

#[test]
fn pages_hold_what_was_imported() {
    let program = Program::new();
    let files = [fixture("netperf-keys.txt"), fixture("dd-c.txt"), fixture("netperf-keys-all.txt")];
    let environments = ["--environment", "native,,gvisor", "--out", "i.tare"];
    let arguments: Vec<&str> =
        ["import"].into_iter().chain(files.iter().map(String::as_str)).chain(environments).collect();
    ok(program.run_tare(&arguments));
    let json: Value = serde_json::from_str(&ok(program.run_tare(&["report", "i.tare", "--json"]))).unwrap();
    let named: Vec<_> = (0..3).map(|at| json["imported"][at]["environment"].as_str()).collect();
    assert_eq!(named, [Some("native"), None, Some("gvisor")]);

    ok(program
        .run_tare(&["run", "--only", "net.rr", "--in", "native", "--rounds", "1", "--record", "s.tare"]));
    ok(program.run_tare(&["report", "s.tare", "--html", "plain.html"]));
    let said = ok(program.run_tare(&["report", "s.tare", "--beside", "i.tare", "--html", "both.html"]));
    assert!(said.contains("report  both.html") && said.contains("Beside: figures of other tools."), "{said}");
    let pages = ["plain.html", "both.html"].map(|name| fs::read_to_string(program.path(name)).unwrap());
    assert_eq!(
        pages.map(|page| page.contains("netperf · in gvisor · netperf-keys-all.txt")),
        [false, true],
        "only where somebody asks"
    );

    let said =
        program.run_tare(&["import", &files[0], &files[1], "--environment", "a,b,c", "--out", "j.tare"]);
    assert_eq!(said.code, Some(2), "{said:?}");
    assert!(said.err.contains("--environment names 3 environments for 2 files"), "{}", said.err);
    assert!(!program.path("j.tare").exists());
}

/// Asserts that each counterpart named by importers is a probe with that parameter, metric and unit.
#[test]
fn counterparts_are_probes_of_tare() {
    let mut probes = BTreeSet::new();
    for entry in fs::read_dir(fixtures()).unwrap() {
        let path = entry.unwrap().path();
        if path.extension().is_some_and(|kind| kind == "md") {
            continue;
        }
        let imported: Imported = import_file(&fs::read(&path).unwrap(), "file", None).unwrap().remove(0);
        for figure in &imported.figures {
            let Some(counterpart) = &figure.counterpart else {
                assert!(
                    figure.values.iter().all(|value| value.metric.is_none()),
                    "{path:?}: {}",
                    figure.name
                );
                continue;
            };
            let probe = tare_probes::find_probe(&counterpart.probe)
                .unwrap_or_else(|| panic!("{counterpart}: no such probe"));
            probes.insert(probe.name);
            for key in counterpart.parameters.0.keys() {
                // Round trips of TCP are all that a probe without this parameter knows.
                let known =
                    key == "protocol" || probe.parameters.iter().any(|parameter| parameter.name == key);
                assert!(known, "{path:?}: {} has no parameter {key}", probe.name);
            }
            for value in &figure.values {
                if let Some(name) = &value.metric {
                    let metric = probe.metrics().into_iter().find(|metric| metric.name == *name);
                    let metric =
                        metric.unwrap_or_else(|| panic!("{path:?}: {} has no metric {name}", probe.name));
                    assert_eq!(Some(metric.unit), value.unit, "{path:?}: {} {name}", probe.name);
                }
            }
        }
    }
    assert!(probes.len() >= 12, "{probes:?}");
}
