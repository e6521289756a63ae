//! Validation: costs of known size, judged by tare, and by the usual practice with the figures of one environment after the
//! other.

use std::collections::BTreeMap;
use std::io::Write;

use serde_json::Value;

use tare_analysis::statistics::binomial::share_interval;
use tare_data::batch::{Batch, Phase};
use tare_data::generator::Generator;
use tare_data::names::Case;

use crate::agent::{Agent, Workspace, make_case};
use crate::document::{Document, Lines, document_path, format_table_line};
use crate::machine;
use crate::session;
use crate::setting::Setting;

/// Costs that are put in, as shares. At 0 there is nothing to find.
const COSTS: [f64; 3] = [0.0, 0.02, 0.05];
/// Probes that are measured, and the one case of each that a session takes: a probe of each kind of work that
/// `quick` has.
const PROBES: [(&str, &str); 6] = [
    ("sys.getppid", "sys.getppid"),
    ("cpu.primes", "cpu.primes?*threads=1*"),
    ("proc.spawn", "proc.spawn"),
    ("ipc.pipe", "ipc.pipe"),
    ("file.sync", "file.sync"),
    ("net.rr", "net.rr?*protocol=tcp*"),
];
/// Runs of a side, one after the other, as hyperfine makes them by itself.
const RUNS: usize = 10;
/// Seconds of all runs of a side, and of a session of tare besides its reserve for preparing and leaving.
const SIDE_S: f64 = 2.0;
const BUDGET_S: u32 = 10;
/// Difference of two means that people take for real, and criterion for noise: tare's margin, too.
const THRESHOLD: f64 = 0.01;
/// Resamples of the bootstrap.
const RESAMPLES: usize = 2_000;

/// Answer about the second side.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Answer {
    Slower,
    Faster,
    Nothing,
}

/// A way of judging, and how often it was wrong.
#[derive(Clone, Debug, Default)]
struct Score {
    /// By cost in the order of [`COSTS`]: wrong answers, and all.
    wrong: [(u64, u64); COSTS.len()],
}

/// The ways of judging, in the order of the table.
const WAYS: [(&str, &str); 5] = [
    ("tare", "`tare run`: random order, fresh processes, verdict by interval"),
    ("hyperfine", "ten runs a side; the ranges mean ± σ do not overlap"),
    ("sysbench", "one mean a side; they differ by more than 1 %"),
    ("UnixBench", "mean of three runs a side; they differ by more than 1 %"),
    ("criterion", "bootstrap of the change of means: 95 % interval beyond ±1 %"),
];

/// Measures every probe with every cost in turn, and keeps the table; true when it was written.
pub fn run_validation(setting: &Setting) -> Result<bool, String> {
    let workspace = Workspace::from_setting(setting)?;
    let mut scores: BTreeMap<&str, Score> = BTreeMap::new();
    let mut order = Generator::new(setting.seed);
    for round in 0..setting.rounds() {
        let costs = |probe| (0..COSTS.len()).map(move |cost| (probe, cost));
        let mut pairs: Vec<((&str, &str), usize)> = PROBES.into_iter().flat_map(costs).collect();
        order.shuffle(&mut pairs);
        for (probe, cost) in pairs {
            crate::interrupt::check_interrupted()?;
            let answers = judged(setting, &workspace, probe, COSTS[cost], order.next_u64())?;
            for ((way, _), answer) in WAYS.iter().zip(answers) {
                let right = if COSTS[cost] > 0.0 { Answer::Slower } else { Answer::Nothing };
                let (wrong, all) = &mut scores.entry(way).or_default().wrong[cost];
                (*wrong, *all) = (*wrong + u64::from(answer != right), *all + 1);
            }
            println!("round {}, {}, +{} %: {answers:?}", round + 1, probe.0, COSTS[cost] * 100.0);
            std::io::stdout().flush().map_err(|e| e.to_string())?;
        }
    }
    let rows: BTreeMap<String, Lines> =
        WAYS.iter().map(|(way, how)| row(way, how, &scores.remove(way).unwrap_or_default())).collect();
    rows.values().for_each(|row| println!("{row:?}"));
    if !setting.quick {
        document(setting, &workspace.start_agent(setting.seed)?).write_rows(&rows)?;
    }
    Ok(true)
}

