//! Exports: findings in the formats that other programs read, one file a format.

mod bencher;
mod benchstat;
pub mod csv;
mod github_annotations;
mod github_benchmark;
mod github_summary;
mod hyperfine;
mod json;
mod junit;
mod markdown;
mod openmetrics;
mod parquet;

use tare_analysis::findings::{Cell, Comparison, Findings, Level, Missing, Row};
use tare_analysis::gate::Outcome;
use tare_data::session::{PlannedCase, Role, Session};

/// What an export is made of.
#[derive(Clone, Copy, Debug)]
pub struct Source<'a> {
    pub session: &'a Session,
    pub findings: &'a Findings,
    /// What a gate says of the cells, where one was asked for.
    pub gate: Option<&'a Outcome>,
}

/// How a file is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Writing {
    /// Anew, whole or not at all.
    Whole,
    /// Behind what it holds. Where no file is named, this variable of the environment names it.
    Appended { variable: &'static str },
}

/// A format.
pub struct Export {
    /// What follows `--export`.
    pub name: &'static str,
    /// What it holds and who reads it, in one line.
    pub summary: &'static str,
    pub writing: Writing,
    pub render: fn(&Source) -> Vec<u8>,
}

/// Every format, in the order in which they are listed.
pub static EXPORTS: &[&Export] = &[
    &json::EXPORT,
    &csv::EXPORT,
    &parquet::EXPORT,
    &markdown::EXPORT,
    &junit::EXPORT,
    &github_summary::EXPORT,
    &github_annotations::EXPORT,
    &bencher::EXPORT,
    &github_benchmark::SMALLER,
    &github_benchmark::BIGGER,
    &benchstat::EXPORT,
    &hyperfine::EXPORT,
    &openmetrics::EXPORT,
];

/// The format of a name.
pub fn find(name: &str) -> Option<&'static Export> {
    EXPORTS.iter().copied().find(|export| export.name == name)
}

/// A headline cell of a subject environment, with its place in the findings.
#[derive(Clone, Copy)]
struct Headline<'a> {
    /// Index of its row, and of its environment among the subjects.
    at: (usize, usize),
    row: &'a Row,
    target: &'a str,
    cell: &'a Cell,
}

impl Source<'_> {
    /// Every headline cell, environment by environment.
    fn headlines(&self) -> impl Iterator<Item = Headline<'_>> {
        let rows = || self.findings.rows.iter().enumerate().filter(|(_, row)| row.headline);
        self.findings.subjects.iter().enumerate().flat_map(move |(of_target, target)| {
            rows().filter_map(move |(of_row, row)| {
                Some(Headline { at: (of_row, of_target), row, target, cell: row.cells.get(of_target)? })
            })
        })
    }

    /// The plan of a row's case.
    fn planned(&self, row: &Row) -> Option<&PlannedCase> {
        self.session.plan.cases.iter().find(|case| case.id == row.case)
    }

    /// Name of the control environment.
    fn control(&self) -> Option<&str> {
        let targets = &self.session.plan.targets;
        targets.iter().find(|target| target.role == Role::Control).map(|target| target.name.as_str())
    }

    /// Every environment's own figure of a row: the baseline's, the control's, the subjects'. Environments without one are left out.
    fn levels<'a>(&'a self, row: &'a Row) -> Vec<(&'a str, &'a Level)> {
        let of_control = self.control().zip(row.control.as_ref().and_then(level_of));
        let subjects = self.findings.subjects.iter().zip(&row.cells);
        let subjects = subjects.filter_map(|(target, cell)| Some((target.as_str(), level_of(cell)?)));
        let baseline = row.baseline.as_ref().map(|level| (self.findings.baseline.as_str(), level));
        baseline.into_iter().chain(of_control).chain(subjects).collect()
    }
}

/// The environment's own figure in a cell.
fn level_of(cell: &Cell) -> Option<&Level> {
    match cell {
        Cell::Compared(comparison) => Some(&comparison.level),
        Cell::Observed(level) => Some(level),
        Cell::Missing(Missing::NoBaseline(level) | Missing::NotComparable { level, .. }) => Some(level),
        Cell::Missing(Missing::Failed(_) | Missing::NotReached) => None,
    }
}

/// A bound of an interval that is one: neither end is open.
fn bounds(comparison: &Comparison) -> Option<(f64, f64)> {
    let (low, high) = (comparison.low, comparison.high);
    (low > 0.0 && low.is_finite() && high.is_finite()).then_some((low, high))
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use tare_data::unit::Direction;

    use super::*;
    use crate::specimen;

    /// A session whose every text is hostile, and whose figures are no numbers.
    fn hostile() -> (Session, Findings) {
        let (mut session, mut findings) = (specimen::session(3), specimen::findings(3));
        let text = "a\"'\\<&>]]>\u{1b}[31m\r\n::error::x\u{0}%0A{}/ \u{202e}\u{ffff}=,#";
        session.plan.study = text.into();
        session.header.started = text.into();
        for (i, row) in findings.rows.iter_mut().enumerate() {
            (row.label, row.probe, row.case) = (text.into(), text.into(), format!("{text}{i}"));
            row.metric.name = text.into();
            row.metric.direction = if i % 2 == 0 { Direction::Higher } else { Direction::Lower };
            row.place = Some(text.into());
            if let Some(level) = &mut row.baseline {
                (level.median, level.low, level.high) = (f64::NAN, f64::NEG_INFINITY, f64::INFINITY);
                level.values[0] = f64::NAN;
            }
        }
        if let Cell::Compared(cell) = &mut findings.rows[0].cells[0] {
            (cell.ratio, cell.low, cell.high) = (f64::NAN, 0.0, f64::INFINITY);
        }
        for subject in &mut findings.subjects {
            *subject = format!("{text}{subject}");
        }
        (session, findings)
    }

    #[test]
    fn names_are_told_apart_and_every_file_is_in_the_list() {
        let names: BTreeSet<&str> = EXPORTS.iter().map(|export| export.name).collect();
        assert_eq!(names.len(), EXPORTS.len());
        let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/src/exports");
        let text = include_str!("mod.rs");
        for entry in std::fs::read_dir(folder).unwrap() {
            let file = entry.unwrap().file_name().into_string().unwrap();
            let Some(module) = file.strip_suffix(".rs") else { continue };
            assert!(
                module == "mod" || text.contains(&format!("    &{module}::")),
                "{file} is not in the list"
            );
        }
    }

    #[test]
    fn any_record_can_be_exported() {
        let empty = (specimen::session(0), specimen::findings(0));
        let nothing = (specimen::session(2), Findings { rows: vec![], ..specimen::findings(2) });
        for (session, findings) in [hostile(), empty, nothing] {
            let source = Source { session: &session, findings: &findings, gate: None };
            for export in EXPORTS {
                let bytes = (export.render)(&source);
                let wrong = |b: &u8| *b < b' ' && *b != b'\n' && *b != b'\r';
                let text = export.name != "parquet" && bytes.iter().any(wrong);
                assert!(!text, "{} holds a control character", export.name);
            }
        }
    }
}
