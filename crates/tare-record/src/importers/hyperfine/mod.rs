//! hyperfine: the JSON, CSV and Markdown that it exports, and its output. Times are of whole commands.

mod tables;
mod text;

use super::prelude::*;

pub static IMPORTER: Importer = Importer {
    name: "hyperfine",
    about: "JSON, CSV and Markdown (`--export-json`, ...), and what it prints",
    // A table may end after any of its commands.
    end_mark: None,
    recognises: |text| is_json(text) || tables::find_table_head(text).is_some() || text::is_report(text),
    read: |text| match tables::find_table_head(text) {
        _ if is_json(text) => read_json(text),
        Some(head) => tables::read_hyperfine_table(text, &head),
        None => text::read_hyperfine_text(text),
    },
};

fn is_json(text: &Text) -> bool {
    json::speaks_of(text, &["\"results\"", "\"command\"", "\"median\""])
}

#[derive(Deserialize)]
struct Document {
    results: List<BenchmarkResult>,
}

#[derive(Deserialize)]
struct BenchmarkResult {
    command: String,
    mean: f64,
    /// Null after a single run.
    stddev: Option<f64>,
    median: f64,
    user: Option<f64>,
    system: Option<f64>,
    min: f64,
    max: f64,
    #[serde(default)]
    times: List<f64>,
    #[serde(default)]
    exit_codes: List<Option<i64>>,
    #[serde(default)]
    parameters: Object<serde_json::Value>,
}

fn read_json(text: &Text) -> Result<ToolOutput, Refusal> {
    let document: Document = json::parse_json(text)?;
    let mut reading = ToolOutput::new("hyperfine");
    // Of a command that ran a thousand times, the summary has to do.
    let runs: usize = document.results.0.iter().map(|outcome| 3 + outcome.times.0.len()).sum();
    for outcome in document.results.0 {
        let mut figure = FigureBuilder::new(&outcome.command);
        for (key, value) in &outcome.parameters.0 {
            figure.add_parameter(key, value.as_str().unwrap_or_default());
        }
        if !outcome.exit_codes.0.is_empty() {
            figure.add_parameter("runs", &outcome.exit_codes.0.len().to_string());
        }
        let failed = outcome.exit_codes.0.iter().filter(|code| **code != Some(0)).count();
        if failed > 0 {
            figure.add_parameter("runs that failed", &failed.to_string());
        }
        figure.add_json_value(Statistic::Mean, Some(outcome.mean), SECONDS);
        figure.add_json_value(Statistic::StandardDeviation, outcome.stddev, SECONDS);
        figure.add_json_value(Statistic::Minimum, Some(outcome.min), SECONDS);
        figure.add_json_value(Statistic::Percentile(50.0), Some(outcome.median), SECONDS);
        figure.add_json_value(Statistic::Maximum, Some(outcome.max), SECONDS);
        reading.push(text, figure)?;
        for (name, time) in [("user", outcome.user), ("system", outcome.system)] {
            let mut figure = FigureBuilder::new(&format!("{}: {name} time", outcome.command));
            figure.add_json_value(Statistic::Mean, time, SECONDS);
            if !figure.is_empty() {
                reading.push(text, figure)?;
            }
        }
        for time in outcome.times.0.iter().filter(|_| runs <= MOST_FIGURES) {
            let mut figure = FigureBuilder::new(&format!("{}: a run", outcome.command));
            figure.add_json_value(Statistic::Elapsed, Some(*time), SECONDS);
            reading.push(text, figure)?;
        }
    }
    Ok(reading)
}
