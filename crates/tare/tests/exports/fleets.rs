//! Fleets: folders of synthetic records with a slow node and a gap, reported on by commands.

use std::fs;
use std::path::Path;
use std::process::Command;
use std::time::SystemTime;

use crate::program::{Program, Said};
use crate::reading::find_reader;
use crate::records::{Made, USUAL, write_record};

/// Nodes of the fleet, of which the fourth is slower by 30 %.
const NODES: usize = 10;
const SLOW: usize = 3;
/// Engine whose jobs copy their records from a folder next to the fleet's.
const ENGINE: &str = r"
about = 'records that are there'
submit = ['sh', '-s']
script = 'cp {folder}-fresh/{node}-{session}.tare {folder}/cells/{node}/{session}.tare'
";

/// Builds the folder of a fleet whose environment has this cost, with one session missing and two replaced by
/// another file.
fn folder(program: &Program, name: &str, cost: f64) {
    let folder = program.path(name);
    let nodes: Vec<String> = (1..=NODES).map(|node| format!("n{node:02}")).collect();
    let cells =
        |session: u32| nodes.iter().map(move |node| serde_json::json!({ "node": node, "session": session }));
    let plan = serde_json::json!({
        "fleet": "0123456789abcdef0123456789abcdef",
        "study": "quick",
        "measure": { "against": "native" },
        "seed": 7,
        "binary": "0",
        "sessions": 2,
        "at_once": 4,
        "limit_s": 600,
        "nodes": nodes.iter().map(|node| serde_json::json!({ "name": node })).collect::<Vec<_>>(),
        "cells": cells(1).chain(cells(2)).collect::<Vec<_>>(),
        "engine": { "on": "own.toml", "toml": ENGINE },
        "command": "tare fleet run quick",
    });
    fs::create_dir_all(&folder).unwrap();
    fs::write(folder.join("plan.json"), plan.to_string()).unwrap();
    fs::write(folder.join("tare"), "").unwrap();
    for (at, node) in nodes.iter().enumerate() {
        let cells = folder.join("cells").join(node);
        fs::create_dir_all(&cells).unwrap();
        for session in 1..=2 {
            let slow = if at == SLOW { 1.3 } else { 1.0 };
            write_record(&cells.join(format!("{session}.tare")), of_node(at, session, slow, cost));
        }
    }
    fs::remove_file(folder.join("cells/n09/2.tare")).unwrap();
    fs::write(folder.join("cells/n09/2.why"), "deadline of 30 min passed\u{1b}[31m\n").unwrap();
    fs::write(folder.join("cells/n09/notes.txt"), "").unwrap();
}

fn of_node(at: usize, session: u32, slow: f64, cost: f64) -> Made {
    let off = (at as f64 * 0.618).fract() * 0.01 + f64::from(session) * 0.001;
    Made { native_ns: 1000.0 * (1.0 + off) * slow, cost: cost * (1.0 + off / 4.0), ..USUAL }
}

fn report(program: &Program, more: &[&str]) -> Said {
    program.run_tare(&[&["fleet", "report", "fleet"], more].concat())
}

