//! hyperfine's JSON: each run of a command, and each round of another headline that is a time, as if it were a run.

use serde::Serialize;
use tare_analysis::findings::Level;
use tare_analysis::statistics::signed_ranks::{compute_median, sort_values};
use tare_analysis::statistics::spread::compute_spread;
use tare_analysis::verdicts::doubts::ends::{Run as MeasuredRun, list_runs};
use tare_data::unit::Unit;

use super::export::{Export, Source, Writing};
use crate::text::clean_text;
use crate::text::json::render_json_line;

pub static EXPORT: Export = Export {
    name: "hyperfine",
    summary: "hyperfine's JSON: each run of a command with its exit code; of other headlines that are times, each round",
    writing: Writing::Whole,
    render,
};

const NANOSECONDS_A_SECOND: f64 = 1e9;

#[derive(Serialize)]
struct Results {
    results: Vec<Run>,
}

/// A result of hyperfine's; times in seconds.
#[derive(Serialize)]
struct Run {
    command: String,
    mean: f64,
    /// Null for a single run, as in hyperfine's own output.
    stddev: Option<f64>,
    median: f64,
    /// Mean processor time of a command's runs. Null otherwise: a zero would be a value.
    user: Option<f64>,
    system: Option<f64>,
    min: f64,
    max: f64,
    times: Vec<f64>,
    /// Exit code of each run, as a shell states it. Zeros where trials of probes ended well.
    exit_codes: Vec<i32>,
    parameters: Parameters,
}

#[derive(Serialize)]
struct Parameters {
    #[serde(rename = "environment")]
    target: String,
    case: String,
}

fn render(source: &Source) -> Vec<u8> {
    let mut results = Vec::new();
    let times = |row: &&tare_analysis::findings::Row| row.headline && row.metric.unit == Unit::Nanoseconds;
    for row in source.findings.rows.iter().filter(times) {
        for (target, level) in source.list_levels(row) {
            let runs = list_runs(source.session, &row.case, target);
            let command = source.name_cell(row, target);
            let target = source.findings.commands_in.as_deref().unwrap_or(target);
            let parameters = Parameters { target: clean_text(target), case: clean_text(&row.case) };
            results.extend(match runs.as_slice() {
                [] => of_rounds(command, parameters, level),
                runs => of_runs(command, parameters, runs),
            });
        }
    }
    render_json_line(&Results { results }).into_bytes()
}

/// Converts the rounds of a level; `None` if its values are not finite, since hyperfine's readers accept only finite
/// numbers.
fn of_rounds(command: String, parameters: Parameters, level: &Level) -> Option<Run> {
    let ended_well = vec![0; level.values.len()];
    let run = make_run(command, parameters, &level.values, ended_well)?;
    level.median.is_finite().then(|| Run { median: level.median / NANOSECONDS_A_SECOND, ..run })
}

/// Converts the runs of a command.
fn of_runs(command: String, parameters: Parameters, runs: &[MeasuredRun]) -> Option<Run> {
    let times: Vec<f64> = runs.iter().map(|run| run.elapsed_ns).collect();
    let mean = |value: fn(&MeasuredRun) -> f64| {
        let values: Vec<f64> = runs.iter().map(value).collect();
        compute_spread(&values).map(|spread| spread.mean / NANOSECONDS_A_SECOND)
    };
    let ends = runs.iter().map(|run| run.end.shell_code()).collect();
    let run = make_run(command, parameters, &times, ends)?;
    Some(Run { user: mean(|run| run.user_ns), system: mean(|run| run.system_ns), ..run })
}

fn make_run(command: String, parameters: Parameters, times_ns: &[f64], exit_codes: Vec<i32>) -> Option<Run> {
    let spread = compute_spread(times_ns)?;
    let seconds = |ns: f64| ns / NANOSECONDS_A_SECOND;
    Some(Run {
        command,
        mean: seconds(spread.mean),
        stddev: spread.deviation.map(seconds),
        median: seconds(compute_median(&sort_values(times_ns))),
        user: None,
        system: None,
        min: seconds(spread.least),
        max: seconds(spread.most),
        times: times_ns.iter().copied().map(seconds).collect(),
        exit_codes,
        parameters,
    })
}

#[cfg(test)]
mod tests {
    use serde_json::Value;

    use super::*;
    use crate::specimen;

    #[test]
    fn times_are_in_seconds_and_rates_are_left_out() {
        let (session, mut findings) = (specimen::make_session(1), specimen::make_findings(1));
        findings.rows[1].metric.unit = Unit::PerSecond;
        let bytes = render(&Source { session: &session, findings: &findings, gate: None });
        let read: Value = serde_json::from_slice(&bytes).unwrap();
        let results = read["results"].as_array().unwrap();
        assert_eq!(results.len(), 6 * 3, "six times, in baseline, control and subject");
        assert_eq!(results[0]["command"], "system call in native");
        assert!((results[0]["median"].as_f64().unwrap() - 173.4e-9).abs() < 1e-15);
        assert_eq!(results[0]["times"].as_array().unwrap().len(), 18);
        assert_eq!(results[0]["user"], Value::Null);
    }

    #[test]
    fn a_command_that_is_a_side_is_named_alone_beside_its_environment() {
        let (session, mut findings) = (specimen::make_session(1), specimen::make_findings(1));
        (findings.baseline, findings.commands_in) = ("./old".into(), Some("gvisor".into()));
        let bytes = render(&Source { session: &session, findings: &findings, gate: None });
        let read: Value = serde_json::from_slice(&bytes).unwrap();
        assert_eq!(read["results"][0]["command"], "./old");
        assert_eq!(read["results"][0]["parameters"]["environment"], "gvisor");
    }
}
