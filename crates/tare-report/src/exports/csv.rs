//! The findings as CSV: one line for each cell, for spreadsheets and data frames.

use tare_analysis::findings::{Cell, Comparison, Findings, Level, Missing, Row};
use tare_analysis::verdicts::verdict::names_direction;
use tare_data::session::Session;

use super::export::{Export, Source, Writing};
use crate::text::clean;
use crate::words;

pub(crate) static EXPORT: Export = Export {
    name: "csv",
    summary: "a line for each cell of the findings, for spreadsheets and data frames",
    writing: Writing::Whole,
    render: |Source { session, findings, .. }| render(session, findings).into_bytes(),
};

const HEAD: [&str; 25] = [
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
    "verdict",
    "ratio",
    "ratio_low",
    "ratio_high",
    "mean_ratio",
    "mean_ratio_low",
    "mean_ratio_high",
    "p",
    "coloured",
    "rounds",
    "median",
    "median_low",
    "median_high",
    "reason",
];

/// A head and a line a cell, the baseline's own cells first in each row; figures in the metric's own unit.
///
/// A text from the record that a spreadsheet would take for a formula begins with an apostrophe.
pub fn render(session: &Session, findings: &Findings) -> String {
    let lines = findings.rows.iter().flat_map(|row| {
        let baseline = (&findings.baseline, baseline(row.baseline.as_ref()));
        let subjects = findings.subjects.iter().zip(row.cells.iter().map(cell_fields));
        let line = |(target, own): (&String, [String; 14])| {
            shared(session, row).into_iter().chain([text(target)]).chain(own).collect::<Vec<_>>()
        };
        [baseline].into_iter().chain(subjects).map(line).collect::<Vec<_>>()
    });
    written(&HEAD, lines)
}

/// A head and its lines.
pub(crate) fn written(head: &[&str], lines: impl Iterator<Item = Vec<String>>) -> String {
    let mut writer = ::csv::Writer::from_writer(Vec::new());
    writer.write_record(head).expect("a vector takes every byte");
    lines.for_each(|line| writer.write_record(line).expect("every line has the head's fields"));
    let bytes = writer.into_inner().expect("a vector takes every byte");
    String::from_utf8(bytes).expect("fields are UTF-8")
}

fn shared(session: &Session, row: &Row) -> [String; 10] {
    [
        text(&session.plan.study),
        text(&session.header.started),
        text(&row.case),
        text(&row.probe),
        text(&row.label),
        text(row.place.as_deref().unwrap_or("")),
        text(row.peer.as_deref().unwrap_or("")),
        text(&row.metric.name),
        words::machine_name(&row.metric.unit),
        row.headline.to_string(),
    ]
}

fn baseline(level: Option<&Level>) -> [String; 14] {
    let verdict = if level.is_some() { "baseline" } else { "missing" };
    fields(verdict, [None; 7], None, level.map(|l| l.rounds), level, "")
}

fn cell_fields(cell: &Cell) -> [String; 14] {
    match cell {
        Cell::Compared(c) => fields(
            &words::machine_name(&c.verdict),
            ratios(c),
            Some(names_direction(c.verdict)),
            Some(c.rounds),
            Some(&c.level),
            "",
        ),
        Cell::Observed(level) => fields("observed", [None; 7], None, Some(level.rounds), Some(level), ""),
        Cell::Missing(missing) => {
            let level = super::export::level_of(cell);
            let reason = match missing {
                Missing::Failed(failure) => &failure.reason,
                Missing::NotComparable { reason, .. } => reason.as_str(),
                Missing::NotReached | Missing::NoBaseline(_) => "",
            };
            fields(&words::missing_name(missing), [None; 7], None, level.map(|l| l.rounds), level, reason)
        }
    }
}

