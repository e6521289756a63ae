//! Change over time: the costs of layers in an older record and in a newer one, and the verdict on the two
//! together.
//!
//! Values of different days are never paired. The ratios of the records are compared, each of which was
//! paired within its session. The interval of the change is made of the two intervals that they have there
//! (MOVER: Zou and Donner 2008), and a change among many cells is claimed only where Benjamini and Hochberg's
//! procedure keeps it.

pub mod facts;

use std::collections::BTreeMap;

use serde::Serialize;
use tare_data::session::specification::Specification;
use tare_data::session::{Plan, Role, Session};

use crate::change::facts::{ChangedFact, changed_facts};
use crate::findings::{Cell, Comparison, Findings, Missing, Row, Verdict};
use crate::gate::{Condition, Kind, Outcome, Ruling, TargetNames, pick_strongest_answer};
use crate::statistics::level::ALPHA;
use crate::statistics::multiplicity::{FALSE_SHARE, benjamini_hochberg, select_by_holm};
use crate::statistics::normal::{Z_975, upper_tail};
use crate::verdicts::rows::MARGIN;
use crate::verdicts::verdict::Margin;

/// A record as one side of the comparison.
#[derive(Clone, Copy, Debug)]
pub struct Side<'a> {
    pub session: &'a Session,
    pub findings: &'a Findings,
}

/// Verdict of two records on a change.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Change {
    /// The interval of the change lies above 1 by more than the margin.
    Regressed,
    /// The interval of the change lies below 1 by more than the margin.
    Improved,
    /// The interval of the change lies within the margin.
    Unchanged,
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

/// Two records compared.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Changes {
    /// Environments of either record, the newer one's first; the cells of every row are in this order.
    #[serde(rename = "environments")]
    pub targets: Vec<Target>,
    pub rows: Vec<ChangedRow>,
    pub facts: Vec<ChangedFact>,
}

#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Target {
    pub name: String,
    pub specification: Specification,
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
        /// Factor from the old slowdown to the new one; none where a record has no interval.
        factor: Option<Factor>,
    },
    /// There is no pair of ratios, or none that means the same.
    NotComparable { reason: String, old: Option<Cost>, new: Option<Cost> },
}

/// The new slowdown over the old one, with its 95 % interval.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Factor {
    pub ratio: f64,
    pub low: f64,
    pub high: f64,
}

impl Factor {
    /// Divides two costs; None where one has no interval.
    pub fn from_costs(old: &Cost, new: &Cost) -> Option<Factor> {
        let is_interval = |cost: &Cost| {
            let ordered = 0.0 < cost.low && cost.low <= cost.ratio && cost.ratio <= cost.high;
            ordered && cost.high.is_finite()
        };
        if !is_interval(old) || !is_interval(new) {
            return None;
        }
        let change = libm::log(new.ratio / old.ratio);
        let below = libm::hypot(libm::log(new.ratio / new.low), libm::log(old.high / old.ratio));
        let above = libm::hypot(libm::log(new.high / new.ratio), libm::log(old.ratio / old.low));
        Some(Factor {
            ratio: libm::exp(change),
            low: libm::exp(change - below),
            high: libm::exp(change + above),
        })
    }

    /// Computes the two-sided p of "the slowdown has changed by no more than this", which is the logarithm of
    /// a ratio.
    fn p_beyond(&self, edge: f64) -> f64 {
        let change = libm::log(self.ratio);
        let side = if change > 0.0 { self.ratio / self.low } else { self.high / self.ratio };
        let error = (libm::log(side) / Z_975).max(f64::MIN_POSITIVE);
        (2.0 * upper_tail((change.abs() - edge) / error)).min(1.0)
    }
}

/// Judges the interval of a change. A control that is off makes both a change and sameness harder to claim.
pub fn judge_change(factor: Factor, margin: Margin) -> Change {
    let (low, high) = (libm::log(factor.low), libm::log(factor.high));
    if low > margin.difference_edge() {
        Change::Regressed
    } else if high < -margin.difference_edge() {
        Change::Improved
    } else if -margin.sameness_edge() <= low && high <= margin.sameness_edge() {
        Change::Unchanged
    } else {
        Change::Inconclusive
    }
}

/// Compares two records.
pub fn compare_records(old: Side<'_>, new: Side<'_>) -> Changes {
    let targets = list_subjects(&[new.session, old.session]);
    let keyed = |findings: &'_ Findings| -> BTreeMap<(String, String), usize> {
        let rows = findings.rows.iter().enumerate();
        rows.map(|(at, row)| ((row.case.clone(), row.metric.name.clone()), at)).collect()
    };
    let (old_rows, new_rows) = (keyed(old.findings), keyed(new.findings));
    let key = |row: &Row| (row.case.clone(), row.metric.name.clone());
    let mut rows: Vec<(ChangedRow, Margin)> = Vec::new();
    for row in &new.findings.rows {
        let of_old = old_rows.get(&key(row)).map(|at| &old.findings.rows[*at]);
        rows.push(changed_row(old, new, of_old, Some(row), &targets));
    }
    for row in old.findings.rows.iter().filter(|row| !new_rows.contains_key(&key(row))) {
        rows.push(changed_row(old, new, Some(row), None, &targets));
    }
    let (mut rows, margins): (Vec<ChangedRow>, Vec<Margin>) = rows.into_iter().unzip();
    confirm(&mut rows, &margins);
    Changes { targets, rows, facts: changed_facts(old.session, new.session) }
}

