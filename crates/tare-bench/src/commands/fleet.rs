//! Time and memory of the report of a large fleet, and the time of a question in SQL: a record copied to many
//! nodes.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::thread::sleep;
use std::time::{Duration, Instant};

use tare_data::batch::{Batch, Phase, Sample};
use tare_data::generator::Generator;
use tare_data::session::identity::FleetCell;
use tare_record::Entry;
use tare_record::entry::{from_line, to_line};

use crate::{interrupt, setting};

/// Limit on the report, in seconds.
const MOST_S: f64 = 60.0;
const MOST_MB: f64 = 512.0;
/// Name of the fleet.
const FLEET: &str = "00000000000000000000000000000000";
/// Sessions on each node.
const SESSIONS: usize = 2;
/// Distance between nodes, as a share, and the slowdown of the first.
const APART: f64 = 0.02;
const SLOW: f64 = 1.12;
/// Pause between two looks at the memory of the report.
const LOOK_EVERY: Duration = Duration::from_millis(5);

/// A fleet to be made of one record.
#[derive(Clone, Debug, clap::Args)]
pub struct Request {
    /// The record that every node gets, slower or faster by a little.
    #[arg(value_name = "RECORD")]
    record: PathBuf,
    /// Number of records to make of it.
    #[arg(long, value_name = "N", default_value_t = 1000)]
    records: usize,
    /// The tare that reports. The one next to this program unless given.
    #[arg(long, value_name = "FILE")]
    tare: Option<PathBuf>,
    /// Folder on a disk with room for as many records.
    #[arg(long, value_name = "FOLDER", default_value = "/var/tmp")]
    scratch: PathBuf,
}

/// Makes the fleet and reports on it; false where that takes too much, or the slow node is not named.
pub fn run_fleet(request: &Request) -> Result<bool, String> {
    let tare = setting::find_tare_binary(request.tare.as_deref())?;
    let folder = tempfile::Builder::new().prefix("fleet-").tempdir_in(&request.scratch);
    let folder = folder.map_err(|e| format!("{}: {e}", request.scratch.display()))?;
    let made = Instant::now();
    make(request, &tare, folder.path())?;
    println!(
        "{} records made in {:.0} s, with the columns that each node writes",
        request.records,
        made.elapsed().as_secs_f64()
    );
    let mut is_right = true;
    for what in ["first report", "second report"] {
        let Watched { took_s, most_mb, out, .. } = watch(&tare, &["fleet", "report"], folder.path())?;
        println!("{what}: {took_s:.1} s, {most_mb:.0} MB");
        let names_it = out.lines().any(|line| line.trim_start().starts_with("n00001  slow?"));
        is_right &= took_s <= MOST_S && most_mb <= MOST_MB && names_it;
    }
    let (files, bytes) = merged(&folder.path().join("store/trials"));
    println!("merged trials: {files} files, {:.0} MB", bytes as f64 / 1e6);
    Ok(is_right)
}

/// Counts the files below a folder, and their bytes.
fn merged(folder: &Path) -> (usize, u64) {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    entries.fold((0, 0), |(files, bytes), entry| match entry.metadata() {
        Ok(about) if about.is_file() => (files + 1, bytes + about.len()),
        Ok(about) if about.is_dir() => {
            let (inner, of_inner) = merged(&entry.path());
            (files + inner, bytes + of_inner)
        }
        _ => (files, bytes),
    })
}

