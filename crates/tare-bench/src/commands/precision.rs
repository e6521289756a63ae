//! Precision: the time that two builds of tare take to know a ratio equally well, session by session in turn.
//!
//! An interval narrows with the square root of the time, so that any width is reached after a time in proportion to width²
//! x seconds spent, and that product is compared. Each build's figures are read as that build reads them; the interval over
//! the rounds is Wilcoxon's for both, which asks nothing of either build's rules of stopping.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use serde_json::Value;
use tare_analysis::statistics::signed_ranks::{
    Null, compute_hodges_lehmann_interval, compute_median, sort_values,
};
use tare_data::generator::Generator;

use crate::agent::Workspace;
use crate::document::{Document, Lines, document_path, format_table_line};
use crate::machine;
use crate::ratio::Ratio;
use crate::setting::Setting;

/// Miss rate of the intervals whose widths are compared, and the fewest rounds of a case that have one.
const MISSED: f64 = 0.05;
const FEWEST: usize = 8;
/// Name of the row over all cases.
const ALL: &str = "all, geometric mean";

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

/// Runs sessions of both builds in turn, and keeps the table; true when it was written.
pub fn run_precision(request: &Request) -> Result<bool, String> {
    let setting = &request.setting;
    let builds = [setting.find_binary()?, request.against.canonicalize().map_err(|e| e.to_string())?];
    let mut order = Generator::new(setting.seed);
    let mut rounds: Vec<[Costs; 2]> = Vec::new();
    for round in 0..setting.rounds() {
        let mut both: [Costs; 2] = Default::default();
        let mut turns = [0, 1];
        order.shuffle(&mut turns);
        for build in turns {
            crate::interrupt::check_interrupted()?;
            both[build] = session(&builds[build], request)?;
        }
        let shared = both[0].keys().filter(|case| both[1].contains_key(*case)).count();
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
fn overall([first, second]: &[Costs; 2]) -> Option<f64> {
    let logs: Vec<f64> = first
        .iter()
        .filter_map(|(case, cost)| second.get(case).map(|other| libm::log(cost / other)))
        .collect();
    (!logs.is_empty()).then(|| libm::exp(logs.iter().sum::<f64>() / logs.len() as f64))
}

/// Builds a row for each case that both builds measured in every round, and one for all.
fn rows(rounds: &[[Costs; 2]]) -> BTreeMap<String, Lines> {
    let names = rounds.first().into_iter().flat_map(|[first, _]| first.keys());
    let of_case = |case: &String| -> Option<(String, Lines)> {
        let pairs: Option<Vec<(f64, f64)>> =
            rounds.iter().map(|[first, second]| Some((*first.get(case)?, *second.get(case)?))).collect();
        row(&format!("`{case}`"), &pairs?)
    };
    let mut rows: BTreeMap<String, Lines> = names.filter_map(of_case).collect();
    let all: Option<Vec<(f64, f64)>> = rounds.iter().map(|both| Some((overall(both)?, 1.0))).collect();
    rows.extend(all.and_then(|pairs| row(ALL, &pairs)));
    rows
}

fn row(name: &str, pairs: &[(f64, f64)]) -> Option<(String, Lines)> {
    let ratio = Ratio::from_rounds(pairs)?;
    let figure = format!("{:.2} [{:.2}, {:.2}]", ratio.estimate, ratio.low, ratio.high);
    Some((name.to_owned(), Lines::Measured(vec![format_table_line([name, &figure])])))
}

/// Runs one session of a build, in a folder that is removed.
fn session(tare: &Path, request: &Request) -> Result<Costs, String> {
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
    if !output.status.success() {
        return Err(format!("{}: {}", tare.display(), String::from_utf8_lossy(&output.stderr).trim()));
    }
    let file = File::open(&record).map_err(|e| format!("{}: {e}", record.display()))?;
    let entries = BufReader::new(file).lines().map_while(Result::ok).filter_map(|line| {
        // A line is its checksum, a blank and its entry.
        serde_json::from_str(line.split_once(' ')?.1).ok()
    });
    Ok(costs(entries))
}

/// A trial of a record: its measurement, and the time until the next one began.
#[derive(Default)]
struct Trial {
    case: String,
    environment: String,
    round: u64,
    began_ns: f64,
    took_ns: f64,
    /// Nanoseconds and operations of its timed batches.
    batches: Vec<[f64; 2]>,
    /// True for the first version, which took the mean of all batches.
    is_mean: bool,
}

impl Trial {
    /// Reads the nanoseconds of an operation as the trial's build of tare does.
    fn figure(&self) -> Option<f64> {
        let each = |batches: &[[f64; 2]]| -> Vec<f64> { batches.iter().map(|[ns, of]| ns / of).collect() };
        match self.batches.len() {
            0 => None,
            _ if self.is_mean => {
                let sum = |at: usize| self.batches.iter().map(|batch| batch[at]).sum::<f64>();
                Some(sum(0) / sum(1))
            }
            1 | 2 => Some(compute_median(&sort_values(&each(&self.batches)))),
            _ => Some(compute_median(&sort_values(&each(&self.batches[1..])))),
        }
    }
}

/// Computes the cost of each case of a session: the width of its ratio's interval squared, times the seconds
/// spent on it.
fn costs(entries: impl Iterator<Item = Value>) -> Costs {
    let (series, trials) = trials(entries);
    let mut cases: BTreeMap<&str, Vec<&Trial>> = BTreeMap::new();
    for trial in trials.iter().filter(|trial| series.contains_key(&trial.case)) {
        cases.entry(&trial.case).or_default().push(trial);
    }
    cases.iter().filter_map(|(case, trials)| Some(((*case).to_owned(), cost(trials)?))).collect()
}

fn cost(trials: &[&Trial]) -> Option<f64> {
    let figures = |environment: &str| -> BTreeMap<u64, f64> {
        let of = |trial: &&&Trial| trial.environment == environment;
        // A round that was repeated counts as it was measured last.
        let figure = |trial: &&Trial| Some((trial.round, libm::log(trial.figure()?)));
        trials.iter().filter(of).filter_map(figure).collect()
    };
    let (native, container) = (figures("native"), figures("container"));
    let paired: Vec<f64> =
        native.iter().filter_map(|(round, figure)| Some(container.get(round)? - figure)).collect();
    if paired.len() < FEWEST {
        return None;
    }
    let width = 2.0
        * compute_hodges_lehmann_interval(&sort_values(&paired), &Null::new(paired.len()), MISSED)
            .half_width();
    let cost = width * width * trials.iter().map(|trial| trial.took_ns).sum::<f64>() / 1e9;
    (cost > 0.0 && cost.is_finite()).then_some(cost)
}

/// Extracts the series of each case's first metric, and all trials, from a record of either build.
fn trials(entries: impl Iterator<Item = Value>) -> (BTreeMap<String, String>, Vec<Trial>) {
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let (mut series, mut trials) = (BTreeMap::new(), Vec::<Trial>::new());
    for entry in entries {
        for case in entry["plan"]["cases"].as_array().into_iter().flatten() {
            series.insert(text(&case["id"]), text(&case["metrics"][0]["series"]));
        }
        if let Some(begin) = entry.get("begin") {
            let began_ns = begin["started_ns"].as_f64().unwrap_or_default();
            if let Some(last) = trials.last_mut() {
                last.took_ns = began_ns - last.began_ns;
            }
            // The first version's records call an environment a lane.
            let lane = begin.get("lane");
            let environment = lane.unwrap_or(&begin["environment"]);
            trials.push(Trial {
                case: text(&begin["case"]),
                environment: text(environment),
                round: begin["round"].as_u64().unwrap_or_default(),
                began_ns,
                is_mean: lane.is_some(),
                ..Default::default()
            });
        }
        let (batch, Some(trial)) = (&entry["batch"]["batch"], trials.last_mut()) else { continue };
        if batch["phase"] == "warm" && series.get(&trial.case).is_some_and(|name| batch["series"] == **name) {
            let kinds = ["throughput", "latency", "stretches"];
            let Some(sample) = kinds.iter().find_map(|kind| batch["sample"].get(kind)) else { continue };
            let operations = sample["operations"].as_f64().unwrap_or_default();
            let elapsed = match &sample["elapsed_ns"] {
                Value::Array(each) => each.iter().filter_map(Value::as_f64).collect(),
                one => Vec::from_iter(one.as_f64()),
            };
            let timed = elapsed.into_iter().filter(|elapsed| *elapsed > 0.0 && operations > 0.0);
            trial.batches.extend(timed.map(|elapsed| [elapsed, operations]));
        }
    }
    (series, trials)
}

fn document(request: &Request, machine: String, order: Vec<String>) -> Document {
    Document {
        path: document_path(&request.setting.docs, "precision.md"),
        head: format!(
            "# Precision\nWritten by `./bench/precision`: sessions of this build and of an earlier one in turn, in random \
             order ({} of each,\n`tare run quick --in native,container --budget {}s`). A figure is the time until the interval of a \
             ratio is as narrow as one likes,\nas a share of the earlier build's: width of the interval squared, times the seconds \
             spent on the case. Half is twice as fast. A trial's\nfigure is what its build takes: the first version the mean of all \
             batches, later ones their median without the first. The interval is\nWilcoxon's for both. [ ] = 95 % interval over \
             sessions.\n",
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

    /// Builds a session of two environments whose rounds are this many ns apart from 100 in the container, a
    /// trial every ms.
    fn entries(key: &str, off: &[f64]) -> Vec<Value> {
        let case = json!({ "id": "a", "metrics": [{ "series": "call" }] });
        let mut entries = vec![json!({ "plan": { "cases": [case] } })];
        for (round, off) in off.iter().enumerate() {
            for (at, (environment, ns)) in
                [("native", 100.0), ("container", 100.0 + off)].into_iter().enumerate()
            {
                let started_ns = (2 * round + at) as f64 * 1e6;
                entries.push(json!({ "begin": { "case": "a", key: environment, "round": round, "started_ns": started_ns } }));
                for (phase, times) in [("cold", 9.0), ("warm", 1.0)] {
                    let sample =
                        json!({ "throughput": { "operations": 10, "elapsed_ns": ns * 10.0 * times } });
                    let batch = json!({ "series": "call", "phase": phase, "sample": sample });
                    entries.push(json!({ "batch": { "batch": batch } }));
                }
            }
        }
        entries
    }

    #[test]
    fn twice_the_spread_costs_four_times_the_time() {
        let off = [-2.0, -1.0, 0.0, 1.0, 2.0, 0.5, -0.5, 1.5, -1.5];
        let wide: Vec<f64> = off.iter().map(|off| off * 2.0).collect();
        let [narrow, wide] = [&off[..], &wide].map(|off| costs(entries("lane", off).into_iter()));
        assert!((wide["a"] / narrow["a"] - 4.0).abs() < 0.2, "{wide:?} {narrow:?}");
        assert!((overall(&[narrow, wide]).unwrap() - 0.25).abs() < 0.02);
    }

    #[test]
    fn a_trial_is_read_as_its_own_build_does() {
        let batches = vec![[90.0, 1.0], [10.0, 1.0], [20.0, 2.0], [120.0, 1.0]];
        let figure = |is_mean| Trial { batches: batches.clone(), is_mean, ..Default::default() }.figure();
        assert_eq!((figure(true), figure(false)), (Some(48.0), Some(10.0)));
        let is_mean = |key| trials(entries(key, &[0.0]).into_iter()).1[0].is_mean;
        assert!(is_mean("lane") && !is_mean("environment"));
    }

    #[test]
    fn too_few_rounds_and_no_spread_say_nothing() {
        assert!(costs(entries("lane", &[1.0, -1.0]).into_iter()).is_empty());
        assert!(costs(entries("lane", &[0.0; 9]).into_iter()).is_empty());
    }
}
