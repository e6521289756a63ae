//! The JSON of github-action-benchmark's custom tools: one file of values for which smaller is better, one for bigger.

use serde::Serialize;
use tare_data::unit::Direction;

use super::export::{Export, Source, Writing, closed_interval};
use crate::language::Language;
use crate::number::{list_scales, ratio_interval};
use crate::text::clean_text;
use crate::text::json::render_json_line;
use crate::words;

pub static SMALLER: Export = Export {
    name: "github-benchmark-smaller",
    summary: "github-action-benchmark, tool customSmallerIsBetter: slowdowns, and values for which smaller is better",
    writing: Writing::Whole,
    render: |source| render(source, Direction::Lower),
};

pub static BIGGER: Export = Export {
    name: "github-benchmark-bigger",
    summary: "github-action-benchmark, tool customBiggerIsBetter: speeds, and values for which bigger is better",
    writing: Writing::Whole,
    render: |source| render(source, Direction::Higher),
};

/// An entry of the action's input.
#[derive(Serialize)]
struct Bench {
    name: String,
    unit: String,
    value: f64,
    #[serde(skip_serializing_if = "Option::is_none")]
    range: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    extra: Option<String>,
}

fn render(source: &Source, better: Direction) -> Vec<u8> {
    let mut benches = Vec::new();
    for row in source.findings.rows.iter().filter(|row| row.headline) {
        benches.extend(ratios(source, row, better));
        if row.metric.direction == better {
            benches.extend(source.list_levels(row).into_iter().map(|(target, level)| Bench {
                name: format!("{}: {}", clean_text(target), clean_text(&row.case)),
                unit: list_scales(row.metric.unit)[0].unit.to_owned(),
                value: level.median,
                range: Some(format!("{} to {}", level.low, level.high)),
                extra: Some(clean_text(&row.label)),
            }));
        }
    }
    benches.retain(|bench| bench.value.is_finite());
    render_json_line(&benches).into_bytes()
}

/// Lists every environment's slowdown, or its speed as the inverse of that: another machine or day changes them only if one side
/// changes more than the other. The action refuses a file without any value.
fn ratios<'a>(
    source: &'a Source,
    row: &'a tare_analysis::findings::Row,
    better: Direction,
) -> impl Iterator<Item = Bench> + 'a {
    source.findings.subjects.iter().zip(&row.cells).filter_map(move |(target, cell)| {
        let comparison = words::find_comparison(cell)?;
        let bounds = closed_interval(comparison);
        let (name, value, bounds) = match better {
            Direction::Lower => ("slowdown", comparison.ratio, bounds),
            Direction::Higher => {
                ("speed", 1.0 / comparison.ratio, bounds.map(|(low, high)| (1.0 / high, 1.0 / low)))
            }
        };
        Some(Bench {
            name: format!("{}: {name} of {}", clean_text(target), clean_text(&row.case)),
            unit: format!("x {}", clean_text(&source.findings.baseline)),
            value,
            range: bounds.map(|(low, high)| ratio_interval([low, high], value)),
            extra: Some(format!(
                "{}: {}",
                clean_text(&row.label),
                words::format_answer(comparison, Language::English)
            )),
        })
    })
}

#[cfg(test)]
mod tests {
    use serde_json::Value;

    use super::*;
    use crate::specimen;

    fn read(better: Direction) -> Vec<Value> {
        let (session, mut findings) = (specimen::make_session(2), specimen::make_findings(2));
        findings.rows[1].metric.direction = Direction::Higher;
        let bytes = render(&Source { session: &session, findings: &findings, gate: None }, better);
        serde_json::from_slice(&bytes).unwrap()
    }

    #[test]
    fn figures_go_where_their_direction_says_and_ratios_are_better_small() {
        let named = |all: &[Value], name: &str| all.iter().any(|bench| bench["name"] == name);
        let (smaller, bigger) = (read(Direction::Lower), read(Direction::Higher));
        assert!(
            named(&smaller, "gvisor: slowdown of proc.spawn")
                && !named(&bigger, "gvisor: slowdown of proc.spawn")
        );
        assert!(named(&bigger, "gvisor: proc.spawn") && !named(&smaller, "gvisor: proc.spawn"));
        assert!(named(&smaller, "native: sys.getppid"));
        let cost = smaller.iter().find(|bench| bench["name"] == "gvisor: slowdown of sys.getppid").unwrap();
        assert_eq!((&cost["value"], &cost["unit"]), (&24.13.into(), &"x native".into()));
        assert_eq!(cost["range"], "[23.9, 24.4]");
        let speed = bigger.iter().find(|bench| bench["name"] == "gvisor: speed of sys.getppid").unwrap();
        assert!((speed["value"].as_f64().unwrap() * 24.13 - 1.0).abs() < 1e-9, "{speed}");
        assert_eq!(speed["range"], "[0.041, 0.042]");
    }
}
