//! Precision: the time that two builds of tare take to know a ratio equally well, session by session in turn.
//!
//! An interval narrows with the square root of the time, so that any width is reached after a time in proportion to width²
//! x seconds spent, and that product is compared. Intervals are those that tare reports; seconds contain starts, calibration
//! and all else between two trials.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use serde_json::Value;
use tare_data::generator::Generator;

use crate::agent::Workspace;
use crate::document::{Document, Lines, document_path, format_table_line};
use crate::machine;
use crate::ratio::Ratio;
use crate::session::is_answer;
use crate::setting::Setting;

/// Name of the row over all cases.
const ALL: &str = "all, geometric mean";
/// Name of the row with the times of sessions.
const SESSIONS: &str = "seconds of a session for each of its trials";

/// Settings of the comparison.
#[derive(Clone, Debug, clap::Args)]
pub struct Request {
    /// The other build's binary.
    #[arg(long, value_name = "FILE")]
    against: PathBuf,
    /// Time of a session.
    #[arg(long, value_name = "S", default_value_t = 60)]
    budget: u32,
    #[command(flatten)]
    setting: Setting,
}

/// Time to a width, up to a constant, by case.
type Costs = BTreeMap<String, f64>;

/// A session: its costs, how long it took, and how much of that was trials, in seconds.
#[derive(Clone, Debug, Default)]
struct Spent {
    costs: Costs,
    session_s: f64,
    trials_s: f64,
}

/// Runs sessions of both builds in turn, and keeps the table; true when it was written.
pub fn run_precision(request: &Request) -> Result<bool, String> {
    let setting = &request.setting;
    let builds = [setting.find_binary()?, request.against.canonicalize().map_err(|e| e.to_string())?];
    let mut order = Generator::new(setting.seed);
    let mut rounds: Vec<[Spent; 2]> = Vec::new();
    for round in 0..setting.rounds() {
        let mut both: [Spent; 2] = Default::default();
        let mut turns = [0, 1];
        order.shuffle(&mut turns);
        for build in turns {
            crate::interrupt::check_interrupted()?;
            both[build] = session(&builds[build], request)?;
        }
        let shared = both[0].costs.keys().filter(|case| both[1].costs.contains_key(*case)).count();
        println!("round {}: {shared} cases in both; {:.3}", round + 1, overall(&both).unwrap_or(f64::NAN));
        std::io::stdout().flush().map_err(|e| e.to_string())?;
        rounds.push(both);
    }
    let rows = rows(&rounds);
    rows.values().for_each(|row| println!("{row:?}"));
    if !setting.quick {
        let agent = Workspace::from_setting(setting)?.start_agent(setting.seed)?;
        let document = document(request, machine::describe_machine(&agent), rows.keys().cloned().collect());
        document.write_rows(&rows)?;
    }
    Ok(true)
}

/// Computes the geometric mean of the ratios of the first build's costs to the second's, over the cases that
/// both have.
fn overall([first, second]: &[Spent; 2]) -> Option<f64> {
    let logs: Vec<f64> = first
        .costs
        .iter()
        .filter_map(|(case, cost)| second.costs.get(case).map(|other| libm::log(cost / other)))
        .collect();
    (!logs.is_empty()).then(|| libm::exp(logs.iter().sum::<f64>() / logs.len() as f64))
}

/// Builds a row for each case that both builds measured in every round, one for all, and one with the times of sessions.
fn rows(rounds: &[[Spent; 2]]) -> BTreeMap<String, Lines> {
    let names = rounds.first().into_iter().flat_map(|[first, _]| first.costs.keys());
    let of_case = |case: &String| -> Option<(String, Lines)> {
        let costs = |[first, second]: &[Spent; 2]| Some((*first.costs.get(case)?, *second.costs.get(case)?));
        let pairs: Option<Vec<(f64, f64)>> = rounds.iter().map(costs).collect();
        row(&format!("`{case}`"), &pairs?)
    };
    let mut rows: BTreeMap<String, Lines> = names.filter_map(of_case).collect();
    let all: Option<Vec<(f64, f64)>> = rounds.iter().map(|both| Some((overall(both)?, 1.0))).collect();
    rows.extend(all.and_then(|pairs| row(ALL, &pairs)));
    let mean = |build: usize| {
        let of = |part: fn(&Spent) -> f64| rounds.iter().map(|both| part(&both[build])).sum::<f64>();
        of(|spent| spent.session_s) / of(|spent| spent.trials_s).max(1e-9)
    };
    let sessions = format!("{:.2}, and {:.2} in the earlier build", mean(0), mean(1));
    let line = format_table_line([SESSIONS, &sessions]);
    rows.extend((!rounds.is_empty()).then(|| (SESSIONS.to_owned(), Lines::Measured(vec![line]))));
    rows
}