#[test]
fn a_slow_node_and_a_gap_stand_in_the_report() {
    let program = Program::new();
    folder(&program, "fleet", 3.0);
    let said = report(&program, &[]);
    assert_eq!(said.code, Some(0), "{said:?}");
    let missing = said
        .out
        .find("Missing: 1 of 20 sessions (5 %)\n  n09, session 2  deadline of 30 min passed")
        .unwrap();
    assert!(
        missing < said.out.find("container, over nodes").unwrap(),
        "missing sessions come first: {}",
        said.out
    );
    assert!(!said.out.contains('\u{1b}') && said.out.contains("Ignored: 1 file with an unknown name"));
    for part in ["system call ", "3.0", "Slow nodes of 10 nodes", "\n  n04  slow?  typically 30 % slower"] {
        assert!(said.out.contains(part), "{part}: {}", said.out);
    }
    assert_eq!(said.out.matches("slow?  ").count(), 1, "{}", said.out);
    // The second time every session's rows stand beside its record.
    let rows = program.path("fleet/cells/n01/1.parquet");
    assert!(rows.exists() && program.path("fleet/store/cells/0000.parquet").exists());
    let again = report(&program, &[]);
    assert_eq!(again.out, said.out);
    fs::write(&rows, b"PAR1 is not one: PAR1").unwrap();
    assert_eq!(report(&program, &[]).out, said.out, "a damaged file is made anew");
    // The rows of another record are not taken for this one's.
    fs::copy(program.path("fleet/cells/n04/1.parquet"), &rows).unwrap();
    fs::write(program.path("fleet/cells/n01/1.tare"), "nothing").unwrap();
    assert!(report(&program, &[]).out.contains("n01, session 1  its file is not a record"));
    // Nor are those of a record that is of another schema.
    let text = fs::read_to_string(program.path("fleet/cells/n04/1.tare")).unwrap();
    let (first, rest) = text.split_once('\n').unwrap();
    let first = first[9..].replacen("\"schema\":4", "\"schema\":3", 1);
    let third = format!("{:08x} {first}\n{rest}", crc32fast::hash(first.as_bytes()));
    fs::write(program.path("fleet/cells/n04/1.tare"), third).unwrap();
    let said = report(&program, &[]);
    assert!(said.out.contains("n04, session 1  ") && said.out.contains("record of schema 3"), "{}", said.out);
}

#[test]
fn a_fleet_meets_conditions_and_is_a_document() {
    let program = Program::new();
    folder(&program, "fleet", 3.0);
    folder(&program, "older", 2.0);
    for (condition, code) in [
        ("outlier", 6),
        ("missing>5%", 0),
        ("missing", 6),
        ("slower:container:sys.*>2.5", 6),
        ("slower>9", 0),
        ("slower:nowhere", 6),
        ("slow", 2),
    ] {
        let said = report(&program, &["--fail-if", condition]);
        assert_eq!(said.code, Some(code), "{condition}: {said:?}");
    }
    let said = report(&program, &["--json", "--before", "older", "--fail-if", "regressed"]);
    assert_eq!(said.code, Some(6), "{said:?}");
    let document = said.parse_json();
    assert_eq!((&document["schema"], &document["nodes"]), (&"tare-fleet".into(), &10.into()));
    assert_eq!(document["ranking"]["nodes"][0]["node"], "n04");
    let layer =
        document["changes"].as_array().unwrap().iter().find(|of| of["environment"] == "container").unwrap();
    assert!((layer["change"]["factor"].as_f64().unwrap() - 1.5).abs() < 0.01, "{layer}");
    assert_eq!(report(&program, &["--by", "kernel.release"]).code, Some(0));
    fs::remove_file(program.path("fleet/plan.json")).unwrap();
    assert_eq!(report(&program, &[]).code, Some(5));
    assert!(Path::new(&program.path("fleet/cells")).exists());
}