fn row(way: &str, how: &str, score: &Score) -> (String, Lines) {
    let cell = |(wrong, all): (u64, u64)| {
        let (low, high) = share_interval(all, wrong);
        format!("{wrong} of {all} [{:.0}, {:.0} %]", low * 100.0, high * 100.0)
    };
    let [none, two, five] = score.wrong.map(cell);
    let name = format!("`{way}`");
    (way.to_owned(), Lines::Measured(vec![format_table_line([name.as_str(), how, &none, &two, &five])]))
}

fn document(setting: &Setting, agent: &Agent) -> Document {
    Document {
        path: document_path(&setting.docs, "validation.md"),
        head: format!(
            "# Validation\nWritten by `./bench/validation`. An environment is compared with itself, slower on purpose by 0, 2 and 5 %\n\
             (`slower=` of every environment): {}, in random order.\nEach comparison is made twice: by `tare run --margin 1%` in {BUDGET_S} s, and \
             by hand, {RUNS} runs of {:.1} s on one side and then on the\nother, whose figures are judged as people judge \
             them. At 0 % whatever is found is false; at 2 and 5 % whatever else than\nslower is a miss. [ ] = 95 % interval \
             (Clopper and Pearson).\n",
            PROBES.map(|(probe, _)| probe).join(", "),
            SIDE_S / RUNS as f64,
        ),
        machine: machine::describe_machine(agent),
        tools: "none: the ways of judging are applied to tare's own trials".into(),
        columns: "| way | how | false at 0 % | missed at 2 % | missed at 5 % |\n|---|---|---|---|---|".into(),
        order: WAYS.iter().map(|(way, _)| (*way).to_owned()).collect(),
    }
}

/// Collects the answers of every method about a probe that is slower by this share on its second side.
fn judged(
    setting: &Setting,
    workspace: &Workspace,
    (probe, pattern): (&str, &str),
    cost: f64,
    seed: u64,
) -> Result<[Answer; WAYS.len()], String> {
    let case = make_case(probe, &[])?;
    let first = side(workspace, &case, 0.0, seed)?;
    let second = side(workspace, &case, cost, seed)?;
    let means = |side: &Side, runs: usize| mean(&side.runs[..runs.min(side.runs.len())]);
    Ok([
        said_by_tare(setting, pattern, cost, seed)?,
        ranges(&first.runs, &second.runs),
        differ(means(&first, RUNS), means(&second, RUNS)),
        differ(means(&first, 3), means(&second, 3)),
        bootstrap(&first.batches, &second.batches, seed),
    ])
}

/// Measurements of one side, in nanoseconds an operation.
struct Side {
    runs: Vec<f64>,
    batches: Vec<f64>,
}

/// Runs one side, each run in a fresh process, in one agent.
fn side(workspace: &Workspace, case: &Case, slower: f64, seed: u64) -> Result<Side, String> {
    let mut agent = workspace.start_agent(seed)?;
    agent.slower = slower;
    let amount = agent.for_seconds(case, SIDE_S / RUNS as f64)?;
    let headline = tare_probes::find_probe(&case.probe).map_or("", |probe| probe.metrics[0].series);
    let mut side = Side { runs: Vec::new(), batches: Vec::new() };
    for _ in 0..RUNS {
        let batches = agent.run_trial(case, amount)?.trial.batches.to_vec();
        let of_headline = |batch: &&Batch| batch.series == headline && batch.phase == Phase::Warm;
        let ns: Vec<f64> = batches.iter().filter(of_headline).flat_map(operations_ns).collect();
        side.runs.push(mean(&ns));
        side.batches.extend(ns);
    }
    Ok(side)
}

/// Computes the time of an operation, of each timed batch.
fn operations_ns(batch: &Batch) -> impl Iterator<Item = f64> + '_ {
    let timed = batch.sample.iter_timed().filter(|timed| timed.operations > 0);
    timed.map(|timed| timed.elapsed_ns as f64 / timed.operations as f64)
}

fn mean(values: &[f64]) -> f64 {
    values.iter().sum::<f64>() / values.len().max(1) as f64
}

