//! Alternation: ratios of trials that take turns beside those of trials that run alone, case by case, in one session.

use std::collections::BTreeMap;

use serde_json::Value;
use tare_analysis::statistics::normal::upper_tail_at;
use tare_data::names::Parameters;
use tare_data::session::Session;
use tare_probes::find_probe;
use tare_probes::probe::Alternates;

use crate::agent::Workspace;
use crate::document::{Document, Lines, document_path, format_table_line};
use crate::machine;
use crate::session;
use crate::setting::Setting;

/// Environments that are compared with native, each once in turns and once alone.
const SUBJECTS: [&str; 4] = ["container", "container?seccomp=100", "native?slower=2%", "native?slower=5%"];
/// Chance of calling a row unequal that is equal, over the whole table.
const ALPHA: f64 = 0.05;
/// Largest gain that is shown.
const MOST_GAIN: f64 = 100.0;

/// Settings of the bench.
#[derive(Clone, Debug, clap::Args)]
pub struct Request {
    /// Measure only these cases of `full`, as patterns.
    cases: Vec<String>,
    #[command(flatten)]
    setting: Setting,
}

/// Logarithm of a ratio, with its interval, and the seconds of the trials that it is from.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Estimate {
    value: f64,
    low: f64,
    high: f64,
    s: f64,
}

/// Seconds of trials by case and environment; those of the baseline are of trials that ran alone.
type Seconds = BTreeMap<(String, String), f64>;

/// Ratios of a case in one environment: in turns and alone.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Both {
    turns: Estimate,
    alone: Estimate,
}

/// Runs one long session, and keeps the table; true where all rows are equal.
pub fn run_alternation(request: &Request) -> Result<bool, String> {
    let setting = &request.setting;
    let subjects = SUBJECTS.map(|subject| format!("{subject},{}", without_turns(subject))).join(",");
    let rounds = setting.rounds().to_string();
    let folder = tempfile::Builder::new().prefix("alternation-").tempdir_in(&setting.scratch);
    let folder = folder.map_err(|e| e.to_string())?;
    let record = folder.path().join("session.tare");
    let mut words: Vec<String> = ["--in", &subjects, "--rounds", &rounds].map(str::to_owned).into();
    words.extend(["--record".to_owned(), record.display().to_string()]);
    if !request.cases.is_empty() {
        words.extend(["--only".into(), request.cases.join(",")]);
    }
    let found = session::run_session(setting, "full", &words, setting.seed)?;
    let recording = tare_record::read_session(&record).map_err(|e| e.to_string())?;
    let rows = collect_rows(&found, &add_up_seconds(&recording.session))?;
    let tests = rows.values().flatten().flatten().count();
    let lines: BTreeMap<String, Lines> =
        rows.iter().map(|(case, both)| (case.clone(), show_row(case, both, tests))).collect();
    for line in lines.values() {
        println!("{line:?}");
    }
    if !setting.quick {
        let machine =
            machine::describe_machine(&Workspace::from_setting(setting)?.start_agent(setting.seed)?);
        document(setting, machine, list_alone(&found)?, lines.keys().cloned().collect())
            .write_rows(&lines)?;
    }
    Ok(rows.values().flatten().flatten().all(|both| both.is_equal(tests)))
}

/// Makes the name of an environment with trials that run alone.
fn without_turns(subject: &str) -> String {
    format!("{subject}{}turns=no", if subject.contains('?') { '&' } else { '?' })
}

/// Adds up the trials of a session.
fn add_up_seconds(session: &Session) -> Seconds {
    let baseline = session.baseline().map(|baseline| baseline.name.clone());
    let mut seconds = Seconds::new();
    for trial in &session.trials {
        if trial.partner.is_none() || Some(&trial.target) != baseline.as_ref() {
            let of = seconds.entry((trial.case.clone(), trial.target.clone())).or_default();
            *of += trial.host_elapsed_ns as f64 / 1e9;
        }
    }
    seconds
}

