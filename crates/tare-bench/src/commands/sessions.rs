//! Whole sessions on costs of known size: native against native, as it is, under a load, and slower on purpose.

use std::collections::BTreeMap;
use std::io::Write;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use serde_json::Value;
use tare_analysis::findings::{Kind, Why};
use tare_analysis::statistics::binomial::share_interval;
use tare_data::generator::Generator;

use crate::agent::Workspace;
use crate::document::{Document, Lines, document_path, format_table_line};
use crate::machine;
use crate::session;
use crate::setting::Setting;

/// Setting of a session: the planted cost, its time, and further words of `tare run`.
struct Trial {
    name: &'static str,
    /// Environment that is compared with native, where it is not native with the planted cost.
    layer: Option<&'static str>,
    cost: f64,
    budget_s: u32,
    /// A session of each of these alone; of all of `quick` where there is none.
    cases: &'static [&'static str],
    margin: Option<&'static str>,
    is_loaded: bool,
}

const PLAIN: Trial = Trial {
    name: "no cost",
    layer: None,
    cost: 0.0,
    budget_s: 60,
    cases: &[],
    margin: None,
    is_loaded: false,
};

/// A sandbox that has nothing to itself but a copy of the mounts.
const EMPTY_BWRAP: Option<&str> = Some("exec:bwrap --dev-bind / / --");

/// Cases of quick, one for a session.
const CASES: [&str; 16] = [
    "sys.getppid",
    "proc.spawn",
    "proc.exec",
    "cpu.primes",
    "ipc.pipe",
    "ipc.context",
    "mem.fault",
    "time.read",
    "file.seq?bs=4KiB*op=write*",
    "file.seq?bs=1MiB*op=write*",
    "file.seq?bs=4KiB*op=read*",
    "file.seq?bs=1MiB*op=read*",
    "file.sync",
    "file.meta",
    "net.rr",
    "null",
];

/// The rows of the table.
const TRIALS: [Trial; 7] = [
    PLAIN,
    Trial { name: "no cost, beside a load", is_loaded: true, ..PLAIN },
    Trial { name: "no cost, bwrap", layer: EMPTY_BWRAP, ..PLAIN },
    Trial { name: "no cost, bwrap, beside a load", layer: EMPTY_BWRAP, is_loaded: true, ..PLAIN },
    Trial { name: "5 %", cost: 0.05, cases: &CASES, ..PLAIN },
    Trial { name: "2 %, margin 1 %", cost: 0.02, budget_s: 30, cases: &CASES, margin: Some("1%"), ..PLAIN },
    Trial {
        name: "1 %, margin 0.5 %",
        cost: 0.01,
        budget_s: 600,
        cases: &["sys.getppid", "cpu.primes", "proc.spawn", "net.rr"],
        margin: Some("0.5%"),
        ..PLAIN
    },
];

/// The load: each processor computes, or rests, for up to this long at a time.
const LONGEST_LOAD: Duration = Duration::from_secs(6);

/// Settings of the bench.
#[derive(Clone, Debug, clap::Args)]
pub struct Request {
    /// Rows of this name, or else those whose names begin so.
    rows: Vec<String>,
    #[command(flatten)]
    setting: Setting,
}

/// Counts of cells in some sessions: those with a direction, some of which may be chance, and all.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Cells {
    directed: u64,
    of_chance: u64,
    all: u64,
}