fn make(request: &Request, tare: &Path, folder: &Path) -> Result<(), String> {
    let bytes = fs::read(&request.record).map_err(|e| format!("{}: {e}", request.record.display()))?;
    let entries: Option<Vec<Entry>> = bytes.split_inclusive(|byte| *byte == b'\n').map(from_line).collect();
    let entries = entries.ok_or("the record has bad lines")?;
    let nodes = request.records.div_ceil(SESSIONS);
    let name = |node: usize| format!("n{:05}", node + 1);
    let cells = (0..nodes).flat_map(|node| (1..=SESSIONS).map(move |session| (node, session)));
    let cells: Vec<(usize, usize)> = cells.collect();
    let plan = serde_json::json!({
        "fleet": FLEET, "study": "quick", "seed": 1, "binary": "0", "sessions": SESSIONS, "at_once": 1, "limit_s": 1,
        "nodes": (0..nodes).map(|node| serde_json::json!({ "name": name(node) })).collect::<Vec<_>>(),
        "cells": cells.iter().map(|(node, session)| serde_json::json!({ "node": name(*node), "session": session })).collect::<Vec<_>>(),
        "engine": { "on": "ssh", "toml": "" }, "command": "",
    });
    let failed = |e: std::io::Error| format!("cannot write the fleet: {e}");
    fs::write(folder.join("plan.json"), plan.to_string()).map_err(failed)?;
    for (number, (node, session)) in cells.into_iter().enumerate() {
        let of_node = folder.join("cells").join(name(node));
        fs::create_dir_all(&of_node).map_err(failed)?;
        let mut generator = Generator::for_part(node as u64, "node");
        let slower = (1.0 + APART * (generator.draw_unit() - 0.5)) * if node == 0 { SLOW } else { 1.0 };
        let record = of_node.join(format!("{session}.tare"));
        fs::write(&record, copy(&entries, slower, number, &name(node))).map_err(failed)?;
        let mut export = Command::new(tare);
        let columns = format!("parquet={}", of_node.join(format!("{session}.parquet")).display());
        let status =
            export.args(["report", "--export", &columns]).arg(&record).stdout(Stdio::null()).status();
        if !status.map_err(failed)?.success() {
            return Err(format!("{}: its columns were not written", record.display()));
        }
        interrupt::check_interrupted()?;
    }
    Ok(())
}

/// Builds the record of another session, on a node that is slower by a factor.
fn copy(entries: &[Entry], slower: f64, number: usize, node: &str) -> String {
    let mut text = String::new();
    for entry in entries {
        let mut entry = entry.clone();
        match &mut entry {
            Entry::Record { header, .. } => {
                if let Some(identity) = &mut header.identity {
                    identity.session = format!("{number:032x}");
                }
                let (id, node, plan) = (FLEET.into(), node.to_owned(), String::new());
                header.fleet = Some(FleetCell { id, node, session: (number % SESSIONS) as u32 + 1, plan });
            }
            Entry::Batch { batch, .. } => slow_down(batch, slower),
            Entry::Pair(pair) => {
                let batches = pair.sides.iter_mut().flat_map(|side| &mut side.batches);
                batches.for_each(|batch| slow_down(batch, slower));
            }
            _ => {}
        }
        text.push_str(&to_line(&entry));
    }
    text
}

/// Makes what is timed again and again slower by a factor.
fn slow_down(batch: &mut Batch, slower: f64) {
    let slow = |ns: &mut u64| *ns = (*ns as f64 * slower) as u64;
    match &mut batch.sample {
        _ if batch.phase != Phase::Warm => {}
        Sample::Throughput { elapsed_ns, .. } | Sample::Latency { elapsed_ns, .. } => slow(elapsed_ns),
        Sample::Stretches { elapsed_ns, .. } => elapsed_ns.iter_mut().for_each(slow),
        Sample::Gauge { .. } => {}
    }
}

/// Resources and output of a command.
struct Watched {
    took_s: f64,
    /// Peak memory of the program itself.
    most_mb: f64,
    out: String,
}

/// Runs tare on the fleet's folder.
fn watch(tare: &Path, words: &[&str], folder: &Path) -> Result<Watched, String> {
    let failed = |e: std::io::Error| format!("tare {}: {e}", words[0]);
    let out = folder.join("printed.txt");
    let file = fs::File::create(&out).map_err(failed)?;
    let begun = Instant::now();
    let mut child = Command::new(tare).args(words).arg(folder).stdout(file).spawn().map_err(failed)?;
    let status = format!("/proc/{}/status", child.id());
    let mut most_kb = 0.0_f64;
    let ended = loop {
        if let Some(ended) = child.try_wait().map_err(failed)? {
            break ended;
        }
        let text = fs::read_to_string(&status).unwrap_or_default();
        let line = text.lines().find_map(|line| line.strip_prefix("VmHWM:"));
        let kb = line.and_then(|line| line.split_whitespace().next()?.parse().ok());
        most_kb = most_kb.max(kb.unwrap_or(0.0));
        sleep(LOOK_EVERY);
    };
    let took_s = begun.elapsed().as_secs_f64();
    if !ended.success() {
        return Err(format!("tare {}: {ended}", words.join(" ")));
    }
    let out = fs::read_to_string(&out).map_err(failed)?;
    Ok(Watched { took_s, most_mb: most_kb / 1e3, out })
}