/// Reads the cases of a session's headline rows that can take turns, each with its ratios in [`SUBJECTS`].
fn collect_rows(document: &Value, seconds: &Seconds) -> Result<BTreeMap<String, Vec<Option<Both>>>, String> {
    let baseline = document["baseline"].as_str().unwrap_or_default();
    let mut rows = BTreeMap::new();
    for row in headline_rows(document) {
        let id = row["case"].as_str().unwrap_or_default();
        if find_reason(id)?.is_some() {
            continue;
        }
        let of = |target: &str| seconds.get(&(id.to_owned(), target.to_owned())).copied().unwrap_or(0.0);
        let cell = |at: usize, more_s: f64| {
            let cell = &row["cells"][at];
            Estimate::from_comparison(&cell["comparison"], more_s + of(cell["environment"].as_str()?))
        };
        let both =
            |at: usize| Some(Both { turns: cell(2 * at, 0.0)?, alone: cell(2 * at + 1, of(baseline))? });
        rows.insert(id.to_owned(), (0..SUBJECTS.len()).map(both).collect());
    }
    Ok(rows)
}

/// Lists the cases of a session that run alone, with the reason.
fn list_alone(document: &Value) -> Result<String, String> {
    let mut lines = String::new();
    for id in headline_rows(document).filter_map(|row| row["case"].as_str()) {
        if let Some(reason) = find_reason(id)? {
            lines += &format!("- `{id}`: {reason}\n");
        }
    }
    Ok(lines)
}

fn headline_rows(document: &Value) -> impl Iterator<Item = &Value> {
    document["rows"].as_array().into_iter().flatten().filter(|row| row["headline"] == true)
}

/// Finds the reason why a case runs alone, if it does. `id` is `PROBE?KEY=VALUE&...@PLACE->PEER`.
fn find_reason(id: &str) -> Result<Option<&'static str>, String> {
    let work = id.split("->").next().and_then(|id| id.split('@').next()).unwrap_or(id);
    let (name, given) = work.split_once('?').unwrap_or((work, ""));
    let probe = find_probe(name).ok_or_else(|| format!("{id}: there is no such probe"))?;
    let mut parameters = Parameters::default();
    parameters
        .0
        .extend(given.split('&').filter_map(|one| one.split_once('=')).map(|(k, v)| (k.into(), v.into())));
    Ok(match (probe.alternates)(&parameters) {
        Alternates::Alone(reason) => Some(reason),
        Alternates::OneProcessor | Alternates::Anywhere => None,
    })
}

impl Estimate {
    /// Reads a comparison that has an interval.
    fn from_comparison(comparison: &Value, s: f64) -> Option<Estimate> {
        let [value, low, high] =
            ["slowdown", "low_alone", "high_alone"].map(|field| comparison[field].as_f64());
        Some(Estimate { value: value?.ln(), low: low?.ln(), high: high?.ln(), s })
    }

    fn show(&self) -> String {
        let [value, low, high] = [self.value, self.low, self.high].map(f64::exp);
        format!("{value:.3} [{low:.3}, {high:.3}]")
    }

    /// Computes the time to a width, up to a constant.
    fn cost(&self) -> f64 {
        (self.high - self.low).powi(2) * self.s
    }
}

impl Both {
    /// Tells whether the difference is one that chance makes among this many rows, by the arms of both intervals added as squares.
    fn is_equal(&self, tests: usize) -> bool {
        let difference = self.turns.value - self.alone.value;
        let arms = match difference > 0.0 {
            true => (self.turns.value - self.turns.low, self.alone.high - self.alone.value),
            false => (self.turns.high - self.turns.value, self.alone.value - self.alone.low),
        };
        let wider = upper_tail_at(ALPHA / 2.0 / tests.max(1) as f64) / upper_tail_at(ALPHA / 2.0);
        difference.abs() <= arms.0.hypot(arms.1) * wider
    }
}