/// Leaves the changes that their family bears out, headline cells and further metrics each by themselves: a cell by itself
/// misses one time in twenty, and there are many.
fn confirm(rows: &mut [ChangedRow], margins: &[Margin]) {
    for headline in [true, false] {
        let mut family: Vec<(&mut Change, f64)> = Vec::new();
        for (row, margin) in rows.iter_mut().zip(margins).filter(|(row, _)| row.headline == headline) {
            for cell in &mut row.cells {
                if let ChangedCell::Compared { change, factor: Some(factor), .. } = cell {
                    family.push((change, factor.p_beyond(margin.difference_edge())));
                }
            }
        }
        let p: Vec<f64> = family.iter().map(|(_, p)| *p).collect();
        for ((change, _), kept) in family.into_iter().zip(benjamini_hochberg(&p, FALSE_SHARE)) {
            if !kept && matches!(change, Change::Regressed | Change::Improved) {
                *change = Change::Inconclusive;
            }
        }
    }
}

/// Lists the subjects of some records, by name, in the order in which they first occur.
pub(crate) fn list_subjects(sessions: &[&Session]) -> Vec<Target> {
    let mut targets: Vec<Target> = Vec::new();
    let all = sessions.iter().flat_map(|session| &session.plan.targets);
    for target in all.filter(|target| target.role == Role::Subject) {
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
) -> (ChangedRow, Margin) {
    let row = new_row.or(old_row).expect("a row stands in one of the records");
    let objection = find_row_objection(old, new, old_row, new_row);
    let margin = widest_margin(&[(old, old_row), (new, new_row)]);
    let cells = targets.iter().map(|target| {
        let of_old = find_cell(old, old_row, &target.name);
        let of_new = find_cell(new, new_row, &target.name);
        changed_cell(of_old, of_new, objection.as_deref(), margin)
    });
    let changed = ChangedRow {
        case: row.case.clone(),
        probe: row.probe.clone(),
        label: row.label.clone(),
        metric: row.metric.name.clone(),
        headline: row.headline,
        cells: cells.collect(),
    };
    (changed, margin)
}

/// Finds an environment's cell of a row; None where the record has no such row or environment.
pub(crate) fn find_cell<'a>(side: Side<'a>, row: Option<&'a Row>, target: &str) -> Option<&'a Cell> {
    let at = side.findings.subjects.iter().position(|name| name == target)?;
    row?.cells.get(at)
}

fn changed_cell(
    old: Option<&Cell>,
    new: Option<&Cell>,
    objection: Option<&str>,
    margin: Margin,
) -> ChangedCell {
    let (old_cost, new_cost) = (old.and_then(cell_cost), new.and_then(cell_cost));
    let reason = objection.map(str::to_owned).or_else(|| missing(old, "old")).or_else(|| missing(new, "new"));
    match (reason, old_cost, new_cost) {
        (None, Some(old), Some(new)) => {
            let factor = Factor::from_costs(&old, &new);
            let change = factor.map_or(Change::Inconclusive, |factor| judge_change(factor, margin));
            ChangedCell::Compared { old, new, change, factor }
        }
        (reason, old, new) => {
            let reason = reason.unwrap_or_else(|| "it is observed, never judged".into());
            ChangedCell::NotComparable { reason, old, new }
        }
    }
}

pub(crate) fn cell_cost(cell: &Cell) -> Option<Cost> {
    let Cell::Compared(comparison) = cell else { return None };
    let Comparison { ratio, low, high, rounds, verdict, .. } = **comparison;
    Some(Cost { ratio, low, high, rounds, verdict })
}

/// Explains why a record has no ratio in a cell; None where it has one, or an observation.
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

/// Explains why the ratios of a row do not mean the same in both records.
pub(crate) fn find_row_objection(
    old: Side,
    new: Side,
    old_row: Option<&Row>,
    new_row: Option<&Row>,
) -> Option<String> {
    let (old_row, new_row) = (old_row?, new_row?);
    let baseline = |side: Side<'_>| side.session.baseline().map(|target| target.specification.to_string());
    let (then, now) = (baseline(old), baseline(new));
    if then != now {
        let named = |baseline: Option<String>| baseline.unwrap_or_else(|| "nothing".into());
        return Some(format!("the baseline was {} and is {}", named(then), named(now)));
    }
    let planned = |plan: &'_ Plan| -> Option<String> {
        plan.cases.iter().find(|case| case.id == new_row.case).map(|case| case.definition.clone())
    };
    if planned(&old.session.plan) != planned(&new.session.plan) {
        return Some("the measurement has changed: the definitions differ".into());
    }
    (old_row.metric != new_row.metric).then(|| "the metric is read otherwise".into())
}

