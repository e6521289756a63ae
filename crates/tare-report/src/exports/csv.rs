//! The findings as CSV: one line for each cell, for spreadsheets and data frames.

use tare_analysis::findings::{Cell, Comparison, Findings, Interval, Kind, Level, Missing, Row, Why};
use tare_data::session::Session;

use super::export::{Export, Source, Writing};
use crate::text::csv::{escape_text, format_number, write_lines};
use crate::words;

pub(crate) static EXPORT: Export = Export {
    name: "csv",
    summary: "a line for each cell of the findings, for spreadsheets and data frames",
    writing: Writing::Whole,
    render: |Source { session, findings, .. }| render_csv(session, findings).into_bytes(),
};

const HEAD: [&str; 30] = [
    "study",
    "started",
    "case",
    "probe",
    "label",
    "place",
    "peer",
    "metric",
    "unit",
    "headline",
    "environment",
    "answer",
    "why",
    "reach",
    "slowdown",
    "slowdown_low",
    "slowdown_high",
    "slowdown_low_alone",
    "slowdown_high_alone",
    "mean_slowdown",
    "mean_slowdown_low",
    "mean_slowdown_high",
    "p",
    "rounds",
    "value",
    "median",
    "median_low",
    "median_high",
    "missing",
    "reason",
];

/// Position of the value that is shown among the numbers of a cell.
const VALUE: usize = 9;

/// Writes a heading and a line per cell, the baseline's cell first in each row; values are in the metric's
/// own unit.
///
/// A text from the record that a spreadsheet would take for a formula begins with an apostrophe.
fn render_csv(session: &Session, findings: &Findings) -> String {
    let lines = findings.rows.iter().flat_map(|row| {
        let baseline = (&findings.baseline, baseline(row.baseline.as_ref()));
        let subjects = findings.subjects.iter().zip(row.cells.iter().map(|cell| cell_fields(row, cell)));
        let line = |(target, own): (&String, [String; 19])| {
            shared(session, row).into_iter().chain([escape_text(target)]).chain(own).collect::<Vec<_>>()
        };
        [baseline].into_iter().chain(subjects).map(line).collect::<Vec<_>>()
    });
    write_lines(&HEAD, lines)
}

fn shared(session: &Session, row: &Row) -> [String; 10] {
    [
        escape_text(&session.plan.study),
        escape_text(&session.header.started),
        escape_text(&row.case),
        escape_text(&row.probe),
        escape_text(&row.label),
        escape_text(row.place.as_deref().unwrap_or("")),
        escape_text(row.peer.as_deref().unwrap_or("")),
        escape_text(&row.metric.name),
        words::machine_name(&row.metric.unit),
        row.headline.to_string(),
    ]
}

fn baseline(level: Option<&Level>) -> [String; 19] {
    let why = if level.is_some() { "baseline" } else { Why::NotMeasured.name() };
    fields(
        [Kind::None.name(), why, ""],
        std::array::from_fn(|at| level.filter(|_| at == VALUE).map(|level| level.median)),
        level.map(|l| l.rounds),
        level,
        [String::new(), String::new()],
    )
}

fn cell_fields(row: &Row, cell: &Cell) -> [String; 19] {
    let level = cell.level();
    let (ratios, rounds) = match cell.comparison() {
        Some(comparison) => (ratios(row, comparison), Some(comparison.rounds)),
        None => ([None; 10], level.map(|level| level.rounds)),
    };
    let missing = match cell {
        Cell::Compared(_) | Cell::Observed(_) => [String::new(), String::new()],
        Cell::Missing(missing) => {
            let reason = match missing {
                Missing::Failed(failure) => &failure.reason,
                Missing::NotComparable { reason, .. } => reason.as_str(),
                Missing::NotReached | Missing::NoBaseline(_) => "",
            };
            [words::missing_name(missing), escape_text(reason)]
        }
    };
    let answer = cell.answer();
    let reach = cell.comparison().map_or("", |found| found.reach.name());
    fields([answer.kind().name(), answer.why().map_or("", Why::name), reach], ratios, rounds, level, missing)
}

