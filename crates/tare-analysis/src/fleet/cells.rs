//! The cells of one session as rows of a table: a fleet's view of a record, which other programs query.

use std::collections::HashMap;

use serde::{Deserialize, Serialize};
use tare_data::facts::Facts;
use tare_data::session::{Ending, PlannedCase, Role, Session};
use tare_data::unit::{Direction, Unit};

use crate::findings::{Cell, Comparison, Findings, Level, Missing, Row, Verdict};
use crate::fleet::scale::NORMAL;
use crate::statistics::signed_ranks::{compute_median, sort_values};

/// Raised when the meaning or the computation of a field changes: rows of another version are computed again.
pub const VERSION: u32 = 1;

/// A session as rows, with their common fields.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct SessionCells {
    pub version: u32,
    /// Version and SHA-256 of the program that measured.
    pub tare: String,
    pub binary: String,
    /// RFC 3339 with offset.
    pub started: String,
    pub study: String,
    #[serde(default)]
    pub session: Option<String>,
    #[serde(default)]
    pub machine: Option<String>,
    #[serde(default)]
    pub fleet: Option<String>,
    #[serde(default)]
    pub node: Option<String>,
    /// Facts of the machine.
    pub host: Facts,
    pub ending: Ending,
    pub rows: Vec<CellRow>,
}

/// A case and metric in an environment, in one session.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct CellRow {
    pub case: String,
    pub probe: String,
    pub label: String,
    pub place: Option<String>,
    pub peer: Option<String>,
    pub metric: String,
    pub unit: Unit,
    pub better: Direction,
    pub headline: bool,
    pub environment: String,
    pub role: Role,
    /// Hash of the case's definition: values of different ones are never compared.
    pub definition: String,
    /// As ln of a ratio.
    pub margin: f64,
    pub rounds: u32,
    pub median: Option<f64>,
    pub quartile_low: Option<f64>,
    pub quartile_high: Option<f64>,
    /// Robust standard deviation of ln of the rounds' values.
    pub deviation: Option<f64>,
    /// Slowdown against the baseline, with its interval; none where there is no comparison, or no interval yet.
    pub ratio: Option<f64>,
    pub low: Option<f64>,
    pub high: Option<f64>,
    pub verdict: Option<Verdict>,
    /// Why the value or the comparison is missing.
    pub missing: Option<String>,
}

impl CellRow {
    /// Computes ln of the cost: greater is slower; None where it is not known.
    pub(super) fn ln_cost(&self) -> Option<f64> {
        let value = self.median.filter(|median| *median > 0.0 && median.is_finite())?;
        let ln = libm::log(value);
        Some(match self.better {
            Direction::Lower => ln,
            Direction::Higher => -ln,
        })
    }
}

/// Extracts the rows of a session.
pub fn extract_cells(session: &Session, findings: &Findings) -> SessionCells {
    let header = &session.header;
    let cases: HashMap<&str, &PlannedCase> =
        session.plan.cases.iter().map(|case| (case.id.as_str(), case)).collect();
    let control = session.plan.targets.of_role(Role::Control).next();
    let mut rows = Vec::new();
    for row in &findings.rows {
        let case = cases.get(row.case.as_str()).copied();
        let blank = |environment: &str, role| blank(row, case, environment, role);
        let baseline = blank(&findings.baseline, Role::Baseline);
        rows.push(with_level(baseline, row.baseline.as_ref()));
        if let Some((control, cell)) = control.zip(row.control.as_ref()) {
            rows.push(with_cell(blank(&control.name, Role::Control), cell));
        }
        for (subject, cell) in findings.subjects.iter().zip(&row.cells) {
            rows.push(with_cell(blank(subject, Role::Subject), cell));
        }
    }
    SessionCells {
        version: VERSION,
        tare: header.tare.clone(),
        binary: header.binary.clone(),
        started: header.started.clone(),
        study: session.plan.study.clone(),
        session: header.identity.as_ref().map(|identity| identity.session.clone()),
        machine: header.identity.as_ref().map(|identity| identity.machine.clone()),
        fleet: header.fleet.as_ref().map(|cell| cell.id.clone()),
        node: header.fleet.as_ref().map(|cell| cell.node.clone()),
        host: header.host.clone(),
        ending: session.ending,
        rows,
    }
}

fn blank(row: &Row, case: Option<&PlannedCase>, environment: &str, role: Role) -> CellRow {
    CellRow {
        case: row.case.clone(),
        probe: row.probe.clone(),
        label: row.label.clone(),
        place: row.place.clone(),
        peer: row.peer.clone(),
        metric: row.metric.name.clone(),
        unit: row.metric.unit,
        better: row.metric.direction,
        headline: row.headline,
        environment: environment.to_owned(),
        role,
        definition: case.map(|case| case.definition.clone()).unwrap_or_default(),
        margin: case.map_or(0.0, |case| case.margin),
        rounds: 0,
        median: None,
        quartile_low: None,
        quartile_high: None,
        deviation: None,
        ratio: None,
        low: None,
        high: None,
        verdict: None,
        missing: None,
    }
}

fn with_level(mut row: CellRow, level: Option<&Level>) -> CellRow {
    let Some(level) = level else { return row };
    let values = sort_values(&level.values);
    let Some(last) = values.len().checked_sub(1) else { return row };
    let quartile = |of: usize| values[(of * last + 2) / 4];
    (row.rounds, row.median) = (level.rounds, Some(level.median));
    (row.quartile_low, row.quartile_high) = (Some(quartile(1)), Some(quartile(3)));
    let ln: Vec<f64> = values.iter().filter(|value| **value > 0.0).map(|value| libm::log(*value)).collect();
    if ln.len() == values.len() && values.len() > 1 {
        let centre = compute_median(&ln);
        let distances: Vec<f64> = ln.iter().map(|value| (value - centre).abs()).collect();
        row.deviation = Some(NORMAL * compute_median(&sort_values(&distances)));
    }
    row
}

fn with_cell(row: CellRow, cell: &Cell) -> CellRow {
    let mut row = with_level(row, cell.level());
    match cell {
        Cell::Compared(comparison) => {
            let Comparison { ratio, interval_alone: interval, verdict, .. } = **comparison;
            row.ratio = Some(ratio).filter(|ratio| ratio.is_finite());
            [row.low, row.high] = interval.ends(|end| interval.is_bounded().then_some(end));
            row.verdict = Some(verdict);
        }
        Cell::Observed(_) => {}
        Cell::Missing(missing) => {
            row.missing = Some(match missing {
                Missing::Failed(failure) => failure.to_string(),
                Missing::NotReached => "the session ended before it".to_owned(),
                Missing::NoBaseline(_) => "the baseline has no value".to_owned(),
                Missing::NotComparable { reason, .. } => reason.clone(),
            });
        }
    }
    row
}