fn row(name: &str, pairs: &[(f64, f64)]) -> Option<(String, Lines)> {
    let ratio = Ratio::from_rounds(pairs)?;
    let figure = format!("{:.2} [{:.2}, {:.2}]", ratio.estimate, ratio.low, ratio.high);
    Some((name.to_owned(), Lines::Measured(vec![format_table_line([name, &figure])])))
}

/// Runs one session of a build, in a folder that is removed.
fn session(tare: &Path, request: &Request) -> Result<Spent, String> {
    let folder = tempfile::Builder::new().prefix("precision-").tempdir_in(&request.setting.scratch);
    let folder = folder.map_err(|e| e.to_string())?;
    let record = folder.path().join("session.tare");
    let budget = if request.setting.quick { 20 } else { request.budget };
    let output = Command::new(tare)
        .args(["run", "quick", "--in", "native,container", "--budget", &format!("{budget}s")])
        .arg("--scratch")
        .arg(folder.path())
        .arg("--record")
        .arg(&record)
        .current_dir(folder.path())
        .env("XDG_STATE_HOME", folder.path().join("state"))
        .stdin(Stdio::null())
        .output()
        .map_err(|e| format!("{}: {e}", tare.display()))?;
    if !is_answer(output.status) {
        return Err(format!("{}: {}", tare.display(), String::from_utf8_lossy(&output.stderr).trim()));
    }
    let report = Command::new(tare).arg("report").arg(&record).arg("--json").output();
    let report = report.map_err(|e| format!("tare report: {e}"))?;
    let report = serde_json::from_slice(&report.stdout).map_err(|e| format!("tare's document: {e}"))?;
    let file = File::open(&record).map_err(|e| format!("{}: {e}", record.display()))?;
    let entries = BufReader::new(file).lines().map_while(Result::ok).filter_map(|line| {
        // A line is its checksum, a blank and its entry.
        serde_json::from_str(line.split_once(' ')?.1).ok()
    });
    let entries: Vec<Value> = entries.collect();
    let trials_s = entries.iter().map(measure_trial).sum();
    let seconds = measure_seconds(entries.into_iter());
    Ok(Spent { costs: costs(&report, &seconds), session_s: seconds.values().sum(), trials_s })
}

/// Measures the seconds of an entry that is a trial or a pair, whose sides take the same time; none in any other.
fn measure_trial(entry: &Value) -> f64 {
    let elapsed_ns = |side: &Value| side["host_elapsed_ns"].as_f64().unwrap_or(0.0);
    let sides = entry["pair"]["sides"].as_array().into_iter().flatten();
    sides.map(elapsed_ns).fold(elapsed_ns(&entry["end"]), f64::max) / 1e9
}

/// Computes the cost of each case of a session: the width of its ratio's interval squared, times the seconds spent on it.
fn costs(report: &Value, seconds: &BTreeMap<String, f64>) -> Costs {
    let rows = report["rows"].as_array().into_iter().flatten().filter(|row| row["headline"] == true);
    let cost = |row: &Value| {
        let case = row["case"].as_str()?;
        let comparison = &row["cells"][0]["comparison"];
        // Before intervals had two levels they were of a comparison alone.
        let bound = |names: [&str; 2]| names.into_iter().find_map(|name| comparison[name].as_f64());
        let width = libm::log(bound(["high_alone", "high"])? / bound(["low_alone", "low"])?);
        let cost = width * width * seconds.get(case)?;
        (cost > 0.0 && cost.is_finite()).then(|| (case.to_owned(), cost))
    };
    rows.filter_map(cost).collect()
}

