//! hyperfine: the JSON, CSV and Markdown that it exports, and its output. Times are of whole commands.

mod tables;
mod text;

use crate::prelude::*;

pub static IMPORTER: Importer = Importer {
    name: "hyperfine",
    about: "JSON, CSV and Markdown (`--export-json`, ...), and what it prints",
    // A table may end after any of its commands.
    end_mark: None,
    begins: |line, _| tables::is_table_head(line) || text::begins_report(line),
    read: |text| match tables::find_table_head(text) {
        Some(head) => tables::read_hyperfine_table(text, &head),
        None => text::read_hyperfine_text(text),
    },
    json: Some(Json { words: &["\"results\"", "\"command\"", "\"median\""], read: read_json }),
};

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
    times: Numbers<MOST_RUNS>,
    #[serde(default)]
    exit_codes: Numbers<0>,
    #[serde(default)]
    parameters: Object<serde_json::Value>,
}

/// Limit on the runs that are each a figure. For a command that ran more often, the summary has to do.
const MOST_RUNS: usize = 1000;

fn read_json(text: &Text) -> Result<ToolOutput, Refusal> {
    let document: Document = json::parse_json(text)?;
    let mut reading = ToolOutput::new("hyperfine");
    let runs: usize = document.results.0.iter().map(|outcome| outcome.times.count).sum();
    for outcome in document.results.0 {
        let mut figure = FigureBuilder::new(&outcome.command);
        for (key, value) in &outcome.parameters.0 {
            figure.add_parameter(key, value.as_str().unwrap_or_default());
        }
        let count = outcome.exit_codes.count.max(outcome.times.count);
        if count > 0 {
            figure.add_parameter("runs", &count.to_string());
        }
        let failed = outcome.exit_codes.count - outcome.exit_codes.zeros;
        if failed > 0 {
            figure.add_parameter("runs that failed", &failed.to_string());
        }
        let order =
            [outcome.min, outcome.mean, outcome.max].map(|time| Some(Span::exact(time).widened(1e-9)));
        if !is_ascending(&order) {
            let cause =
                format!("min, mean and max of '{}' are not in their order", shorten_text(&outcome.command));
            return Err(text.refuse_number(outcome.mean, cause));
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
        for time in outcome.times.first.iter().filter(|_| runs <= MOST_RUNS) {
            let mut figure = FigureBuilder::new(&format!("{}: a run", outcome.command));
            figure.add_json_value(Statistic::Elapsed, Some(*time), SECONDS);
            reading.push(text, figure)?;
        }
    }
    Ok(reading)
}
