//! Change over time: what layers cost in an older record and in a newer one, and what the two say together.
//!
//! Figures of different days are never paired. What is compared is each record's own ratio, which was paired within
//! its session, with the interval that it has there.

pub mod facts;

use std::collections::BTreeMap;

use serde::Serialize;
use tare_data::session::{Plan, Role, Session};

use crate::change::facts::{ChangedFact, changed_facts};
use crate::findings::{Cell, Comparison, Findings, Missing, Row, Verdict};
use crate::gate::{Answer, Condition, Kind, Outcome, TargetNames, strongest};
use crate::verdicts::rows::MARGIN;
use crate::verdicts::verdict::Margin;

/// A record as one side of the comparison.
#[derive(Clone, Copy, Debug)]
pub struct Side<'a> {
    pub session: &'a Session,
    pub findings: &'a Findings,
}

/// What two intervals say of a change. They are 95 % intervals of different sessions.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Change {
    /// The new interval lies above the old one by more than the margin.
    Regressed,
    /// The new interval lies below the old one by more than the margin.
    Improved,
    /// Each estimate lies within the other's interval, or both intervals together span no more than the margin.
    Within,
    Inconclusive,
}

/// A layer's cost in one record.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Cost {
    pub ratio: f64,
    pub low: f64,
    pub high: f64,
    pub rounds: u32,
    pub verdict: Verdict,
}

/// Two records beside each other.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Changes {
    /// Environments of either record, the newer one's first; the cells of every row stand in this order.
    #[serde(rename = "environments")]
    pub targets: Vec<Target>,
    pub rows: Vec<ChangedRow>,
    pub facts: Vec<ChangedFact>,
}

#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Target {
    pub name: String,
    pub specification: String,
}

/// A case and metric of either record.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ChangedRow {
    pub case: String,
    pub probe: String,
    pub label: String,
    pub metric: String,
    pub headline: bool,
    pub cells: Vec<ChangedCell>,
}

#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum ChangedCell {
    Compared {
        old: Cost,
        new: Cost,
        change: Change,
        /// How far the intervals are apart, as a factor of at least 1; none where they touch.
        apart: Option<f64>,
    },
    /// There is no pair of ratios, or none that means the same.
    NotComparable { reason: String, old: Option<Cost>, new: Option<Cost> },
}

/// What two costs say of a change. A control that is off makes both a change and sameness harder to claim.
pub fn change(old: &Cost, new: &Cost, margin: Margin) -> Change {
    let is_interval = |cost: &Cost| cost.low > 0.0 && cost.low <= cost.high && cost.high.is_finite();
    if !is_interval(old) || !is_interval(new) {
        return Change::Inconclusive;
    }
    let holds = |cost: &Cost, ratio: f64| (cost.low..=cost.high).contains(&ratio);
    let span = (old.high.max(new.high) / old.low.min(new.low)).ln();
    if (new.low / old.high).ln() > margin.beyond() {
        Change::Regressed
    } else if (old.low / new.high).ln() > margin.beyond() {
        Change::Improved
    } else if span <= margin.within() || (holds(old, new.ratio) && holds(new, old.ratio)) {
        Change::Within
    } else {
        Change::Inconclusive
    }
}

/// How far two intervals are apart.
fn apart(old: &Cost, new: &Cost) -> Option<f64> {
    let factor = (new.low / old.high).max(old.low / new.high);
    (factor.is_finite() && factor > 1.0).then_some(factor)
}

/// Puts two records beside each other.
pub fn changes(old: Side<'_>, new: Side<'_>) -> Changes {
    let targets = targets(old.session, new.session);
    let keyed = |findings: &'_ Findings| -> BTreeMap<(String, String), usize> {
        let rows = findings.rows.iter().enumerate();
        rows.map(|(at, row)| ((row.case.clone(), row.metric.name.clone()), at)).collect()
    };
    let (old_rows, new_rows) = (keyed(old.findings), keyed(new.findings));
    let key = |row: &Row| (row.case.clone(), row.metric.name.clone());
    let mut rows: Vec<ChangedRow> = Vec::new();
    for row in &new.findings.rows {
        let of_old = old_rows.get(&key(row)).map(|at| &old.findings.rows[*at]);
        rows.push(changed_row(old, new, of_old, Some(row), &targets));
    }
    for row in old.findings.rows.iter().filter(|row| !new_rows.contains_key(&key(row))) {
        rows.push(changed_row(old, new, Some(row), None, &targets));
    }
    Changes { targets, rows, facts: changed_facts(old.session, new.session) }
}