/// The typical ratio and that of mean costs with their intervals, and p.
fn ratios(comparison: &Comparison) -> [Option<f64>; 7] {
    let Comparison { ratio, low, high, p, total, .. } = *comparison;
    let [mean, mean_low, mean_high] =
        total.map_or([None; 3], |total| [total.ratio, total.low, total.high].map(Some));
    [Some(ratio), Some(low), Some(high), mean, mean_low, mean_high, Some(p)]
}

fn fields(
    verdict: &str,
    ratios: [Option<f64>; 7],
    coloured: Option<bool>,
    rounds: Option<u32>,
    level: Option<&Level>,
    reason: &str,
) -> [String; 14] {
    let [ratio, low, high, mean, mean_low, mean_high, p] = ratios.map(number);
    [
        verdict.to_owned(),
        ratio,
        low,
        high,
        mean,
        mean_low,
        mean_high,
        p,
        coloured.map(|c| c.to_string()).unwrap_or_default(),
        rounds.map(|r| r.to_string()).unwrap_or_default(),
        number(level.map(|l| l.median)),
        number(level.map(|l| l.low)),
        number(level.map(|l| l.high)),
        text(reason),
    ]
}

/// A figure in full; empty where it is none.
pub(crate) fn number(value: Option<f64>) -> String {
    value.filter(|v| v.is_finite()).map(|v| v.to_string()).unwrap_or_default()
}

/// A text that a spreadsheet keeps as text.
pub(crate) fn text(text: &str) -> String {
    let text = clean(text);
    // Spreadsheets skip spaces, and some take the full-width forms for the plain ones.
    let is_formula = text.trim_start().starts_with(['=', '+', '-', '@', '＝', '＋', '－', '＠']);
    if is_formula { format!("'{text}") } else { text }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::specimen;

    #[test]
    fn nothing_is_taken_for_a_formula() {
        for formula in ["=1", " =1", "\u{3000}+1", "＝1", "＋1", "－1", "＠A1", "-1", "@A1"] {
            assert!(super::text(formula).starts_with('\''), "{formula:?}");
        }
        assert_eq!(super::text("write 4 KiB"), "write 4 KiB");
    }

    #[test]
    fn every_cell_has_a_line() {
        let text = render(&specimen::session(3), &specimen::findings(3));
        let mut reader = ::csv::Reader::from_reader(text.as_bytes());
        assert_eq!(reader.headers().unwrap(), &HEAD[..]);
        let lines: Vec<_> = reader.records().map(|line| line.unwrap()).collect();
        assert_eq!(lines.len(), 8 * 4, "seven headlines and a maximum, in four environments");
        let of = |name: &str| HEAD.iter().position(|head| *head == name).unwrap();
        let gvisor = lines.iter().find(|l| &l[of("environment")] == "gvisor").unwrap();
        assert_eq!(&gvisor[of("verdict")], "slower");
        assert_eq!(&gvisor[of("ratio")], "24.13");
        assert_eq!(&gvisor[of("unit")], "nanoseconds");
        let missing = lines.iter().find(|l| &l[of("verdict")] == "not_comparable").unwrap();
        assert_eq!(&missing[of("ratio")], "");
        assert_eq!(&missing[of("reason")], "emulated processor (TCG): no KVM that works here");
    }

    #[test]
    fn a_hostile_name_is_neither_a_formula_nor_a_line() {
        let mut findings = specimen::findings(1);
        findings.rows.truncate(1);
        findings.rows[0].label = "=HYPERLINK(\"x\")\n,a".into();
        let shown = render(&specimen::session(1), &findings);
        assert_eq!(shown.lines().count(), 3);
        assert!(shown.contains("\"'=HYPERLINK(\"\"x\"\")\u{fffd},a\""), "{shown}");
    }

    #[test]
    fn what_is_no_number_is_empty() {
        assert_eq!(number(Some(f64::NAN)), "");
        assert_eq!(number(Some(f64::INFINITY)), "");
        assert_eq!(number(Some(0.5)), "0.5");
    }
}