/// Measures the seconds that a session spent on each case: until the next trial or pair began, and an equal part of what came
/// before the first.
fn measure_seconds(entries: impl Iterator<Item = Value>) -> BTreeMap<String, f64> {
    let began = |entry: Value| {
        let trial = ["begin", "pair"].into_iter().find_map(|kind| entry.get(kind))?;
        Some((trial["case"].as_str()?.to_owned(), trial["started_ns"].as_f64()? / 1e9))
    };
    let began: Vec<(String, f64)> = entries.filter_map(began).collect();
    let mut seconds: BTreeMap<String, f64> = BTreeMap::new();
    for pair in began.windows(2) {
        *seconds.entry(pair[0].0.clone()).or_default() += pair[1].1 - pair[0].1;
    }
    let before_s = began.first().map_or(0.0, |(_, s)| *s) / seconds.len().max(1) as f64;
    seconds.values_mut().for_each(|s| *s += before_s);
    seconds
}

fn document(request: &Request, machine: String, order: Vec<String>) -> Document {
    Document {
        path: document_path(&request.setting.docs, "precision.md"),
        head: format!(
            "# Precision\nWritten by `./bench/precision`: sessions of this build and of an earlier one in turn, in random \
             order ({} of each,\n`tare run quick --in native,container --budget {}s`). A figure is the time until the interval of a \
             ratio is as narrow as one likes,\nas a share of the earlier build's: width of the interval that tare reports, squared, \
             times the seconds spent on the case, starts and\ncalibration included. Half is twice as fast. Each build \
             reports its own record. A row is a case with an interval\nin all of them; the mean is over the cases that have one in \
             both sessions of a round. [ ] = 95 % interval over sessions.\n",
            request.setting.rounds(),
            request.budget,
        ),
        machine,
        tools: "none: both are tare".into(),
        columns: "| case | time to the same width, this build over the earlier one |\n|---|---|".into(),
        order,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn report(high: f64) -> Value {
        let comparison = json!({ "low_alone": 1.0, "high_alone": high });
        json!({ "rows": [{ "case": "a", "headline": true, "cells": [{ "comparison": comparison }] }] })
    }

    #[test]
    fn an_interval_twice_as_wide_costs_four_times_the_time() {
        let seconds = BTreeMap::from([("a".to_owned(), 3.0)]);
        let spent = |high| Spent { costs: costs(&report(high), &seconds), ..Spent::default() };
        let [narrow, wide] = [1.1, 1.21].map(spent);
        assert!((wide.costs["a"] / narrow.costs["a"] - 4.0).abs() < 1e-9, "{wide:?} {narrow:?}");
        assert!((overall(&[narrow, wide]).unwrap() - 0.25).abs() < 1e-9);
        assert!(
            costs(&json!({ "rows": [{ "case": "a", "headline": true, "cells": [{}] }] }), &seconds)
                .is_empty()
        );
    }

    #[test]
    fn seconds_of_a_case_last_until_the_next_trial_of_any() {
        let entry = |kind: &str, case: &str, s: f64| json!({ kind: { "case": case, "started_ns": s * 1e9 } });
        let entries = [
            entry("begin", "a", 2.0),
            entry("pair", "b", 3.0),
            entry("begin", "a", 7.0),
            entry("pair", "b", 8.0),
        ];
        let seconds = measure_seconds(entries.into_iter());
        assert_eq!((seconds["a"], seconds["b"]), (3.0, 5.0), "with one of the two before the first");
        let pair = json!({ "pair": { "sides": [{ "host_elapsed_ns": 2e9 }, { "host_elapsed_ns": 2e9 }] } });
        let trials_s = [pair, json!({ "end": { "host_elapsed_ns": 1e9 } }), entry("begin", "a", 2.0)];
        assert_eq!(trials_s.iter().map(measure_trial).collect::<Vec<_>>(), [2.0, 1.0, 0.0]);
    }
}
