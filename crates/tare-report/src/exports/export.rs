//! An export, and its input.

use tare_analysis::findings::{Cell, Findings, Level, Missing, Row};
use tare_analysis::gate::Outcome;
use tare_data::session::{Role, Session};

use crate::text::clean_text;

#[derive(Clone, Copy, Debug)]
pub struct Source<'a> {
    pub session: &'a Session,
    pub findings: &'a Findings,
    /// Answer to `--fail-if`, if it was given.
    pub gate: Option<&'a Outcome>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Writing {
    /// Replaces the file, atomically.
    Whole,
    /// Appends to the file. Without a path, this environment variable names it.
    Appended { variable: &'static str },
}

pub struct Export {
    /// The word after `--export`.
    pub name: &'static str,
    /// Contents and readers, in one line.
    pub summary: &'static str,
    pub writing: Writing,
    pub render: fn(&Source) -> Vec<u8>,
}

/// A headline cell of a subject environment, with its place in the findings.
#[derive(Clone, Copy)]
pub(super) struct Headline<'a> {
    /// Index of its row, and of its environment among the subjects.
    pub(super) at: (usize, usize),
    pub(super) row: &'a Row,
    pub(super) target: &'a str,
    pub(super) cell: &'a Cell,
}

impl Source<'_> {
    /// Lists the headline cells, environment by environment.
    pub(super) fn headlines(&self) -> impl Iterator<Item = Headline<'_>> {
        let rows = || self.findings.rows.iter().enumerate().filter(|(_, row)| row.headline);
        self.findings.subjects.iter().enumerate().flat_map(move |(of_target, target)| {
            rows().filter_map(move |(of_row, row)| {
                Some(Headline { at: (of_row, of_target), row, target, cell: row.cells.get(of_target)? })
            })
        })
    }

    /// Makes the name of a cell of a row: by its command alone where commands are the sides.
    pub(super) fn name_cell(&self, row: &Row, target: &str) -> String {
        match self.findings.commands_in {
            None => format!("{} in {}", clean_text(&row.label), clean_text(target)),
            Some(_) => clean_text(target),
        }
    }

    pub(super) fn control_name(&self) -> Option<&str> {
        let targets = &self.session.plan.targets;
        targets.of_role(Role::Control).next().map(|target| target.name.as_str())
    }

    /// Lists the values of a row by environment: the baseline's, the control's, the subjects'. Environments
    /// without a value are left out.
    pub(super) fn list_levels<'a>(&'a self, row: &'a Row) -> Vec<(&'a str, &'a Level)> {
        let of_control = self.control_name().zip(row.control.as_ref().and_then(level_of));
        let subjects = self.findings.subjects.iter().zip(&row.cells);
        let subjects = subjects.filter_map(|(target, cell)| Some((target.as_str(), level_of(cell)?)));
        let baseline = row.baseline.as_ref().map(|level| (self.findings.baseline.as_str(), level));
        baseline.into_iter().chain(of_control).chain(subjects).collect()
    }
}

/// Returns the environment's own value in a cell.
pub(super) fn level_of(cell: &Cell) -> Option<&Level> {
    match cell {
        Cell::Compared(comparison) => Some(&comparison.level),
        Cell::Observed(level) => Some(level),
        Cell::Missing(Missing::NoBaseline(level) | Missing::NotComparable { level, .. }) => Some(level),
        Cell::Missing(Missing::Failed(_) | Missing::NotReached) => None,
    }
}