/// Runs the sessions of the chosen rows, and keeps the table; true when it was written.
pub fn run_sessions(request: &Request) -> Result<bool, String> {
    let setting = &request.setting;
    let mut order = Generator::new(setting.seed);
    let mut rows = BTreeMap::new();
    let is_meant = |row: &String, name: &str| match TRIALS.iter().any(|trial| trial.name == row) {
        true => name == row,
        false => name.starts_with(row.as_str()),
    };
    let is_chosen =
        |trial: &&Trial| request.rows.is_empty() || request.rows.iter().any(|row| is_meant(row, trial.name));
    for trial in TRIALS.iter().filter(is_chosen) {
        let (mut cells, mut sessions, mut missed) = (Cells::default(), 0, BTreeMap::new());
        for round in 0..setting.rounds() {
            let alone = trial.cases.iter().map(|case| Some(*case));
            let cases: Vec<Option<&str>> = if trial.cases.is_empty() { vec![None] } else { alone.collect() };
            for case in cases {
                crate::interrupt::check_interrupted()?;
                let began = Instant::now();
                let found = beside_load(setting, trial, case, order.next_u64())?;
                if found.directed == found.of_chance && trial.cost > 0.0 {
                    *missed.entry(case.unwrap_or("quick")).or_insert(0) += 1;
                }
                println!(
                    "{}, round {}, {}: {} of {} with a direction, {} s",
                    trial.name,
                    round + 1,
                    case.unwrap_or("quick"),
                    found.directed,
                    found.all,
                    began.elapsed().as_secs()
                );
                std::io::stdout().flush().map_err(|e| e.to_string())?;
                sessions += 1;
                cells = cells.with(found);
            }
        }
        rows.insert(trial.name.to_owned(), row(trial, sessions, cells, &missed));
    }
    rows.values().for_each(|row| println!("{row:?}"));
    if !setting.quick {
        document(
            setting,
            machine::describe_machine(&Workspace::from_setting(setting)?.start_agent(setting.seed)?),
        )
        .write_rows(&rows)?;
    }
    Ok(true)
}

impl Cells {
    fn with(self, more: Cells) -> Cells {
        Cells {
            directed: self.directed + more.directed,
            of_chance: self.of_chance + more.of_chance,
            all: self.all + more.all,
        }
    }

    /// Collects the headline cells of a session's document that were compared. One without an answer is an error: nothing would be counted.
    fn of(document: &Value) -> Result<Cells, String> {
        let rows = document["rows"].as_array().ok_or("the document has no rows")?;
        let rows = rows.iter().filter(|row| row["headline"] == true);
        rows.map(|row| Cells::of_cell(&row["cells"][0]))
            .try_fold(Cells::default(), |all, cell| Ok(all.with(cell?)))
    }

    fn of_cell(cell: &Value) -> Result<Cells, String> {
        let unread = |e| format!("a cell of the document: {e}");
        let kind: Kind = serde_json::from_value(cell["answer"].clone()).map_err(unread)?;
        let why: Option<Why> = serde_json::from_value(cell["why"].clone()).map_err(unread)?;
        let is_clear = matches!(kind, Kind::Slower | Kind::AtLeast | Kind::Faster);
        // A direction that may be a state, or one of many cells, or that of a few starts.
        let of_chance = match why {
            Some(Why::Seen) => is_clear,
            Some(Why::Cells | Why::Starts) => true,
            _ => false,
        };
        let [directed, of_chance, all] =
            [is_clear || of_chance, of_chance, kind != Kind::None].map(u64::from);
        Ok(Cells { directed, of_chance, all })
    }
}

fn row(trial: &Trial, sessions: u64, cells: Cells, missed: &BTreeMap<&str, u64>) -> Lines {
    let (low, high) = share_interval(cells.all, cells.directed);
    let found = format!("{} of {} [{:.1}, {:.1} %]", cells.directed, cells.all, low * 100.0, high * 100.0);
    let missed: Vec<String> = missed.iter().map(|(case, times)| format!("`{case}` {times}x")).collect();
    Lines::Measured(vec![format_table_line([
        // As the document finds its rows again.
        format!("`{}`", trial.name).as_str(),
        &sessions.to_string(),
        &format!("{} s", trial.budget_s),
        &found,
        &cells.of_chance.to_string(),
        &if missed.is_empty() { "-".to_owned() } else { missed.join(", ") },
    ])])
}