/// Lists the typical ratio and that of mean costs with their intervals, p, and the value that is shown.
fn ratios(row: &Row, comparison: &Comparison) -> [Option<f64>; 10] {
    let Comparison { ratio, p, total, .. } = *comparison;
    // Too few rounds leave an interval open.
    let bounds = |low: f64, high: f64| [low, high].map(|end| (low > 0.0 && high.is_finite()).then_some(end));
    let ends = |interval: Interval| interval.ends(|end| interval.is_bounded().then_some(end));
    let [[low, high], [low_alone, high_alone]] = [comparison.interval, comparison.interval_alone].map(ends);
    let value = row.scale_baseline(ratio);
    let [mean_low, mean_high] = total.map_or([None; 2], |total| bounds(total.low, total.high));
    let mean = total.map(|total| total.ratio);
    [Some(ratio), low, high, low_alone, high_alone, mean, mean_low, mean_high, Some(p), value]
}

fn fields(
    [answer, why, reach]: [&str; 3],
    ratios: [Option<f64>; 10],
    rounds: Option<u32>,
    level: Option<&Level>,
    [missing, reason]: [String; 2],
) -> [String; 19] {
    let [ratio, low, high, low_alone, high_alone, mean, mean_low, mean_high, p, value] =
        ratios.map(format_number);
    [
        answer.to_owned(),
        why.to_owned(),
        reach.to_owned(),
        ratio,
        low,
        high,
        low_alone,
        high_alone,
        mean,
        mean_low,
        mean_high,
        p,
        rounds.map(|r| r.to_string()).unwrap_or_default(),
        value,
        format_number(level.map(|l| l.median)),
        format_number(level.map(|l| l.low)),
        format_number(level.map(|l| l.high)),
        missing,
        reason,
    ]
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::specimen;

    #[test]
    fn every_cell_has_a_line() {
        let text = render_csv(&specimen::make_session(3), &specimen::make_findings(3));
        let mut reader = ::csv::Reader::from_reader(text.as_bytes());
        assert_eq!(reader.headers().unwrap(), &HEAD[..]);
        let lines: Vec<_> = reader.records().map(|line| line.unwrap()).collect();
        assert_eq!(lines.len(), 8 * 4, "seven headlines and a maximum, in four environments");
        let of = |name: &str| HEAD.iter().position(|head| *head == name).unwrap();
        let gvisor = lines.iter().find(|l| &l[of("environment")] == "gvisor").unwrap();
        assert_eq!(&gvisor[of("answer")], "slower");
        assert_eq!(&gvisor[of("slowdown")], "24.13");
        assert_eq!(&gvisor[of("unit")], "nanoseconds");
        let missing = lines.iter().find(|l| &l[of("why")] == "not_comparable").unwrap();
        assert_eq!(&missing[of("slowdown")], "");
        assert_eq!(&missing[of("reason")], "emulated processor (TCG): no KVM that works here");
    }

    #[test]
    fn a_hostile_name_is_neither_a_formula_nor_a_line() {
        let mut findings = specimen::make_findings(1);
        findings.rows.truncate(1);
        findings.rows[0].label = "=HYPERLINK(\"x\")\n,a".into();
        let shown = render_csv(&specimen::make_session(1), &findings);
        assert_eq!(shown.lines().count(), 3);
        assert!(shown.contains("\"'=HYPERLINK(\"\"x\"\")\u{fffd},a\""), "{shown}");
    }

    #[test]
    fn what_is_no_number_is_empty() {
        assert_eq!(format_number(Some(f64::NAN)), "");
        assert_eq!(format_number(Some(f64::INFINITY)), "");
        assert_eq!(format_number(Some(0.5)), "0.5");
    }
}
