//! Bencher Metric Format: values and slowdowns with their bounds, for `bencher run --adapter json`.

use serde_json::{Map, Value, json};
use tare_data::unit::Unit;

use super::export::{Export, Source, Writing, closed_interval};
use crate::text::clean_text;
use crate::text::json::render_json_line;
use crate::words;

pub static EXPORT: Export = Export {
    name: "bencher",
    summary: "Bencher Metric Format: headline values and slowdowns with their bounds",
    writing: Writing::Whole,
    render,
};

/// Longest name of a benchmark that Bencher takes.
const LONGEST_NAME: usize = 1024;

/// Writes a benchmark `environment/case` with the measure of its unit and, for subjects, the measure
/// `slowdown`.
fn render(source: &Source) -> Vec<u8> {
    let mut benchmarks: Map<String, Value> = Map::new();
    for row in source.findings.rows.iter().filter(|row| row.headline) {
        for (target, level) in source.list_levels(row) {
            let figure = metric(level.median, Some((level.low, level.high)));
            add(&mut benchmarks, target, &row.case, measure(row.metric.unit), figure);
        }
        for (target, cell) in source.findings.subjects.iter().zip(&row.cells) {
            if let Some(comparison) = words::find_comparison(cell) {
                let ratio = metric(comparison.ratio, closed_interval(comparison));
                add(&mut benchmarks, target, &row.case, "slowdown", ratio);
            }
        }
    }
    render_json_line(&benchmarks).into_bytes()
}

fn add(benchmarks: &mut Map<String, Value>, target: &str, case: &str, measure: &str, metric: Option<Value>) {
    let Some(metric) = metric else { return };
    let name: String =
        format!("{}/{}", clean_text(target), clean_text(case)).chars().take(LONGEST_NAME).collect();
    let measures = benchmarks.entry(name).or_insert_with(|| json!({}));
    measures[measure] = metric;
}

/// Builds a value with its bounds; a number that is not finite is left out.
fn metric(value: f64, bounds: Option<(f64, f64)>) -> Option<Value> {
    let mut metric = value.is_finite().then(|| json!({ "value": value }))?;
    if let Some((low, high)) = bounds.filter(|(low, high)| low.is_finite() && high.is_finite()) {
        metric["lower_value"] = json!(low);
        metric["upper_value"] = json!(high);
    }
    Some(metric)
}

/// Returns the slug of a measure; Bencher predefines the first two, in these units.
fn measure(unit: Unit) -> &'static str {
    match unit {
        Unit::Nanoseconds => "latency",
        Unit::PerSecond => "throughput",
        Unit::PerMinute => "operations-per-minute",
        Unit::BytesPerSecond => "bytes-per-second",
        Unit::BitsPerSecond => "bits-per-second",
        Unit::Bytes => "bytes",
        Unit::Mwips => "mwips",
        Unit::Percent => "percent",
        Unit::Count => "count",
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::specimen;

    #[test]
    fn a_target_has_its_figure_and_its_ratio_with_bounds() {
        let (session, findings) = (specimen::make_session(2), specimen::make_findings(2));
        let bytes = render(&Source { session: &session, findings: &findings, gate: None });
        let read: Value = serde_json::from_slice(&bytes).unwrap();
        let gvisor = &read["gvisor/sys.getppid"];
        assert_eq!(gvisor["slowdown"]["value"], 24.13);
        assert!(gvisor["slowdown"]["lower_value"].as_f64().unwrap() < 24.13);
        assert!(gvisor["latency"]["upper_value"].is_number());
        assert_eq!(read["native/sys.getppid"]["latency"]["value"], 173.4);
        assert_eq!(read["native/sys.getppid"].get("slowdown"), None);
        assert_eq!(read.get("gvisor/file.sync@own"), None, "what is missing is not a figure");
    }
}