/// Subjects of either record, by name; the newer record's order first.
fn targets(old: &Session, new: &Session) -> Vec<Target> {
    let mut targets: Vec<Target> = Vec::new();
    for target in
        new.plan.targets.iter().chain(&old.plan.targets).filter(|target| target.role == Role::Subject)
    {
        if targets.iter().all(|known| known.name != target.name) {
            targets.push(Target { name: target.name.clone(), specification: target.specification.clone() });
        }
    }
    targets
}

fn changed_row(
    old: Side,
    new: Side,
    old_row: Option<&Row>,
    new_row: Option<&Row>,
    targets: &[Target],
) -> ChangedRow {
    let row = new_row.or(old_row).expect("a row stands in one of the records");
    let objection = objection(old, new, old_row, new_row);
    let margin = margin(old, new, old_row, new_row);
    let cells = targets.iter().map(|target| {
        let of_old = cell(old, old_row, &target.name);
        let of_new = cell(new, new_row, &target.name);
        changed_cell(of_old, of_new, objection.as_deref(), margin)
    });
    ChangedRow {
        case: row.case.clone(),
        probe: row.probe.clone(),
        label: row.label.clone(),
        metric: row.metric.name.clone(),
        headline: row.headline,
        cells: cells.collect(),
    }
}

/// An environment's cell of a row; none where the record has no such row or environment.
fn cell<'a>(side: Side<'a>, row: Option<&'a Row>, target: &str) -> Option<&'a Cell> {
    let at = side.findings.subjects.iter().position(|name| name == target)?;
    row?.cells.get(at)
}

fn changed_cell(
    old: Option<&Cell>,
    new: Option<&Cell>,
    objection: Option<&str>,
    margin: Margin,
) -> ChangedCell {
    let (old_cost, new_cost) = (old.and_then(cost), new.and_then(cost));
    let reason = objection.map(str::to_owned).or_else(|| missing(old, "old")).or_else(|| missing(new, "new"));
    match (reason, old_cost, new_cost) {
        (None, Some(old), Some(new)) => {
            ChangedCell::Compared { change: change(&old, &new, margin), apart: apart(&old, &new), old, new }
        }
        (reason, old, new) => {
            let reason = reason.unwrap_or_else(|| "it is observed, never judged".into());
            ChangedCell::NotComparable { reason, old, new }
        }
    }
}

fn cost(cell: &Cell) -> Option<Cost> {
    let Cell::Compared(comparison) = cell else { return None };
    let Comparison { ratio, low, high, rounds, verdict, .. } = **comparison;
    Some(Cost { ratio, low, high, rounds, verdict })
}

/// Why a record has no ratio in a cell; none where it has one, or an observation.
fn missing(cell: Option<&Cell>, record: &str) -> Option<String> {
    let why = match cell {
        None => return Some(format!("not in the {record} record")),
        Some(Cell::Compared(_) | Cell::Observed(_)) => return None,
        Some(Cell::Missing(Missing::Failed(failure))) => failure.reason.clone(),
        Some(Cell::Missing(Missing::NotReached)) => "not reached".into(),
        Some(Cell::Missing(Missing::NoBaseline(_))) => "the baseline has no value".into(),
        Some(Cell::Missing(Missing::NotComparable { reason, .. })) => reason.clone(),
    };
    Some(format!("in the {record} record: {why}"))
}