/// Makes the line of a case.
fn show_row(case: &str, row: &[Option<Both>], tests: usize) -> Lines {
    let mut fields = vec![format!("`{case}`")];
    for both in row {
        fields.push(both.map_or("-".into(), |both| {
            let word = if both.is_equal(tests) { "" } else { " **differs**" };
            format!("{}, {}{word}", both.turns.show(), both.alone.show())
        }));
    }
    let logs: Vec<f64> =
        row.iter().flatten().map(|both| (both.alone.cost() / both.turns.cost()).ln()).collect();
    let gain = (logs.iter().sum::<f64>() / logs.len().max(1) as f64).exp();
    fields.push(match gain {
        _ if logs.is_empty() || !gain.is_finite() => "-".into(),
        // Beside turns that are next to exact, the ratio of squares says nothing.
        _ if gain > MOST_GAIN => format!("> {MOST_GAIN}"),
        _ => format!("{gain:.2}"),
    });
    let fields: Vec<&str> = fields.iter().map(String::as_str).collect();
    match row.iter().flatten().next() {
        Some(_) => Lines::Measured(vec![format_table_line(fields)]),
        None => Lines::Absent("no environment has an interval both ways".into()),
    }
}

fn document(setting: &Setting, machine: String, alone: String, cases: Vec<String>) -> Document {
    let columns: Vec<String> = SUBJECTS.iter().map(|subject| format!("`{subject}`")).collect();
    Document {
        path: document_path(&setting.docs, "alternation.md"),
        head: format!(
            "# Taking turns and running alone\nWritten by `./bench/alternation`: one session of `full`, in which each environment takes \
             part twice. In each cell stands the\nslowdown against native by trials that take turns, and then by trials that run alone, one \
             after the other (`turns=no`). [ ] = 95 %\ninterval. A row **differs** where the two are further apart than chance makes \
             any of all these cells (5 %, Bonferroni). *Gain* is the time\nthat trials alone take to an interval as narrow, over that of \
             turns: squared width times the seconds of the trials, in the\nmean of the environments.\n\n## Cases that always run alone\n{alone}"
        ),
        machine,
        tools: "none: both are tare".into(),
        columns: format!(
            "| case | {} | gain |\n|---|{}---:|",
            columns.join(" | "),
            "---|".repeat(columns.len())
        ),
        order: cases,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn document_of(case: &str, slowdowns: [f64; 8]) -> Value {
        let cell = |slowdown: f64| json!({ "environment": "a", "comparison": { "slowdown": slowdown, "low_alone": slowdown * 0.99, "high_alone": slowdown * 1.01 } });
        json!({ "baseline": "native", "rows": [{ "headline": true, "case": case, "cells": slowdowns.map(cell) }] })
    }

    #[test]
    fn ratios_in_turns_stand_beside_those_alone_and_differences_are_marked() {
        let document = document_of("sys.getppid", [1.0, 1.01, 1.5, 1.5, 1.02, 1.02, 1.05, 1.2]);
        let of = |target: &str, s| (("sys.getppid".to_owned(), target.to_owned()), s);
        let rows = collect_rows(&document, &[of("native", 4.0), of("a", 2.0)].into()).unwrap();
        let row = &rows["sys.getppid"];
        let equal: Vec<bool> = row.iter().flatten().map(|both| both.is_equal(4)).collect();
        assert_eq!(equal, [true, true, true, false]);
        let Lines::Measured(lines) = show_row("sys.getppid", row, 4) else { panic!("there are intervals") };
        assert!(lines[0].contains("| 1.000 [0.990, 1.010], 1.010 [1.000, 1.020] |"), "{lines:?}");
        let end = "1.200 [1.188, 1.212] **differs** | 3.00 |";
        assert!(lines[0].ends_with(end), "as wide in three times the time: {lines:?}");
    }

    #[test]
    fn what_is_always_alone_is_listed_with_its_reason() {
        let document = document_of("mem.latency?size=32MiB", [1.0; 8]);
        assert!(collect_rows(&document, &Seconds::new()).unwrap().is_empty());
        assert!(
            list_alone(&document)
                .unwrap()
                .starts_with("- `mem.latency?size=32MiB`: its working set is a cache")
        );
    }
}