fn document(setting: &Setting, machine: String) -> Document {
    Document {
        path: document_path(&setting.docs, "sessions.md"),
        head: "# Whole sessions\nWritten by `./bench/sessions`. A session compares native with native, slower on purpose by nothing, \
               5, 2 or 1 % (`slower=`),\nor with `bwrap --dev-bind / /`, which has nothing to itself but a copy of the mounts. Without a cost it is all of `quick`,\nand each cell with a direction is false. With one it is a \
               single case, and each session\nwithout a direction, or with one that may be chance, missed it. Beside the load, each processor\ncomputes and rests for up to six seconds at a time. [ ] = 95 % \
               interval (Clopper and Pearson).\n"
            .into(),
        machine,
        tools: "none".into(),
        columns: "| cost | sessions | at most | cells with a direction | of them may be chance | missed |\n|---|---:|---:|---|---:|---|"
            .into(),
        order: TRIALS.iter().map(|trial| trial.name.to_owned()).collect(),
    }
}

/// Runs a session, under load where there is to be one.
fn beside_load(setting: &Setting, trial: &Trial, case: Option<&str>, seed: u64) -> Result<Cells, String> {
    let is_over = AtomicBool::new(false);
    std::thread::scope(|scope| {
        let processors = std::thread::available_parallelism().map_or(1, usize::from);
        for processor in 0..if trial.is_loaded { processors } else { 0 } {
            let is_over = &is_over;
            scope.spawn(move || load(Generator::for_part(seed, &processor.to_string()), is_over));
        }
        let found = measured(setting, trial, case, seed);
        is_over.store(true, Ordering::Relaxed);
        found
    })
}

/// Computes and rests in turn.
fn load(mut moments: Generator, is_over: &AtomicBool) {
    let mut computes = false;
    while !is_over.load(Ordering::Relaxed) {
        let until = Instant::now() + LONGEST_LOAD.mul_f64(moments.draw_unit());
        while Instant::now() < until && !is_over.load(Ordering::Relaxed) {
            if !computes {
                std::thread::sleep(Duration::from_millis(5));
            }
        }
        computes = !computes;
    }
}

fn measured(setting: &Setting, trial: &Trial, case: Option<&str>, seed: u64) -> Result<Cells, String> {
    let budget_s = if setting.quick { 15 } else { trial.budget_s };
    let planted = || format!("native?slower={}%", trial.cost * 100.0);
    let mut words = vec!["--in".to_owned(), trial.layer.map_or_else(planted, str::to_owned)];
    words.extend(["--budget".to_owned(), format!("{budget_s}s")]);
    words.extend(case.into_iter().flat_map(|case| ["--only".to_owned(), case.to_owned()]));
    words.extend(trial.margin.into_iter().flat_map(|margin| ["--margin".to_owned(), margin.to_owned()]));
    let document = session::run_session(setting, "quick", &words, seed)?;
    Cells::of(&document)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn cells_with_a_direction_are_counted() {
        let row = |headline: bool, (answer, why): (&str, Option<&str>)| json!({ "headline": headline, "cells": [{ "answer": answer, "why": why }] });
        let answers = [
            ("slower", None),
            ("faster", Some("seen")),
            ("not_sure", Some("cells")),
            ("same", None),
            ("at_most", Some("rounds")),
            ("none", Some("not_measured")),
        ];
        let rows = answers.map(|answer| row(true, answer)).into_iter().chain([row(false, ("slower", None))]);
        let cells = Cells::of(&json!({ "rows": rows.collect::<Vec<_>>() })).unwrap();
        assert_eq!(cells, Cells { directed: 3, of_chance: 2, all: 5 });
        assert!(
            Cells::of(&json!({ "rows": [{ "headline": true, "cells": [{ "verdict": "slower" }] }] }))
                .is_err()
        );
        let missed = BTreeMap::from([("net.rr", 1)]);
        let Lines::Measured(lines) = row_of(&cells, &missed) else { unreachable!() };
        assert_eq!(lines, ["| `no cost` | 1 | 60 s | 3 of 5 [14.7, 94.7 %] | 2 | `net.rr` 1x |"]);
    }

    fn row_of(cells: &Cells, missed: &BTreeMap<&str, u64>) -> Lines {
        super::row(&PLAIN, 1, *cells, missed)
    }
}