/// Why the ratios of a row do not mean the same in both records.
fn objection(old: Side, new: Side, old_row: Option<&Row>, new_row: Option<&Row>) -> Option<String> {
    let (old_row, new_row) = (old_row?, new_row?);
    let baseline = |side: Side<'_>| side.session.baseline().map(|target| target.specification.clone());
    let (then, now) = (baseline(old), baseline(new));
    if then != now {
        let named = |baseline: Option<String>| baseline.unwrap_or_else(|| "nothing".into());
        return Some(format!("the baseline was {} and is {}", named(then), named(now)));
    }
    let planned = |plan: &'_ Plan| -> Option<String> {
        plan.cases.iter().find(|case| case.id == new_row.case).map(|case| case.definition.clone())
    };
    if planned(&old.session.plan) != planned(&new.session.plan) {
        return Some("what is measured has changed: the definitions differ".into());
    }
    (old_row.metric != new_row.metric).then(|| "the metric is read otherwise".into())
}

/// The wider margin of the two records, raised for changes to what either session called a difference where there is
/// none.
fn margin(old: Side, new: Side, old_row: Option<&Row>, new_row: Option<&Row>) -> Margin {
    let planned = |side: Side<'_>, row: Option<&Row>| {
        let case = side.session.plan.cases.iter().find(|case| Some(&case.id) == row.map(|row| &row.case));
        case.map(|case| case.margin).filter(|margin| margin.is_finite() && *margin > 0.0)
    };
    let control = |row: Option<&Row>| {
        let cost = cost(row?.control.as_ref()?)?;
        (!(cost.low..=cost.high).contains(&1.0))
            .then(|| cost.ratio.ln().abs())
            .filter(|floor| floor.is_finite())
    };
    let margins = [planned(old, old_row), planned(new, new_row)].into_iter().flatten().reduce(f64::max);
    let floors = [control(old_row), control(new_row)].into_iter().flatten();
    floors.fold(Margin::plain(margins.unwrap_or(MARGIN)), Margin::raised)
}

impl ChangedCell {
    /// What a condition says of a cell of two records.
    pub fn answer(&self, condition: &Condition) -> Answer {
        let ChangedCell::Compared { old, new, change, .. } = self else {
            return if condition.kind == Kind::Missing { Answer::Trips } else { Answer::Missing };
        };
        match (condition.kind, condition.beyond) {
            (Kind::Missing, _) => Answer::Passes,
            (Kind::Undecided, _) if *change == Change::Inconclusive => Answer::Trips,
            (Kind::Undecided, _) => Answer::Passes,
            (Kind::Regressed, Some(ratio)) if new.high / old.low <= ratio => Answer::Passes,
            (Kind::Regressed, Some(ratio)) if *change == Change::Regressed && new.low / old.high > ratio => {
                Answer::Trips
            }
            (Kind::Regressed, Some(_)) => Answer::Undecided,
            (Kind::Regressed, None) => match change {
                Change::Regressed => Answer::Trips,
                Change::Improved | Change::Within => Answer::Passes,
                Change::Inconclusive => Answer::Undecided,
            },
            // Asked of one record only; two say nothing of it.
            (Kind::Slower, _) => Answer::Missing,
        }
    }
}

/// Puts conditions to every headline cell of two records.
pub fn judge(changes: &Changes, conditions: &[Condition]) -> Outcome {
    let mut outcome = Outcome::default();
    let mut used = vec![false; conditions.len()];
    for (at, row) in changes.rows.iter().enumerate().filter(|(_, row)| row.headline) {
        for (of_target, (target, cell)) in changes.targets.iter().zip(&row.cells).enumerate() {
            let names = TargetNames { name: &target.name, specification: &target.specification };
            let chosen = conditions.iter().enumerate();
            let chosen = chosen.filter(|(_, c)| c.selector.chooses(&names, &row.case, &row.probe));
            let answers = chosen.map(|(i, condition)| {
                used[i] = true;
                (cell.answer(condition), condition)
            });
            outcome.cells.extend(strongest(at, of_target, answers));
        }
    }
    let idle = conditions.iter().zip(used).filter(|(_, used)| !used);
    outcome.idle = idle.map(|(condition, _)| condition.to_string()).collect();
    outcome
}