#[test]
fn kinds_of_nodes_are_the_plans_unless_a_report_names_others() {
    let program = Program::new();
    folder(&program, "fleet", 3.0);
    let kinds = |more: &[&str]| {
        let said = report(&program, &[&["--json"], more].concat());
        said.parse_json()["ranking"]["kinds"].as_object().unwrap().keys().cloned().collect::<Vec<_>>()
    };
    let usual = kinds(&[]);
    let plan = program.path("fleet/plan.json");
    let text = fs::read_to_string(&plan).unwrap();
    fs::write(&plan, text.replacen('{', r#"{"by":["rack"],"#, 1)).unwrap();
    assert_eq!(kinds(&[]), ["?"]);
    assert_eq!(kinds(&["--by", "cpu.model,cpu.count,memory.total_bytes,kernel.release"]), usual);
    let said = program.run_tare(&["fleet", "run", "fleet", "--by", "rack"]);
    assert!(said.code == Some(2) && said.err.contains("--confirm"), "{said:?}");
}

/// Lists the merged files of a fleet by name, with their modification times.
fn merged(program: &Program) -> Vec<(String, SystemTime)> {
    let place = program.path("fleet/store/trials");
    let inside =
        |folder: &Path| fs::read_dir(folder).unwrap().map(|entry| entry.unwrap()).collect::<Vec<_>>();
    let mut files: Vec<_> = inside(&place).iter().flat_map(|kind| inside(&kind.path())).collect();
    files.sort_by_key(|file| file.path());
    let name = |path: &Path| path.strip_prefix(&place).unwrap().display().to_string();
    files.iter().map(|file| (name(&file.path()), file.metadata().unwrap().modified().unwrap())).collect()
}

#[test]
fn trials_are_merged_once_and_again_when_something_is_new() {
    let program = Program::new();
    folder(&program, "fleet", 3.0);
    assert_eq!(report(&program, &[]).code, Some(0));
    let first = merged(&program);
    assert!(first.len() == 1 && first[0].0.starts_with("kind="), "{first:?}");
    assert_eq!(report(&program, &[]).code, Some(0));
    assert_eq!(merged(&program), first, "nothing is new");
    // A further session, other kinds, a file that is damaged, and all deleted.
    write_record(&program.path("fleet/cells/n09/2.tare"), of_node(8, 2, 1.0, 3.0));
    fs::remove_file(program.path("fleet/cells/n09/2.why")).unwrap();
    assert_eq!(report(&program, &[]).code, Some(0));
    let second = merged(&program);
    assert!(second.len() == 1 && second != first);
    assert_eq!(report(&program, &["--by", "nothing"]).code, Some(0));
    let others = merged(&program);
    assert_eq!(others.iter().map(|(name, _)| name.as_str()).collect::<Vec<_>>(), ["kind=%3F/0000.parquet"]);
    fs::write(program.path("fleet/store/trials/kind=%3F/0000.parquet"), "PAR1 nothing PAR1").unwrap();
    fs::write(program.path("fleet/store/trials/kind=%3F/0007.parquet"), "").unwrap();
    let columns = fs::read(program.path("fleet/cells/n03/1.parquet")).unwrap();
    let mut damaged = columns.clone();
    // Behind what all rows share, which stands in the footer, too.
    damaged[2000..4000].fill(0xff);
    fs::write(program.path("fleet/cells/n03/1.parquet"), damaged).unwrap();
    assert_eq!(report(&program, &["--by", "nothing"]).code, Some(0));
    assert_eq!(merged(&program).len(), 1);
    let is_anew = fs::read(program.path("fleet/cells/n03/1.parquet")).unwrap() == columns;
    assert!(is_anew, "it was not made anew");
    fs::remove_dir_all(program.path("fleet/store/trials")).unwrap();
    assert_eq!(report(&program, &[]).code, Some(0));
    assert_eq!(merged(&program)[0].0, second[0].0);
}

#[test]
fn merged_trials_are_those_of_the_sessions() {
    let test = "merged_trials_are_those_of_the_sessions";
    let program = Program::new();
    folder(&program, "fleet", 3.0);
    let Some(duckdb) = find_reader(test, "duckdb") else { return };
    assert_eq!(report(&program, &[]).code, Some(0));
    let trials = "create view trials as select * from read_parquet('fleet/store/trials/*/*.parquet', hive_partitioning = false)";
    let ask = |question: &str| {
        let mut command = Command::new(&duckdb);
        let said = command.args(["-c", trials, "-c", question]).current_dir(program.path("")).output();
        let said = Said::from_output(said.unwrap());
        assert_eq!(said.code, Some(0), "{said:?}");
        said.out
    };
    // Rows that only one of them has, apart from the nodes, which records do not know.
    let both = "select count(*) row_count, count(distinct node) nodes, count(distinct number) numbers, \
                (select count(*) from (select * exclude (node, number) from trials except all \
                select * exclude (node) from read_parquet('fleet/cells/*/*.parquet'))) more, \
                (select count(*) from (select * exclude (node) from read_parquet('fleet/cells/*/*.parquet') \
                except all select * exclude (node, number) from trials)) fewer from trials where value is not null";
    let said = ask(both);
    let figures: Vec<u64> = said.split('│').filter_map(|word| word.trim().parse().ok()).collect();
    let [rows, nodes, numbers, more, fewer] = figures[..] else { panic!("{said}") };
    assert!(rows > 1000, "{said}");
    assert_eq!((nodes, numbers, more, fewer), (10, 2, 0, 0), "{said}");
    let sorted = ask(
        "select bool_and(case_name >= last_case) from (select \"case\" case_name, lag(\"case\") over (order by file_row_number) last_case \
         from read_parquet('fleet/store/trials/*/*.parquet', file_row_number = true))",
    );
    assert!(sorted.contains("true"), "{sorted}");
}

#[test]
fn a_folder_with_links_replaces_nothing_outside_it() {
    let program = Program::new();
    folder(&program, "fleet", 3.0);
    let [columns, stored] = ["mine/1.parquet", "mine/0000.parquet"].map(|name| program.path(name));
    fs::create_dir(program.path("mine")).unwrap();
    for file in [&columns, &stored] {
        fs::write(file, "mine").unwrap();
    }
    std::os::unix::fs::symlink(&columns, program.path("fleet/cells/n01/1.parquet")).unwrap();
    fs::create_dir(program.path("fleet/store")).unwrap();
    std::os::unix::fs::symlink(program.path("mine"), program.path("fleet/store/cells")).unwrap();
    let said = report(&program, &[]);
    assert_eq!(said.code, Some(0), "{said:?}");
    assert!(said.err.contains("the tables for SQL were not written: cannot write"), "{said:?}");
    assert!(said.err.contains("store/cells is a link"), "{said:?}");
    assert_eq!([&columns, &stored].map(|file| fs::read_to_string(file).unwrap()), ["mine", "mine"]);
}

#[test]
fn fresh_sessions_of_what_stands_out_decide() {
    for (slow, standing) in [(1.3, "slow"), (1.0, "not confirmed")] {
        let program = Program::new();
        folder(&program, "fleet", 3.0);
        fs::create_dir(program.path("fleet-fresh")).unwrap();
        for (at, session) in (0..NODES).flat_map(|at| (3..=6).map(move |session| (at, session))) {
            let name = format!("fleet-fresh/n{:02}-{session}.tare", at + 1);
            let slow = if at == SLOW { slow } else { 1.0 };
            write_record(&program.path(&name), of_node(at, session, slow, 3.0));
        }
        assert!(report(&program, &[]).out.contains("tare fleet run fleet --confirm"));
        let said = program.run_tare(&["fleet", "run", "fleet", "--confirm"]);
        assert_eq!(said.code, Some(2), "it began elsewhere: {said:?}");
        assert!(said.err.contains("run sh -s") && said.err.contains("--trust"), "{said:?}");
        let said = program.run_tare(&["fleet", "run", "fleet", "--confirm", "--trust"]);
        assert_eq!(said.code, Some(0), "{said:?}");
        assert!(said.out.starts_with("18 of 18 sessions on 3 nodes\n"), "{said:?}");
        assert_eq!(said.err.matches("submitted: ").count(), 12, "{said:?}");
        assert_eq!(said.err.matches("n04/").count(), 8, "submitted and measured: {said:?}");
        let said = report(&program, &[]);
        assert!(said.out.contains(&format!("\n  n04  {standing}  ")), "{said:?}");
        assert!(!said.out.contains("slow?  ") && !said.out.contains("--confirm"), "{said:?}");
        let again = program.run_tare(&["fleet", "run", "fleet", "--confirm", "--trust"]);
        assert_eq!((again.code, again.err.contains("submitted: ")), (Some(0), false), "{again:?}");
    }
    let program = Program::new();
    folder(&program, "fleet", 3.0);
    for session in 1..=2 {
        fs::remove_file(program.path(&format!("fleet/cells/n04/{session}.tare"))).unwrap();
    }
    let said = program.run_tare(&["fleet", "run", "fleet", "--confirm", "--trust"]);
    assert_eq!(
        (said.code, said.out.as_str()),
        (Some(0), "no node stands out: nothing to confirm\n"),
        "{said:?}"
    );
    assert_eq!(program.run_tare(&["fleet", "run", "quick", "--confirm", "--into", "x"]).code, Some(2));
}