/// Finds the widest margin of some records, raised for changes to the difference that any of their sessions
/// found where there is none.
pub(crate) fn widest_margin(sides: &[(Side, Option<&Row>)]) -> Margin {
    let planned = |(side, row): &(Side<'_>, Option<&Row>)| {
        let case = side.session.plan.cases.iter().find(|case| Some(&case.id) == row.map(|row| &row.case));
        case.map(|case| case.margin).filter(|margin| margin.is_finite() && *margin > 0.0)
    };
    let control = |(_, row): &(Side<'_>, Option<&Row>)| {
        let cost = cell_cost(row.as_ref()?.control.as_ref()?)?;
        (!(cost.low..=cost.high).contains(&1.0))
            .then(|| libm::log(cost.ratio).abs())
            .filter(|floor| floor.is_finite())
    };
    let margin = sides.iter().filter_map(planned).reduce(f64::max).unwrap_or(MARGIN);
    sides.iter().filter_map(control).fold(Margin::from_planned(margin), Margin::raise_floor)
}

impl ChangedCell {
    /// Answers a condition for a cell of two records. `is_beyond`: the change is shown to be beyond its
    /// ratio.
    fn answer(&self, condition: &Condition, is_beyond: bool) -> Ruling {
        let ChangedCell::Compared { change, factor, .. } = self else {
            return if condition.kind == Kind::Missing { Ruling::Trips } else { Ruling::Missing };
        };
        match (condition.kind, condition.beyond) {
            (Kind::Missing, _) => Ruling::Passes,
            (Kind::Undecided, _) if *change == Change::Inconclusive => Ruling::Trips,
            (Kind::Undecided, _) => Ruling::Passes,
            (Kind::Regressed, Some(ratio)) if factor.is_some_and(|factor| factor.high <= ratio) => {
                Ruling::Passes
            }
            (Kind::Regressed, Some(_)) if is_beyond => Ruling::Trips,
            (Kind::Regressed, Some(_)) => Ruling::Undecided,
            (Kind::Regressed, None) => match change {
                Change::Regressed => Ruling::Trips,
                Change::Improved | Change::Unchanged => Ruling::Passes,
                Change::Inconclusive => Ruling::Undecided,
            },
            // It is about one record only; two say nothing of it.
            (Kind::Slower, _) => Ruling::Missing,
        }
    }

    /// Computes the p of "the slowdown has grown by no more than the ratio", for a condition that has one.
    fn p(&self, condition: &Condition) -> Option<f64> {
        let ratio = condition.beyond?;
        match self {
            ChangedCell::Compared { change: Change::Regressed, factor: Some(factor), .. } => {
                Some(factor.p_beyond(libm::log(ratio)))
            }
            ChangedCell::Compared { .. } => Some(1.0),
            ChangedCell::NotComparable { .. } => None,
        }
    }
}

/// A cell, its position, and a condition that chose it.
struct Chosen<'a> {
    row: usize,
    target: usize,
    cell: &'a ChangedCell,
    condition: &'a Condition,
}

/// Puts conditions to every headline cell of two records.
///
/// Conditions with a ratio are tested against it, and Holm's procedure keeps the chance that any of them trips by
/// accident at 5 %.
pub fn judge_changes(changes: &Changes, conditions: &[Condition]) -> Outcome {
    let mut used = vec![false; conditions.len()];
    let mut all: Vec<Chosen> = Vec::new();
    for (at, row) in changes.rows.iter().enumerate().filter(|(_, row)| row.headline) {
        for (of_target, (target, cell)) in changes.targets.iter().zip(&row.cells).enumerate() {
            let names = TargetNames { name: &target.name, specification: Some(&target.specification) };
            let chosen = conditions.iter().enumerate();
            let chosen = chosen.filter(|(_, c)| c.selector.matches_cell(&names, &row.case, &row.probe));
            all.extend(chosen.map(|(i, condition)| {
                used[i] = true;
                Chosen { row: at, target: of_target, cell, condition }
            }));
        }
    }
    let p: Vec<Option<f64>> = all.iter().map(|chosen| chosen.cell.p(chosen.condition)).collect();
    let mut kept = select_by_holm(&p.iter().copied().flatten().collect::<Vec<_>>(), ALPHA).into_iter();
    let answers = p.iter().zip(&all).map(|(p, chosen)| {
        let is_beyond = p.is_some() && kept.next().unwrap_or(false);
        (chosen.cell.answer(chosen.condition, is_beyond), chosen)
    });
    let answers: Vec<(Ruling, &Chosen)> = answers.collect();
    let of_cells = answers.chunk_by(|(_, a), (_, b)| (a.row, a.target) == (b.row, b.target));
    let cells = of_cells.filter_map(|of_cell| {
        let (_, first) = of_cell.first()?;
        pick_strongest_answer(
            first.row,
            first.target,
            of_cell.iter().map(|(answer, chosen)| (*answer, chosen.condition)),
        )
    });
    let idle = conditions.iter().zip(used).filter(|(_, used)| !used);
    let idle = idle.map(|(condition, _)| condition.to_string()).collect();
    Outcome { cells: cells.collect(), idle, allows_undecided: false }
}