/// Compares two means, which differ by more than the threshold or not.
fn differ(first: f64, second: f64) -> Answer {
    match second / first - 1.0 {
        change if change > THRESHOLD => Answer::Slower,
        change if change < -THRESHOLD => Answer::Faster,
        _ => Answer::Nothing,
    }
}

/// Compares two ranges of a mean and a standard deviation, which overlap or not.
fn ranges(first: &[f64], second: &[f64]) -> Answer {
    let deviation = |values: &[f64]| {
        let middle = mean(values);
        let squares: f64 = values.iter().map(|value| (value - middle).powi(2)).sum();
        (squares / (values.len().max(2) - 1) as f64).sqrt()
    };
    let apart = mean(second) - mean(first);
    match deviation(first) + deviation(second) {
        both if apart > both => Answer::Slower,
        both if -apart > both => Answer::Faster,
        _ => Answer::Nothing,
    }
}

/// Compares the 95 % interval of the change of means by bootstrap with the threshold.
fn bootstrap(first: &[f64], second: &[f64], seed: u64) -> Answer {
    let mut generator = Generator::new(seed);
    let mut resampled = |values: &[f64]| {
        let drawn: Vec<f64> =
            values.iter().map(|_| values[generator.draw_below(values.len() as u64) as usize]).collect();
        mean(&drawn)
    };
    let mut changes: Vec<f64> = (0..RESAMPLES).map(|_| resampled(second) / resampled(first) - 1.0).collect();
    changes.sort_by(f64::total_cmp);
    let (low, high) = (changes[RESAMPLES / 40], changes[RESAMPLES - 1 - RESAMPLES / 40]);
    match (low > THRESHOLD, high < -THRESHOLD) {
        (true, _) => Answer::Slower,
        (_, true) => Answer::Faster,
        _ => Answer::Nothing,
    }
}

/// Asks a session of tare.
fn said_by_tare(setting: &Setting, pattern: &str, cost: f64, seed: u64) -> Result<Answer, String> {
    let slower = format!("native?slower={}%", cost * 100.0);
    let budget = format!("{BUDGET_S}s");
    let margin = format!("{}%", THRESHOLD * 100.0);
    let words =
        ["--in", &slower, "--only", pattern, "--budget", &budget, "--margin", &margin].map(str::to_owned);
    let document = session::run_session(setting, "quick", &words, seed)
        .map_err(|reason| format!("{pattern}: {reason}"))?;
    verdict(&document).ok_or_else(|| format!("{pattern}: there is no comparison: {}", document["failures"]))
}

/// Reads the answer of the first headline row.
fn verdict(document: &Value) -> Option<Answer> {
    let row = document["rows"].as_array()?.iter().find(|row| row["headline"] == true)?;
    Some(match row["cells"].get(0)?["answer"].as_str()? {
        "slower" | "at_least" => Answer::Slower,
        "faster" => Answer::Faster,
        _ => Answer::Nothing,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ways_judge_as_they_are_described() {
        let around = |middle: f64| (0..10).map(|i| middle + f64::from(i % 3)).collect::<Vec<f64>>();
        assert_eq!(ranges(&around(100.0), &around(110.0)), Answer::Slower);
        assert_eq!(ranges(&around(100.0), &around(101.0)), Answer::Nothing);
        assert_eq!(ranges(&around(110.0), &around(100.0)), Answer::Faster);
        assert_eq!([differ(100.0, 101.5), differ(100.0, 100.5)], [Answer::Slower, Answer::Nothing]);
        assert_eq!(bootstrap(&around(100.0), &around(110.0), 1), Answer::Slower);
        assert_eq!(bootstrap(&around(100.0), &around(100.5), 1), Answer::Nothing);
    }

    #[test]
    fn an_answer_that_is_not_sure_finds_nothing() {
        let said = |answer: &str| {
            let row = serde_json::json!({ "headline": true, "cells": [{ "answer": answer }] });
            super::verdict(&serde_json::json!({ "rows": [row] })).unwrap()
        };
        assert_eq!([said("not_sure"), said("at_most"), said("same")], [Answer::Nothing; 3]);
        assert_eq!(said("slower"), Answer::Slower);
    }
}
