//! hyperfine: the JSON of `--export-json`. Times are seconds of whole commands.

use super::prelude::*;

pub static IMPORTER: Importer = Importer {
    name: "hyperfine",
    about: "JSON (`--export-json`)",
    end_mark: Some("the closing brace"),
    recognises: |text| json::speaks_of(text, &["\"results\"", "\"command\"", "\"median\""]),
    read: read_output,
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
    exit_codes: List<Option<i64>>,
    #[serde(default)]
    parameters: Object<serde_json::Value>,
}

fn read_output(text: &Text) -> Result<ToolOutput, Refusal> {
    let document: Document = json::read(text)?;
    let mut reading = ToolOutput::new("hyperfine");
    for outcome in document.results.0 {
        let mut figure = FigureBuilder::new(&outcome.command);
        for (key, value) in &outcome.parameters.0 {
            figure.note(key, value.as_str().unwrap_or_default());
        }
        if !outcome.exit_codes.0.is_empty() {
            figure.note("runs", &outcome.exit_codes.0.len().to_string());
        }
        let failed = outcome.exit_codes.0.iter().filter(|code| **code != Some(0)).count();
        if failed > 0 {
            figure.note("runs that failed", &failed.to_string());
        }
        figure.hold(Statistic::Mean, Some(outcome.mean), SECONDS);
        figure.hold(Statistic::StandardDeviation, outcome.stddev, SECONDS);
        figure.hold(Statistic::Minimum, Some(outcome.min), SECONDS);
        figure.hold(Statistic::Percentile(50.0), Some(outcome.median), SECONDS);
        figure.hold(Statistic::Maximum, Some(outcome.max), SECONDS);
        reading.push(text, figure)?;
        for (name, time) in [("user", outcome.user), ("system", outcome.system)] {
            let mut figure = FigureBuilder::new(&format!("{}: {name} time", outcome.command));
            figure.hold(Statistic::Mean, time, SECONDS);
            if !figure.is_empty() {
                reading.push(text, figure)?;
            }
        }
    }
    Ok(reading)
}
